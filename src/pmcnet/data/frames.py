"""Tables as frames, by name or from a file, whole or in pieces.

    frame = data.read_frame("rows.csv")                    # types are inferred from whole columns
    kinds = data.column_kinds(frame)                       # {"age": "number", "city": "text"}
    chunks = data.frame_chunks("more.csv", columns=kinds)  # the same types in every chunk

The formats are those of `readers.registry`. Missing: an empty field, NA, N/A, n/a, NaN, nan, null,
NULL and None; `?` too in a column where everything else is a number, while among strings it is a
level like others. `inf` is a number.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pmcnet.data.datasets.catalogue import check_no_images, load, names
from pmcnet.data.readers import registry
from pmcnet.data.readers.base import Reader, slices
from pmcnet.data.readers.cells import Kind, shown
from pmcnet.data.table import Table
from pmcnet.errors import InputError

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]


def read_frame(source: str | Path) -> "DataFrame":
    """The table of that name or path.

    A column holds numbers or booleans if all of its cells do, else strings. Booleans with gaps
    become 1, 0 and NaN.

    Args:
        source: One of `names()`, or the path of a file with a suffix of `readers.registry`. A name
            of `names()` is the built-in dataset even where a file is called the same: a file is
            read only by a path with a suffix.
    """
    if _is_built_in(source):
        return _built_in_frame(load(str(source)))
    path, reader = _located(source)
    return reader.frame(path)


def frame_chunks(
    source: str | Path, n_rows: int = 50_000, *, columns: Mapping[str, Kind] | None = None
) -> Iterator["DataFrame"]:
    """The table in pieces, in order and in bounded memory; rows are numbered through.

    Path, header and first row are checked at once, later rows as they come. Columns that are not in
    `columns` stay unchanged: from CSV as strings, letter by letter (007 stays 007, NA stays NA),
    else as they are stored.

    Args:
        source: As for `read_frame`.
        n_rows: Rows of a piece, at most.
        columns: "number" for columns to come as float64, "text" for strings, with missing values
            recognised in both.
    """
    if isinstance(n_rows, bool) or not isinstance(n_rows, int | np.integer) or n_rows < 1:
        raise InputError(f"n_rows must be a whole number of rows, at least 1; got {n_rows!r}.")
    if _is_built_in(source):
        frame = _built_in_frame(load(str(source)))
        return slices(frame, columns or {}, int(n_rows), where=str(source))
    path, reader = _located(source)
    return reader.chunks(path, columns or {}, int(n_rows))


def built_in_target(name: str) -> str:
    """The column of `read_frame(name)` that is to be predicted.

    Args:
        name: One of `names()`.
    """
    return _target(load(name))


def _is_built_in(source: str | Path) -> bool:
    """Whether this is the name of a built-in table; those have no suffix, files do."""
    if not isinstance(source, str | Path):
        raise InputError(
            f"a table is named by a path or a built-in dataset's name; got {type(source).__name__}."
        )
    check_no_images(str(source))
    return str(source) in names()


def _located(source: str | Path) -> tuple[Path, Reader]:
    path = Path(source)
    if not os.path.exists(path):  # unlike the method, False for a name that is too long
        built_in = f" It is no built-in dataset either; those are {', '.join(names())}."
        folder = f"{path.absolute().parent!s:.200}"
        raise InputError(
            f"there is no file {shown(source, 200)} (looked in {folder})."
            f"{'' if path.suffix else built_in} Check the path."
        )
    return path, registry.reader_of(path)


def _built_in_frame(table: Table) -> "DataFrame":
    """Features under their names, then the target: names of classes, or the response."""
    import pandas as pd  # takes long to import

    frame = pd.DataFrame(table.x, columns=list(table.features))
    frame[_target(table)] = np.array(table.classes)[table.y].tolist() if table.classes else table.y
    return frame


def _target(table: Table) -> str:
    name = "target"
    while name in table.features:
        name += "_"
    return name
