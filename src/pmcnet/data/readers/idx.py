"""IDX files, the format of MNIST: a magic number, the sizes, then bytes. Gzipped or not."""

import gzip
import math
import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pmcnet.data.readers.checksums import Published, check_end, check_shape, exactly, reading
from pmcnet.errors import InputError

_UNSIGNED_BYTES = 0x800


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
                f"bytes begin with {_UNSIGNED_BYTES + len(shape)}. Replace it by the official file."
            )
        check_shape(tuple(sizes), shape, str(path))
        body = exactly(file, math.prod(sizes), path)
        check_end(file, path)
    if published:
        published.check((header, body), path)
    return np.frombuffer(body, np.uint8).reshape(sizes).copy()
