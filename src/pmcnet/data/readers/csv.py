"""Tables in CSV and TSV files: UTF-8, the first line names the columns.

A row that is too short ends in missing values. The header is read here and the rows by pandas,
which would rename a repeated column, take the first of too many fields for an index and, in version
2, drop the last of them at the start of a chunk. So pandas is given the name of one column more
than there are. A row that has something to put there is refused; one empty field too many is
forgiven.
"""

import csv
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from pmcnet.data.csv_injection import QUOTE, unguarded
from pmcnet.data.readers.base import Reader, check_names, check_some_rows
from pmcnet.data.readers.cells import (
    MISSING,
    MISSING_NUMBER,
    Kind,
    check_asked,
    inferred,
    listed,
    replaced,
    to_numbers,
)
from pmcnet.data.readers.text_encoding import check_unpacked, open_text
from pmcnet.errors import InputError

if TYPE_CHECKING:
    from pandas import DataFrame, Series  # type: ignore[import-untyped]

_SURPLUS = "\0"  # no column has this name: NUL is refused
_DELIMITERS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "vertical bars"}


@dataclass(frozen=True, kw_only=True)
class Delimited(Reader):
    """Lines of fields with a delimiter between them, gzipped or not."""

    delimiter: str

    def frame(self, path: Path) -> "DataFrame":
        """The whole table, each column as numbers where all of it is, else as strings."""
        import pandas as pd  # takes long to import

        names = self._names(path)
        check_unpacked(path)
        options = self._options(names)
        with self._rows(path) as text, _explained(path):
            frame = pd.read_csv(text, na_values=list(MISSING), dtype={_SURPLUS: str}, **options)
            frame = _without_surplus(frame, path)
        others = [name for name in names if not pd.api.types.is_numeric_dtype(frame[name].dtype)]
        return replaced(frame, {name: _unguarded(inferred(frame[name])) for name in others})

    def chunks(self, path: Path, columns: Mapping[str, Kind], n_rows: int) -> Iterator["DataFrame"]:
        """The table in pieces; columns not asked for are strings, letter by letter as stored."""
        names = self._names(path)
        check_asked(columns, names, str(path))
        return self._chunks(path, names, columns, n_rows)

    def _chunks(
        self, path: Path, names: tuple[str, ...], columns: Mapping[str, Kind], n_rows: int
    ) -> Iterator["DataFrame"]:
        import pandas as pd

        numbers = [name for name in names if columns.get(name) == "number"]
        strings = [name for name in names if columns.get(name) == "text"]
        missing = {name: list(MISSING) for name in strings}
        missing |= {name: list(MISSING_NUMBER) for name in numbers}
        dtype = {name: str for name in (*names, _SURPLUS) if name not in numbers}
        options = self._options(names) | {"chunksize": n_rows}
        with self._rows(path) as text, _explained(path):
            for chunk in pd.read_csv(text, na_values=missing, dtype=dtype, **options):
                chunk = _without_surplus(chunk, path)
                place = {"where": str(path), "first_row": chunk.index[0] + 1}
                found = {name: to_numbers(chunk[name], **place) for name in numbers}
                yield replaced(chunk, found | {name: _unguarded(chunk[name]) for name in strings})

    def _options(self, names: tuple[str, ...]) -> dict[str, Any]:
        """What `read_csv` needs to read the rows behind a header."""
        import pandas as pd

        options = {
            "sep": self.delimiter,
            "header": None,
            "names": [*names, _SURPLUS],
            "index_col": False,
            "keep_default_na": False,
            "low_memory": False,  # else the type of a column may change within it
        }
        if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1):
            options["float_precision"] = "round_trip"  # from 3.1 on the only one
        return options

    def _names(self, path: Path) -> tuple[str, ...]:
        """The column names, after checking them and the first row."""
        with open_text(path) as text:
            records = self._records(text, path)
            names = self._header(records, path)
            check_names(names, path)
            first = next(records, None)
        check_some_rows(0 if first is None else 1, path)
        if first is not None and (len(first) > len(names) + 1 or "".join(first[len(names) :])):
            raise _too_many_fields(path, 1)
        return names

    @contextmanager
    def _rows(self, path: Path) -> Iterator[IO[str]]:
        """The characters behind the header."""
        with open_text(path) as text:
            next(self._records(text, path))
            yield text

    def _records(self, text: IO[str], path: Path) -> Iterator[list[str]]:
        """Records that are not blank, as lists of fields."""
        try:
            for record in csv.reader(text, delimiter=self.delimiter):
                if len(record) > 1 or "".join(record).strip():
                    yield record
        except csv.Error as error:
            raise InputError(
                f"the first lines of {path} cannot be read: {error}. Look for a quote left open."
            ) from error

    def _header(self, records: Iterator[list[str]], path: Path) -> tuple[str, ...]:
        record = next(records, None)
        if record is None:
            raise InputError(
                f"{path} is empty (blank lines only). A table needs a header line and at least one "
                "row."
            )
        names = tuple(unguarded(name.strip()) for name in record)
        other = next((d for d in _DELIMITERS if d != self.delimiter and d in names[0]), None)
        if len(names) == 1 and other is not None:
            raise InputError(
                f"{path} has a single column named {listed(names)}: its fields must be separated "
                f"by {_DELIMITERS[self.delimiter]}, and look separated by {_DELIMITERS[other]}. "
                f"{_remedy(other)}"
            )
        return names


