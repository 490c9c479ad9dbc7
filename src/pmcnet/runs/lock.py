"""One process at a time works in a run's folder."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pmcnet.errors import InputError

NAME = ".lock"


@contextmanager
def locked(folder: Path, name: str = NAME) -> Iterator[None]:
    """Hold the folder's lock, which ends with the process; without `fcntl` there is none.

    Args:
        folder: which must exist.
        name: of the lock, where several runs may work in one folder.

    Raises:
        InputError: where another process holds it.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    path = folder / name
    while True:
        place = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_there(place, path):
                break
        except BlockingIOError as error:
            os.close(place)
            raise InputError(
                f"{folder} is in use: another process is working on this run. Wait until it has "
                "ended, or stop it."
            ) from error
        os.close(place)  # of a run that ended while the file was being opened, and removed it
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink()  # while it is held, so that no one else's is removed
        os.close(place)


def _is_there(place: int, path: Path) -> bool:
    """Whether the opened file is still the one of that name."""
    try:
        return os.path.samestat(os.fstat(place), os.stat(path, follow_symlinks=False))
    except FileNotFoundError:
        return False
