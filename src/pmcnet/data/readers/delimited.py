"""Tables in text files with a delimiter between fields; the first line names the columns.

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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from pmcnet.data.csv_injection import QUOTE, unguarded
from pmcnet.data.readers.base import Reader, TableFile, check_names, check_some_rows
from pmcnet.data.readers.cells import (
    MISSING,
    MISSING_NUMBER,
    Kind,
    check_asked,
    inferred,
    listed,
    number,
    replaced,
    shown,
    to_numbers,
)
from pmcnet.data.readers.compression import PACKED_SUFFIXES, compression_of
from pmcnet.data.readers.decimal_mark import POINTED_THOUSANDS, found_decimal
from pmcnet.data.readers.delimiter import DELIMITERS, found_delimiter
from pmcnet.data.readers.options import ReadOptions
from pmcnet.data.readers.text_encoding import UTF_8, found_encoding, open_text
from pmcnet.errors import InputError

if TYPE_CHECKING:
    from pandas import DataFrame, Series  # type: ignore[import-untyped]

_SURPLUS = "\0"  # no column has this name: NUL is refused
_SCANNED_ROWS = 20_000
_BLOCK = 1 << 20
_TEXT_SUFFIXES = (".csv", ".tsv", ".txt")


@dataclass(frozen=True, kw_only=True)
class DelimitedFile(TableFile):
    """A text file whose encoding, delimiter and decimal mark are known."""

    path: Path
    encoding: str
    delimiter: str
    decimal: str = "."

    def frame(self) -> "DataFrame":
        """The whole table, each column as numbers where all of it is, else as strings."""
        import pandas as pd  # takes long to import

        options = self._options()
        with self._rows() as text, _explained(self.path):
            frame = pd.read_csv(text, na_values=list(MISSING), dtype={_SURPLUS: str}, **options)
            frame = _without_surplus(frame, self.path)
        dtypes = frame.dtypes
        words = [name for name in self.names if not pd.api.types.is_numeric_dtype(dtypes[name])]
        return replaced(frame, {name: self._inferred(frame[name]) for name in words})

    def chunks(self, columns: Mapping[str, Kind], n_rows: int) -> Iterator["DataFrame"]:
        """The table in pieces; columns not asked for are strings, letter by letter as stored."""
        check_asked(columns, self.names, self.where)
        return self._chunks(columns, n_rows)

    def pairs(
        self, columns: Mapping[str, Kind], n_rows: int
    ) -> Iterator[tuple["DataFrame", "DataFrame"]]:
        """The pieces as they are stored, and converted by pandas, which is faster."""
        return zip(self.chunks({}, n_rows), self.chunks(columns, n_rows), strict=True)

    def _chunks(self, columns: Mapping[str, Kind], n_rows: int) -> Iterator["DataFrame"]:
        import pandas as pd

        numbers = [name for name in self.names if columns.get(name) == "number"]
        strings = [name for name in self.names if columns.get(name) == "text"]
        missing = {name: list(MISSING) for name in strings}
        missing |= {name: list(MISSING_NUMBER) for name in numbers}
        dtype = {name: str for name in (*self.names, _SURPLUS) if name not in numbers}
        options = self._options() | {"chunksize": n_rows}
        with self._rows() as text, _explained(self.path):
            for chunk in pd.read_csv(text, na_values=missing, dtype=dtype, **options):
                chunk = _without_surplus(chunk, self.path)
                first_row = chunk.index[0] + 1
                found = {
                    name: to_numbers(
                        chunk[name], where=self.where, first_row=first_row, decimal=self.decimal
                    )
                    for name in numbers
                }
                found |= {name: self._pointed(_unguarded(chunk[name])) for name in strings}
                yield replaced(chunk, found)

    def _inferred(self, column: "Series") -> "Series":
        """A column of words as numbers if it holds some, else as strings with decimal points."""
        import pandas as pd

        found = _unguarded(inferred(column, self.decimal))
        if pd.api.types.is_numeric_dtype(found.dtype) or self.decimal == ".":
            return found
        present = found.dropna().unique().tolist()
        if any("." in word for word in present) and all(map(_with_thousands, present)):
            raise InputError(
                f"column {column.name!r} of {self.path} holds {shown(present[0])} where the "
                "decimal mark is a comma. Write numbers without points between thousands, or ask "
                "for the decimal mark '.' (--decimal .)."
            )
        return self._pointed(found)

    def _pointed(self, column: "Series") -> "Series":
        """Strings, the numbers among them with a decimal point."""
        if self.decimal == ".":
            return column
        words = {
            word: word.replace(",", ".")
            for word in column.dropna().unique().tolist()
            if "," in word and number(word, ",") is not None
        }
        return column.map(lambda word: words.get(word, word), na_action="ignore").astype(
            column.dtype
        )

    def _options(self) -> dict[str, Any]:
        """What `read_csv` needs to read the rows behind a header."""
        import pandas as pd

        options = {
            "sep": self.delimiter,
            "decimal": self.decimal,
            "header": None,
            "names": [*self.names, _SURPLUS],
            "index_col": False,
            "keep_default_na": False,
            "low_memory": False,  # else the type of a column may change within it
        }
        if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1):
            options["float_precision"] = "round_trip"  # from 3.1 on the only one
        return options

    @contextmanager
    def _rows(self) -> Iterator[IO[str]]:
        """The characters behind the header."""
        with open_text(self.path, self.encoding) as text:
            next(_records(text, self.path, self.delimiter))
            yield text


@dataclass(frozen=True, kw_only=True)
class Delimited(Reader):
    """Text with a delimiter between fields, packed or not."""

    def opened(self, path: Path, asked: ReadOptions) -> DelimitedFile:
        """Find encoding, delimiter, names and decimal mark."""
        encoding = found_encoding(path, asked.encoding)
        delimiter = asked.delimiter or found_delimiter(path, encoding)
        names = _names(path, encoding, delimiter, asked=bool(asked.delimiter))
        found = DelimitedFile(
            where=str(path),
            place=str(path.resolve()),
            names=names,
            path=path,
            encoding=encoding,
            delimiter=delimiter,
        )
        compression = compression_of(path)
        commas = _n_commas(found) if compression or delimiter != "," else 0
        decimal, remark = asked.decimal or ".", ""
        if not asked.decimal and delimiter != "," and commas:
            decimal, remark = found_decimal(found.chunks({}, _SCANNED_ROWS))
        understood = (
            f"delimiter {delimiter!r}",
            "decimal comma" if decimal == "," else "",
            encoding.upper() if encoding != UTF_8 else "",
            compression.name if compression else "",
            remark,
        )
        return replace(found, decimal=decimal, understood=tuple(filter(None, understood)))


DELIMITED = Delimited(
    name="CSV, TSV",
    suffixes=(
        *(f"{kind}{packed}" for kind in _TEXT_SUFFIXES for packed in PACKED_SUFFIXES),
        ".zip",
    ),
    takes=("delimiter", "decimal", "encoding"),
)


def _n_commas(file: DelimitedFile) -> int:
    """Commas in the whole text, which is looked through once so that no trap comes later."""
    with open_text(file.path, file.encoding) as text:
        return sum(block.count(",") for block in iter(lambda: text.read(_BLOCK), ""))


def _names(path: Path, encoding: str, delimiter: str, *, asked: bool) -> tuple[str, ...]:
    """The column names, after checking them and the first row."""
    with open_text(path, encoding) as text:
        records = _records(text, path, delimiter)
        names = _header(records, path)
        if asked:
            _check_separates(delimiter, names, path)
        check_names(names, path)
        first = next(records, None)
    check_some_rows(0 if first is None else 1, path)
    if first is not None and (len(first) > len(names) + 1 or "".join(first[len(names) :])):
        raise _too_many_fields(path, 1)
    return names


def _records(text: IO[str], path: Path, delimiter: str) -> Iterator[list[str]]:
    """Records that are not blank, as lists of fields."""
    try:
        for record in csv.reader(text, delimiter=delimiter):
            if len(record) > 1 or "".join(record).strip():
                yield record
    except csv.Error as error:
        raise InputError(
            f"the first lines of {path} cannot be read: {error}. Look for a quote left open."
        ) from error


def _header(records: Iterator[list[str]], path: Path) -> tuple[str, ...]:
    record = next(records, None)
    if record is None:
        raise InputError(
            f"{path} is empty (blank lines only). A table needs a header line and at least one row."
        )
    return tuple(unguarded(name.strip()) for name in record)


def _check_separates(delimiter: str, names: tuple[str, ...], path: Path) -> None:
    """Refuse a delimiter that was asked for where the header has another one."""
    other = next((each for each in DELIMITERS if each != delimiter and each in names[0]), None)
    if len(names) == 1 and other is not None:
        raise InputError(
            f"{path} has a single column named {listed(names)} where {delimiter!r} separates "
            f"fields; they look separated by {DELIMITERS[other]}. Leave the delimiter out, or ask "
            f"for {other!r}."
        )


def _with_thousands(word: str) -> bool:
    return POINTED_THOUSANDS.fullmatch(word) is not None or number(word, ",") is not None


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
