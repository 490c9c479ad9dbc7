"""The table that comes by standard input, which is read once and kept until the process ends."""

import atexit
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import IO

from pmcnet.data.readers.spool import discard, spooled
from pmcnet.errors import InputError

NAME = "-"
_BLOCK = 1 << 20


def standard_input() -> Path:
    """A file with all of it; the same one each time."""
    if sys.stdin is None or sys.stdin.isatty():
        raise InputError(
            "standard input is a terminal, and the table was to come from it. Use a pipe or "
            "< rows.csv, or give the path of a file."
        )
    return _kept(sys.stdin.buffer)


@lru_cache(maxsize=1)  # what has been read cannot be read again
def _kept(stream: IO[bytes]) -> Path:
    path = spooled(_pieces(stream), "standard-input")
    atexit.register(discard, path)
    return path


def _pieces(stream: IO[bytes]) -> Iterator[bytes]:
    while piece := stream.read(_BLOCK):
        yield piece
