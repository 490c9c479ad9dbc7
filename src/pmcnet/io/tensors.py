"""Tensors in the safetensors format, every size checked before anything is made of it.

Eight bytes with the length of a header, the header in JSON (for each tensor its type, shape and
place), then the numbers of all tensors, one after the other without gaps.
"""

import math
import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import torch
from torch import Tensor

from pmcnet.io.files import open_plain, parse_json

MOST_HEADER = 1 << 24
MOST_AXES = 16
DTYPES: Mapping[str, torch.dtype] = MappingProxyType(
    {
        "F64": torch.float64,
        "F32": torch.float32,
        "F16": torch.float16,
        "BF16": torch.bfloat16,
        "F8_E4M3": torch.float8_e4m3fn,
        "F8_E5M2": torch.float8_e5m2,
        "I64": torch.int64,
        "I32": torch.int32,
        "I16": torch.int16,
        "I8": torch.int8,
        "U64": torch.uint64,
        "U32": torch.uint32,
        "U16": torch.uint16,
        "U8": torch.uint8,
        "BOOL": torch.bool,
        "C64": torch.complex64,
    }
)


class TensorFile(NamedTuple):
    """The tensors of a file by name, and the strings stored with them."""

    tensors: dict[str, Tensor]
    metadata: dict[str, str]


class _Entry(NamedTuple):
    """One tensor as the header announces it: bytes `start` to `stop` behind the header."""

    dtype: torch.dtype
    shape: tuple[int, ...]
    start: int
    stop: int


def parse_tensors(content: bytearray) -> TensorFile:
    """What a file holds; a `ValueError` says what is wrong with it."""
    n_header = _header_length(content[:8], len(content))
    header, metadata = _header(content[8 : 8 + n_header])
    entries = {name: _entry(name, value) for name, value in header.items()}
    first = 8 + n_header
    _check_gapless(entries, len(content) - first)
    return TensorFile(
        {name: _tensor(content, first, entry) for name, entry in entries.items()}, metadata
    )


def read_metadata(path: str | Path) -> dict[str, str]:
    """The strings stored with a file's tensors, which stay unread.

    Errors are those of `read_file` and `parse_tensors`.
    """
    with open_plain(path) as file:
        n_header = _header_length(file.read(8), os.fstat(file.fileno()).st_size)
        return _header(file.read(n_header))[1]


def _header_length(first: bytes | bytearray, n_bytes: int) -> int:
    """What the first eight bytes say, where it can be."""
    n_header = int.from_bytes(first, "little")
    if len(first) < 8 or n_header > n_bytes - 8:
        raise ValueError(f"a header of {n_header} bytes is announced, and the file has {n_bytes}")
    if n_header > MOST_HEADER:
        raise ValueError(f"a header of {n_header} bytes is announced; {MOST_HEADER} are possible")
    return n_header


def _header(content: bytes | bytearray) -> tuple[dict[str, Any], dict[str, str]]:
    """What a header says of each tensor, and its metadata."""
    header = parse_json(content)
    if not isinstance(header, dict):
        raise ValueError("its header is no table of tensors")
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise ValueError("the metadata in its header are no strings")
    return header, metadata


def _entry(name: str, value: Any) -> _Entry:
    called = f"{name!r:.60}"
    if not isinstance(value, dict) or value.keys() != {"dtype", "shape", "data_offsets"}:
        raise ValueError(f"the tensor {called} must have dtype, shape and data_offsets")
    shape, offsets = value["shape"], value["data_offsets"]
    dtype = DTYPES.get(value["dtype"]) if isinstance(value["dtype"], str) else None
    if dtype is None:
        raise ValueError(
            f"the tensor {called} has the type {value['dtype']!r:.60}; known are "
            f"{', '.join(DTYPES)}"
        )
    if not _counts(shape) or len(shape) > MOST_AXES:
        raise ValueError(f"the tensor {called} has the shape {shape!r:.60}")
    if not _counts(offsets) or len(offsets) != 2:
        raise ValueError(f"the tensor {called} has the offsets {offsets!r:.60}")
    if math.prod(shape) * dtype.itemsize != offsets[1] - offsets[0]:
        raise ValueError(
            f"the tensor {called} of shape {shape!r:.60} does not take {offsets[1] - offsets[0]} "
            "bytes"
        )
    return _Entry(dtype, tuple(shape), *offsets)


def _counts(value: Any) -> bool:
    """Whether these are whole numbers, 0 or more."""
    return isinstance(value, list) and all(
        type(item) is int and 0 <= item < 1 << 62 for item in value
    )


def _check_gapless(entries: Mapping[str, _Entry], n_bytes: int) -> None:
    stop = 0
    for name, entry in sorted(entries.items(), key=lambda item: item[1][2:]):
        if entry.start != stop:
            raise ValueError(
                f"the tensor {name!r:.60} begins at byte {entry.start} instead of {stop}"
            )
        stop = entry.stop
    if stop != n_bytes:
        raise ValueError(f"its tensors take {stop} bytes, and the file has {n_bytes} for them")


def _tensor(content: bytearray, first: int, entry: _Entry) -> Tensor:
    """A copy, aligned in memory as computed tensors are: last bits of products depend on it."""
    if entry.start == entry.stop:
        return _empty(entry)
    n_bytes = entry.stop - entry.start
    start = first + entry.start
    plain = torch.frombuffer(content, dtype=torch.uint8, count=n_bytes, offset=start).clone()
    if entry.dtype == torch.bool and plain.max() > 1:
        raise ValueError("a boolean is neither 0 nor 1")
    return plain.view(entry.dtype).reshape(entry.shape)


def _empty(entry: _Entry) -> Tensor:
    try:
        return torch.empty(entry.shape, dtype=entry.dtype)
    except RuntimeError as error:  # no bytes, but axes whose product overflows
        raise ValueError(f"no tensor has the shape {entry.shape}") from error
