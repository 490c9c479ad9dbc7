"""One number for all that a frame holds: the SHA-256 of its column names, types and values.

The same on every machine and in every version of pandas. Each part goes in with its length, so that
no two frames read the same to the hash.
"""

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pandas import DataFrame, Series  # type: ignore[import-untyped]


def fingerprint(frame: "DataFrame") -> str:
    """64 hexadecimal digits that change with any cell, column name, type or order.

    The index does not count.

    Args:
        frame: Of any types; numbers are fast.
    """
    digest = hashlib.sha256(f"{len(frame)} rows, {len(frame.columns)} columns".encode())
    for position, name in enumerate(frame.columns):
        for part in _parts(frame.iloc[:, position]):
            digest.update(part)
        digest.update(_sized(str(name)))
    return digest.hexdigest()


def _parts(column: "Series") -> Iterator[bytes | memoryview]:
    """What goes into the hash for one column."""
    import pandas as pd  # takes long to import

    dtype = column.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "biuf":
        yield _sized(f"{dtype.kind}{dtype.itemsize}")
        values = np.ascontiguousarray(column.to_numpy(), dtype.newbyteorder("<"))  # (N,)
        if dtype.kind == "f" and np.isnan(values).any():
            # NaN has many bit patterns
            values = np.where(np.isnan(values), np.array(np.nan, values.dtype), values)
        yield values.data.cast("B") if len(values) else b""
        return
    strings = dtype is np.dtype(object) or isinstance(dtype, pd.StringDtype)
    yield _sized("text" if strings else "date" if dtype.kind == "M" else str(dtype))
    missing = column.isna().to_numpy(dtype=bool)  # (N,)
    cells = [
        b"" if gone else _cell(value) for gone, value in zip(missing.tolist(), column, strict=True)
    ]
    lengths = np.where(missing, -1, np.fromiter(map(len, cells), np.int64, len(cells)))  # (N,)
    yield lengths.astype("<i8").tobytes()
    yield b"".join(cells)


def _cell(value: object) -> bytes:
    """A value of a column that is not of numbers; 1 and "1" differ."""
    text = value if isinstance(value, str) else f"\0{type(value).__name__}\0{value}"
    return text.encode("utf-8", "surrogatepass")


def _sized(text: str) -> bytes:
    data = text.encode("utf-8", "surrogatepass")
    return len(data).to_bytes(8, "little") + data
