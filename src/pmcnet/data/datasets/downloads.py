"""Official files from their official addresses, kept only if their sums are the published ones."""

import os
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from typing import NamedTuple

from pmcnet.data.readers.checksums import Published, pieces
from pmcnet.errors import InputError

_BLOCK = 1 << 20
_MOST_BYTES = 1 << 30  # more than any of them has
_TIMEOUT = 60.0  # seconds without an answer


class Download(NamedTuple):
    """One file to fetch."""

    path: str  # below the data folder
    url: str
    published: Published  # what the file itself is known by


def fetched(item: Download, folder: Path, say: Callable[[str], None]) -> Path:
    """The place of an official file, after fetching it unless it is already there.

    Args:
        item: The file.
        folder: The data folder, made if need be.
        say: Called with a line for each thing that is done.
    """
    path = folder / item.path
    if path.is_file() and item.published.of(pieces(path)) == item.published.digest:
        say(f"{path} is already there.")
        return path
    say(f"fetching {item.url}")
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as file:
            found = item.published.of(_written(_answer(item.url), file.write))
        if found != item.published.digest:
            raise InputError(
                f"what {item.url} gave is not the published file: its {item.published.algorithm} "
                f"is {found} instead of {item.published.digest}. Nothing was kept; try again "
                f"later, or put the file at {path} yourself."
            )
        os.replace(partial, path)
    except (OSError, HTTPException) as error:
        raise InputError(
            f"{item.url} could not be fetched: {error}. Try again later, or put the file at {path} "
            "yourself."
        ) from error
    finally:
        with suppress(OSError):
            partial.unlink()
    say(f"wrote {path}")
    return path


def _written(content: Iterator[bytes], write: Callable[[bytes], object]) -> Iterator[bytes]:
    """The same pieces, once written."""
    for piece in content:
        write(piece)
        yield piece


def _answer(url: str) -> Iterator[bytes]:
    """What an address gives, in pieces, up to a bound."""
    request = urllib.request.Request(url, headers={"User-Agent": "pmcnet"})
    n_bytes = 0
    with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer:
        while piece := answer.read(_BLOCK):
            n_bytes += len(piece)
            if n_bytes > _MOST_BYTES:
                raise InputError(
                    f"{url} gives more than {_MOST_BYTES} bytes. Nothing was kept; look at it "
                    "yourself."
                )
            yield piece
