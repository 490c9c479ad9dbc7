"""Official files from their official addresses, into the data folder: only when asked, and only if their sums agree."""

import os
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from pmcnet.data.datasets import mnist_c, svhn
from pmcnet.data.datasets.folder import data_folder
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


def _four(name: str, address: str, md5: tuple[str, str, str, str]) -> tuple[Download, ...]:
    files = ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")
    return tuple(
        Download(f"{name}/{file}-ubyte.gz", f"{address}/{file}-ubyte.gz", Published(name, digest))
        for file, digest in zip(files, md5, strict=True)
    )


_UCI = "https://archive.ics.uci.edu/static/public"
_SVHN = "https://ufldl.stanford.edu/housenumbers"

DOWNLOADS: Mapping[str, tuple[Download, ...]] = MappingProxyType(
    {
        "mnist": _four(
            "mnist",
            # the authors' own page no longer serves them
            "https://ossci-datasets.s3.amazonaws.com/mnist",
            (
                "f68b3c2dcbeaaa9fbdd348bbdeb94873",
                "d53e105ee54ea40749a09fcbcd1e9432",
                "9fb629c4189551a2d022fa330f9573f3",
                "ec29112dd5afa0611ce80d1b7f02629c",
            ),
        ),
        "mnist-c": (
            Download(
                "mnist_c.zip",
                "https://zenodo.org/record/3239543/files/mnist_c.zip",
                mnist_c.ARCHIVE,
            ),
        ),
        "fashion-mnist": _four(
            "fashion-mnist",
            "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion",
            (
                "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
                "25c81989df183df01b3e8a0aad5dffbe",
                "bef4ecab320f06d8554ea6380940ec79",
                "bb300cfdad3c16e7a12a480ee83cd310",
            ),
        ),
        "svhn-g": (
            Download("svhn/train_32x32.mat", f"{_SVHN}/train_32x32.mat", svhn.TRAIN),
            Download("svhn/test_32x32.mat", f"{_SVHN}/test_32x32.mat", svhn.TEST),
        ),
        "cifar10": (
            Download(
                "cifar10/cifar-10-binary.tar.gz",
                "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
                Published("cifar10", "c32a1d4ab5d03f1284b67883e8d87530"),
            ),
        ),
        "protein": (
            Download(
                "protein/protein.zip",
                f"{_UCI}/265/physicochemical+properties+of+protein+tertiary+structure.zip",
                Published(
                    "protein",
                    "ee6536c8cc415dc50d66bd247af7c9bc95c187ab8a4ea0f1f546b127206c1100",
                    "sha256",
                ),
            ),
        ),
        "naval": (
            Download(
                "naval/naval.zip",
                f"{_UCI}/316/condition+based+maintenance+of+naval+propulsion+plants.zip",
                Published(
                    "naval",
                    "91a3815da80b5ab7e2d5b82ac82f1c2cbf89182c7a65bcdf240db1e014423cb9",
                    "sha256",
                ),
            ),
        ),
    }
)


def silent(line: str) -> None:
    """Say nothing."""


def fetch(
    name: str, folder: str | Path | None = None, say: Callable[[str], None] = silent
) -> tuple[Path, ...]:
    """Fetch the official files of a dataset and return where they are; those already there are kept.

    Args:
        name: One of `DOWNLOADS`.
        folder: The data folder, made if need be; by default that of PMCNET_DATA, else the user's
            cache folder.
        say: Told what is being done, a line at a time.
    """
    if name not in DOWNLOADS:
        raise InputError(
            f"{name!r} is nothing to fetch. These are fetched: {', '.join(DOWNLOADS)}."
        )
    return tuple(_fetched(item, data_folder(folder), say) for item in DOWNLOADS[name])


def _fetched(item: Download, folder: Path, say: Callable[[str], None]) -> Path:
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
                f"is {found} instead of "
                f"{item.published.digest}. Nothing was kept; try again later, or put the file at "
                f"{path} yourself."
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
