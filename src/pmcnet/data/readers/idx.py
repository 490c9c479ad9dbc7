"""IDX files, the format of MNIST: a magic number, the sizes, then bytes. Gzipped or not."""

import gzip
import math
import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pmcnet.data.datasets.folder import Form
from pmcnet.data.datasets.pixels import Parts
from pmcnet.data.readers.checksums import Published, check_end, check_shape, exactly, reading
from pmcnet.errors import InputError

_UNSIGNED_BYTES = 0x800
_FILES = {
    "train-images-idx3-ubyte": (60_000, 28, 28),
    "train-labels-idx1-ubyte": (60_000,),
    "t10k-images-idx3-ubyte": (10_000, 28, 28),
    "t10k-labels-idx1-ubyte": (10_000,),
}


def idx_form(name: str, md5: Sequence[str]) -> Form[Parts]:
    """Four files in a folder of the dataset's name.

    Args:
        name: Of the dataset.
        md5: Of training images, training labels, test images and test labels, each unpacked.
    """

    def read(paths: Sequence[Path], verify: bool) -> Parts:
        known = [Published(name, digest) if verify else None for digest in md5]
        x_train, y_train, x_test, y_test = map(read_idx, paths, _FILES.values(), known)
        return Parts(
            x_train[:, None], y_train.astype(np.int64), x_test[:, None], y_test.astype(np.int64)
        )

    return Form(tuple((f"{name}/{file}.gz", f"{name}/{file}") for file in _FILES), read)


def read_idx(
    path: Path, shape: tuple[int, ...], published: Published | None = None
) -> NDArray[np.uint8]:
    """The array of a file of unsigned bytes.

    Args:
        path: Gzipped if it ends in .gz.
        shape: Of the official file; the first number may be smaller.
        published: What the unpacked content is known by, if it is to be verified.
    """
    with reading(path), gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        header = exactly(file, 4 + 4 * len(shape), path)
        magic, *sizes = struct.unpack(f">{1 + len(shape)}I", header)
        if magic != _UNSIGNED_BYTES + len(shape):
            raise InputError(
                f"{path} begins with the number {magic}; IDX files of {len(shape)}-dimensional "
                "bytes begin with "
                f"{_UNSIGNED_BYTES + len(shape)}. Replace it by the official file."
            )
        check_shape(tuple(sizes), shape, str(path))
        body = exactly(file, math.prod(sizes), path)
        check_end(file, path)
    if published:
        published.check((header, body), path)
    return np.frombuffer(body, np.uint8).reshape(sizes).copy()