CSV = Delimited(name="CSV", suffixes=(".csv", ".csv.gz"), delimiter=",")
TSV = Delimited(name="TSV", suffixes=(".tsv", ".tsv.gz"), delimiter="\t")


def _remedy(delimiter: str) -> str:
    for reader in (CSV, TSV):
        if reader.delimiter == delimiter:
            return f"Rename the file to end in {reader.suffixes[0]}."
    decimal = " (add decimal=',' if numbers are written 1,5)" if delimiter == ";" else ""
    return (
        f"Save it with commas: pandas.read_csv(path, sep={delimiter!r})"
        f".to_csv('new.csv', index=False){decimal}."
    )


def _unguarded(column: "Series") -> "Series":
    """Strings without the quote that keeps spreadsheets from running them."""
    if not any(isinstance(cell, str) and cell.startswith(QUOTE) for cell in column.tolist()):
        return column
    return column.map(unguarded, na_action="ignore").astype(column.dtype)


def _without_surplus(frame: "DataFrame", path: Path) -> "DataFrame":
    check_some_rows(len(frame), path)  # a row may turn out to be a byte order mark
    surplus = frame.pop(_SURPLUS)
    filled = (surplus.notna() & (surplus != "")).to_numpy(dtype=bool)  # (N,)
    if filled.any():
        raise _too_many_fields(path, int(frame.index[filled.argmax()]) + 1)
    return frame


def _too_many_fields(path: Path, row: int) -> InputError:
    return InputError(
        f"row {row} of {path} (the header not counted) has more fields than the header has names. "
        "Put quotes around text that holds the delimiter, or name every column in the header."
    )


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """What the parser of pandas refuses, as an error of this package."""
    import pandas as pd

    try:
        yield
    except pd.errors.ParserError as error:
        if ragged := re.search(r"Expected \d+ fields in line (\d+)", str(error)):
            raise _too_many_fields(path, int(ragged.group(1))) from error
        if quote := re.search(r"EOF inside string starting at row (\d+)", str(error)):
            row = int(quote.group(1)) + 1
            raise InputError(
                f"a quote opened in row {row} of {path} (the header not counted) is never "
                'closed. Close it, or double a quote that is part of the text ("").'
            ) from error
        raise InputError(
            f"{path} cannot be read as a table: {error}. Check how it was written."
        ) from error
