"""Tables as frames, by name or from a file, whole or in pieces.

    frame = data.read_frame("rows.csv")                    # types are inferred from whole columns
    kinds = data.column_kinds(frame)                       # {"age": "number", "city": "text"}
    chunks = data.frame_chunks("more.csv", columns=kinds)  # the same types in every chunk
    table = data.open_table("rows.txt", data.ReadOptions(decimal=","))
    table.understood                                       # ("delimiter ';'", "decimal comma")

The formats are those of `readers.registry`. Missing: an empty field, NA, N/A, n/a, NaN, nan, null,
NULL and None; `?` too in a column where everything else is a number, while among strings it is a
level like others. `inf` is a number.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from pmcnet.data.datasets.catalogue import check_no_images, load, names
from pmcnet.data.readers import registry
from pmcnet.data.readers.base import TableFile
from pmcnet.data.readers.cells import Kind, shown
from pmcnet.data.readers.database import is_database, query_result
from pmcnet.data.readers.options import ReadOptions
from pmcnet.data.readers.standard_input import NAME as STANDARD_INPUT
from pmcnet.data.readers.standard_input import standard_input
from pmcnet.data.table import Table
from pmcnet.errors import InputError

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]

DEFAULT = ReadOptions()
"""Everything is found out."""


def open_table(source: str | Path, asked: ReadOptions = DEFAULT) -> TableFile:
    """The table of that name, path or URL, its form found out: what `understood` says.

    Args:
        source: One of `names()`; the path of a file with a suffix of `readers.registry`; "-" for
            standard input; or the URL of a database. A name of `names()` is the built-in dataset
            even where a file is called the same: a file is read only by a path with a suffix.
        asked: What is known of it.
    """
    if _is_built_in(source):
        asked.check((), f"{source} is a built-in dataset")
        return BuiltIn.of(str(source))
    if is_database(str(source)):
        return query_result(str(source), asked)
    if asked.sql:
        raise InputError(
            f"sql asks a database, which is named by a URL like sqlite:///shop.db; got "
            f"{shown(source, 200)}. Give its URL, or leave sql out."
        )
    if str(source) == STANDARD_INPUT:
        path = standard_input()
        found = registry.recognised(path, asked).opened(path, asked)
        return replace(found, where="standard input", place=STANDARD_INPUT)
    path = _located(source)
    return registry.reader_of(path, asked).opened(path, asked)


def read_frame(source: str | Path, asked: ReadOptions = DEFAULT) -> "DataFrame":
    """The table of that name, path or URL.

    A column holds numbers or booleans if all of its cells do, else strings. Booleans with gaps
    become 1, 0 and NaN.

    Args:
        source: As for `open_table`.
        asked: What is known of it.
    """
    return open_table(source, asked).frame()


def frame_chunks(
    source: str | Path,
    n_rows: int = 50_000,
    *,
    columns: Mapping[str, Kind] | None = None,
    asked: ReadOptions = DEFAULT,
) -> Iterator["DataFrame"]:
    """The table in pieces, in order and in bounded memory; rows are numbered through.

    Path, header and first row are checked at once, later rows as they come. Columns that are not in
    `columns` stay unchanged: from text as strings, letter by letter (007 stays 007, NA stays NA),
    else as they are stored.

    Args:
        source: As for `open_table`.
        n_rows: Rows of a piece, at most.
        columns: "number" for columns to come as float64, "text" for strings, with missing values
            recognised in both.
        asked: What is known of it.
    """
    if isinstance(n_rows, bool) or not isinstance(n_rows, int | np.integer) or n_rows < 1:
        raise InputError(f"n_rows must be a whole number of rows, at least 1; got {n_rows!r}.")
    return open_table(source, asked).chunks(columns or {}, int(n_rows))


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


def _located(source: str | Path) -> Path:
    path = Path(source)
    if not os.path.exists(path):  # unlike the method, False for a name that is too long
        built_in = f" It is no built-in dataset either; those are {', '.join(names())}."
        folder = f"{path.absolute().parent!s:.200}"
        raise InputError(
            f"there is no file {shown(source, 200)} (looked in {folder})."
            f"{'' if path.suffix else built_in} Check the path."
        )
    return path


@dataclass(frozen=True, kw_only=True)
class BuiltIn(TableFile):
    """A built-in table: features under their names, then the target."""

    table: Table

    @classmethod
    def of(cls, name: str) -> Self:
        """The table of that name."""
        table = load(name)
        return cls(where=name, place=name, names=(*table.features, _target(table)), table=table)

    def frame(self) -> "DataFrame":
        """The whole table; the target are names of classes, or the response."""
        import pandas as pd  # takes long to import

        table = self.table
        frame = pd.DataFrame(table.x, columns=list(table.features))
        target = np.array(table.classes)[table.y].tolist() if table.classes else table.y
        frame[self.names[-1]] = target
        return frame


def _target(table: Table) -> str:
    name = "target"
    while name in table.features:
        name += "_"
    return name
