"""Rows that can be read once only, kept in a temporary file."""

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from pmcnet.errors import InputError

MOST_BYTES = 1 << 33
"""That a temporary file may take."""


def spooled(pieces: Iterable[bytes], name: str) -> Path:
    """A file with that content, in a folder of its own; the caller removes both by `discard`.

    Args:
        pieces: of the content.
        name: of the file, as errors show it.
    """
    path = Path(tempfile.mkdtemp(prefix="pmcnet-")) / name
    try:
        left = MOST_BYTES
        with path.open("wb") as file:
            for piece in pieces:
                left -= len(piece)
                if left < 0:
                    raise InputError(
                        f"{name} has more than {MOST_BYTES >> 20} MiB. Write it to a file, and "
                        "give that."
                    )
                file.write(piece)
    except BaseException as error:
        discard(path)
        if isinstance(error, OSError):
            raise InputError(
                f"{name} cannot be kept in {path.parent.parent} ({error.strerror}). Make room "
                "there, or set TMPDIR to another folder."
            ) from error
        raise
    return path


def discard(path: Path) -> None:
    """Remove a file that `spooled` made, and its folder."""
    path.unlink(missing_ok=True)
    if path.parent.is_dir():
        os.rmdir(path.parent)
