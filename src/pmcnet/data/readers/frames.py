"""Tables from files, whole or in pieces: CSV, TSV (both also gzipped) and Parquet.

frame = data.read_frame("rows.csv")                        # types found by looking at whole columns
kinds = data.column_kinds(frame)                           # {"age": "number", "city": "text"}
for chunk in data.frame_chunks("more.csv", columns=kinds)  # the same types, whatever a chunk holds

Text is UTF-8, the first line names the columns. Missing: an empty field, NA, N/A, n/a, NaN, nan,
null, NULL and None; `?` too in a column where everything else is a number, while among text it is a
value like others. `inf` is a number.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pmcnet.data.datasets.frames_by_name import built_in_frame
from pmcnet.data.readers.cells import Kind, check_asked, converted
from pmcnet.data.readers.csv import delimited_chunks, read_delimited
from pmcnet.data.readers.parquet import parquet_chunks, read_parquet
from pmcnet.data.readers.paths import is_built_in, locate
from pmcnet.errors import InputError

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]


def read_frame(source: str | Path) -> "DataFrame":
    """The table of that name or path.

    A column is numbers or truth values if all of it is, else text. Truth values with gaps become 1,
    0 and NaN.

    Args:
        source: One of `names()`, or the path of a .csv, .csv.gz, .tsv, .tsv.gz or .parquet file. A
            name of `names()` is the built-in dataset even where a file is called the same: a file
            is read only by a path with a suffix.
    """
    if is_built_in(source):
        return built_in_frame(str(source))
    place = locate(source)
    return read_parquet(place) if place.delimiter is None else read_delimited(place)


def frame_chunks(
    source: str | Path, n_rows: int = 50_000, *, columns: Mapping[str, Kind] | None = None
) -> Iterator["DataFrame"]:
    """The table in pieces, in order and in bounded memory; rows are numbered through.

    Path, header and first row are checked at once, later rows as they come. Columns that are not in
    `columns` come along unchanged: from CSV as text, letter by letter (007 stays 007, NA stays NA),
    else as they are stored.

    Args:
        source: As for `read_frame`.
        n_rows: Rows of a piece, at most.
        columns: "number" for columns to come as float64, "text" for text, with missing values
            recognised in both.
    """
    if isinstance(n_rows, bool) or not isinstance(n_rows, int | np.integer) or n_rows < 1:
        raise InputError(f"n_rows must be a whole number of rows, at least 1; got {n_rows!r}.")
    columns = columns or {}
    if is_built_in(source):
        frame = built_in_frame(str(source))
        check_asked(columns, frame.columns, str(source))
        return _slices(converted(frame, columns, where=str(source)), int(n_rows))
    place = locate(source)
    read = parquet_chunks if place.delimiter is None else delimited_chunks
    return read(place, columns, int(n_rows))


def _slices(frame: "DataFrame", n_rows: int) -> Iterator["DataFrame"]:
    for start in range(0, len(frame), n_rows):
        yield frame.iloc[start : start + n_rows]
