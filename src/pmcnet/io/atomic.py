"""Files that are there whole or not at all, even when the power fails while they are written."""

import os
import shutil
from contextlib import suppress
from pathlib import Path


def write_whole(path: str | Path, content: bytes) -> Path:
    """Write a file under a temporary name in the same folder, then give it its own name.

    The content is on the disk before the old file is given up, and the change of names before this
    returns.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.part")
    try:
        temporary.unlink(missing_ok=True)  # a link would be followed
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        with suppress(OSError):  # the folder may be gone, or not be written to any more
            temporary.unlink(missing_ok=True)
    sync(path.parent)
    return path


def put_folder(folder: Path, path: Path) -> None:
    """Move a finished folder to its place; an older one there is given up."""
    if path.exists():
        old = folder.with_name(folder.name + "-old")
        os.replace(path, old)
        os.replace(folder, path)
        shutil.rmtree(old)
    else:
        os.replace(folder, path)
    sync(path.parent)


def sync(path: str | Path) -> None:
    """Have a file's content, or the names in a folder, on the disk."""
    if os.name == "nt" and os.path.isdir(path):  # cannot be opened there
        return
    place = os.open(path, os.O_RDONLY)
    try:
        os.fsync(place)
    finally:
        os.close(place)
