"""Files that someone else may have written: opened without waiting, read within bounds."""

import errno
import io
import json
import math
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SMALL = 1 << 20
"""Characters of JSON up to which brackets are not counted."""
MOST_DIGITS = 300
"""Of a whole number in JSON: more would not fit a float."""


def read_file(
    path: str | Path, *, most: int | None = None, inside: str | Path | None = None
) -> bytearray:
    """The content of a plain file; a pipe, a device or a folder is refused unread.

    Memory is that of the file as it was when opened, whatever happens to it meanwhile. What goes
    wrong is an `OSError` or a `ValueError` that begins with "it", for the caller to complete.

    Args:
        path: of the file.
        most: bytes beyond which it is refused unread; as many as the machine's memory when absent.
        inside: a folder that the file must lie in once links are followed.
    """
    if inside is not None and not leads_inside(path, inside):
        raise ValueError("it is a link that leads out of its folder; copy the file itself")
    with open_plain(path) as file:
        n_bytes, limit = os.fstat(file.fileno()).st_size, machine_memory() if most is None else most
        if n_bytes > limit:
            raise ValueError(f"it has {n_bytes} bytes, more than the {limit} that are read")
        content = bytearray(n_bytes)
        n_read = 0
        while n_read < n_bytes and (n_more := file.readinto(memoryview(content)[n_read:])):
            n_read += n_more
        return content[:n_read] if n_read < n_bytes else content


@contextmanager
def open_plain(path: str | Path) -> Iterator[io.FileIO]:
    """A file opened for reading bytes, without a buffer; never waits, as opening a pipe would."""
    _check_plain(os.stat(path).st_mode)
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with io.FileIO(os.open(path, flags)) as file:
        _check_plain(os.fstat(file.fileno()).st_mode)
        yield file


def _check_plain(mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(mode):
        raise ValueError("it is a pipe or a device, not a plain file")


def leads_inside(path: str | Path, folder: str | Path) -> bool:
    """Whether a path stays in a folder once links are followed; it need not exist."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def one_line(error: BaseException, n_characters: int = 300) -> str:
    """What an error says, for a sentence: one line of printable characters, no full stop."""
    words = " ".join(str(error).split()).removesuffix(".") or type(error).__name__
    shown = words if words.isprintable() else repr(words)[1:-1]
    return shown if len(shown) <= n_characters else shown[: n_characters - 3] + "..."


def machine_memory() -> int:
    """Bytes of memory of this machine; more than any has where it does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 1 << 62


def parse_json(content: bytes | bytearray | str) -> Any:
    """The value of JSON, in a small multiple of its memory.

    What the standard does not allow is a `ValueError`, NaN and infinity included.
    """
    text = content if isinstance(content, str) else content.decode("utf-8")
    n_objects = text.count("[") + text.count("{")
    if len(text) > SMALL and n_objects > len(text) // 16:
        raise ValueError(f"it has {n_objects} brackets in {len(text)} characters")
    try:
        return json.loads(text, parse_constant=_refused, parse_float=_finite, parse_int=_whole)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _refused(word: str) -> float:
    raise ValueError(f"{word} is no number of JSON")


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"the number {text:.40} is too large")
    return value


def _whole(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise ValueError(f"the number {text:.40}... is too large")
    return int(text)
