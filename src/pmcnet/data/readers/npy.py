"""Arrays in .npy and .npz files: headers are checked first, and objects are never loaded."""

import io
import math
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from pmcnet.data.readers.checksums import check_end, check_shape, exactly, reading
from pmcnet.errors import InputError

BYTES = ("uint8",)
WHOLE = ("uint8", "int32", "int64")
REAL = ("float32", "float64")

_MOST_HEADER = 1 << 14
_HEADERS = {(1, 0): npy_format.read_array_header_1_0, (2, 0): npy_format.read_array_header_2_0}


class Wanted(NamedTuple):
    """What an array may be."""

    shape: tuple[int, ...]  # the largest; only the first number may be smaller
    types: tuple[str, ...]  # numpy's names


def read_npy(path: Path, wanted: Wanted) -> NDArray[Any]:
    """The array of one .npy file."""
    with reading(path), path.open("rb") as file:
        return _array(file, wanted, str(path), path)


def read_npz(path: Path, wanted: Mapping[str, Wanted], suffix: str = ".npy") -> list[NDArray[Any]]:
    """Some arrays of an .npz file, or of any zip file of .npy files, in the order asked.

    Args:
        path: Of the zip file.
        wanted: What the arrays may be, by name.
        suffix: Added to the names.
    """
    arrays = []
    with reading(path), zipfile.ZipFile(path) as archive:
        for name, one in wanted.items():
            if name + suffix not in archive.namelist():
                raise InputError(
                    f"{path} has no array {name!r}. Replace it by a file that has "
                    f"{', '.join(wanted)}."
                )
            with archive.open(name + suffix) as file:
                arrays.append(_array(file, one, f"{name!r} in {path}", path))
    return arrays


def _array(file: IO[bytes], wanted: Wanted, what: str, path: Path) -> NDArray[Any]:
    # a header that announces gigabytes finds no more than this
    begin = io.BytesIO(file.read(_MOST_HEADER))
    version = npy_format.read_magic(begin)
    if version not in _HEADERS:
        raise InputError(
            f"{what} is of version {version} of the npy format; 1.0 and 2.0 are known. Save it "
            "again."
        )
    shape, by_columns, dtype = _HEADERS[version](begin)
    if dtype.name not in wanted.types:
        raise InputError(
            f"{what} holds values of type {dtype}; {' or '.join(wanted.types)} is possible. Save "
            "it again."
        )
    check_shape(shape, wanted.shape, what)
    n_bytes, first = math.prod(shape) * dtype.itemsize, begin.read()
    rest = io.BytesIO(first + file.read(max(0, n_bytes - len(first))))
    body = exactly(rest, n_bytes, path)
    check_end(rest, path)
    check_end(file, path)
    return np.frombuffer(body, dtype).reshape(shape, order="F" if by_columns else "C").copy()
