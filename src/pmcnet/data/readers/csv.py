"""Tables in CSV and TSV files. The first line names the columns; a row that is too short ends in missing values.

The header is read here and the rows by pandas, which would rename a repeated column, take the first
of too many fields for an index and, in version 2, drop the last of them at the start of a chunk. So
pandas is told of one column more than there are, and a row that has something to put there is
refused; one empty field too many is forgiven.
"""

import csv
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

from pmcnet.data.csv_injection import QUOTE, unguarded
from pmcnet.data.readers.cells import (
    MISSING,
    MISSING_NUMBER,
    Kind,
    check_asked,
    listed,
    replaced,
    settled,
    to_numbers,
)
from pmcnet.data.readers.paths import Place, check_names, check_some_rows
from pmcnet.data.readers.text_encoding import check_unpacked, open_text
from pmcnet.errors import InputError

if TYPE_CHECKING:
    from pandas import DataFrame, Series  # type: ignore[import-untyped]

_SUFFIXES = {",": ".csv", "\t": ".tsv"}
_SURPLUS = "\0"  # no column has this name: NUL is refused
_DELIMITERS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "vertical bars"}


def read_delimited(place: Place) -> "DataFrame":
    """The whole table, each column as numbers where all of it is, else as text."""
    import pandas as pd

    names = check_header(place)
    check_unpacked(place)
    with _rows(place) as text, _explained(place):
        frame = pd.read_csv(
            text, na_values=list(MISSING), dtype={_SURPLUS: str}, **_options(place, names)
        )
        frame = _without_surplus(frame, place)
    others = [name for name in names if not pd.api.types.is_numeric_dtype(frame[name].dtype)]
    return replaced(frame, {name: _unguarded(settled(frame[name])) for name in others})


def delimited_chunks(
    place: Place, columns: Mapping[str, Kind], n_rows: int
) -> Iterator["DataFrame"]:
    """The table in pieces; columns that were not asked for are text, letter by letter as in the file."""
    names = check_header(place)
    check_asked(columns, names, str(place.path))
    return _chunks(place, names, columns, n_rows)


def _chunks(
    place: Place, names: tuple[str, ...], columns: Mapping[str, Kind], n_rows: int
) -> Iterator["DataFrame"]:
    import pandas as pd

    numbers = [name for name in names if columns.get(name) == "number"]
    missing = {
        name: list(MISSING_NUMBER if kind == "number" else MISSING)
        for name, kind in columns.items()
    }
    as_text = {name: str for name in (*names, _SURPLUS) if name not in numbers}
    options = _options(place, names)
    with _rows(place) as text, _explained(place):
        for chunk in pd.read_csv(
            text, na_values=missing, dtype=as_text, chunksize=n_rows, **options
        ):
            chunk = _without_surplus(chunk, place)
            first_row = chunk.index[0] + 1
            where = str(place.path)
            texts = {name: _unguarded(chunk[name]) for name in names if columns.get(name) == "text"}
            found = {
                name: to_numbers(chunk[name], where=where, first_row=first_row) for name in numbers
            }
            yield replaced(chunk, found | texts)


def _unguarded(column: "Series") -> "Series":
    """Texts without the quote that keeps spreadsheets from running them."""
    if not any(isinstance(cell, str) and cell.startswith(QUOTE) for cell in column.tolist()):
        return column
    return column.map(unguarded, na_action="ignore").astype(column.dtype)


def _options(place: Place, names: tuple[str, ...]) -> dict[str, Any]:
    import pandas as pd

    options = {
        "sep": place.delimiter,
        "header": None,
        "names": [*names, _SURPLUS],
        "index_col": False,
        "keep_default_na": False,
        "low_memory": False,  # else the type of a column may change within it
    }
    if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1):
        options["float_precision"] = "round_trip"  # from 3.1 on the only one
    return options


def check_header(place: Place) -> tuple[str, ...]:
    """The column names, after a look at them and at the first row."""
    with open_text(place) as text:
        records = _records(text, place)
        names = _header(records, place)
        check_names(names, place.path)
        first = next(records, None)
    check_some_rows(0 if first is None else 1, place.path)
    if first is not None and (len(first) > len(names) + 1 or "".join(first[len(names) :])):
        raise _too_many_fields(place, 1)
    return names


@contextmanager
def _rows(place: Place) -> Iterator[IO[str]]:
    """The text behind the header."""
    with open_text(place) as text:
        next(_records(text, place))
        yield text


def _records(text: IO[str], place: Place) -> Iterator[list[str]]:
    """Records that are not blank, as lists of fields."""
    try:
        for record in csv.reader(text, delimiter=place.delimiter or ","):
            if len(record) > 1 or "".join(record).strip():
                yield record
    except csv.Error as error:
        raise InputError(
            f"the first lines of {place.path} cannot be read: {error}. Look for a quote left open."
        ) from error


def _header(records: Iterator[list[str]], place: Place) -> tuple[str, ...]:
    record = next(records, None)
    if record is None:
        raise InputError(
            f"{place.path} is empty (blank lines only). A table needs a header line and at least "
            "one row."
        )
    names = tuple(unguarded(name.strip()) for name in record)
    found = next(
        (other for other in _DELIMITERS if other != place.delimiter and other in names[0]), None
    )
    if len(names) == 1 and found is not None and place.delimiter is not None:
        raise InputError(
            f"{place.path} has a single column named {listed(names)}: its fields must be separated "
            "by "
            f"{_DELIMITERS[place.delimiter]}, and look separated by {_DELIMITERS[found]}. "
            f"{_remedy(found)}"
        )
    return names


def _remedy(delimiter: str) -> str:
    if delimiter in _SUFFIXES:
        return f"Rename the file to end in {_SUFFIXES[delimiter]}."
    decimal = " (add decimal=',' if numbers are written 1,5)" if delimiter == ";" else ""
    return f"Save it with commas: pandas.read_csv(path, sep={delimiter!r}).to_csv('new.csv', index=False){decimal}."


def _without_surplus(frame: "DataFrame", place: Place) -> "DataFrame":
    check_some_rows(len(frame), place.path)  # a row may turn out to be a byte order mark
    surplus = frame.pop(_SURPLUS)
    filled = (surplus.notna() & (surplus != "")).to_numpy(dtype=bool)  # (N,)
    if filled.any():
        raise _too_many_fields(place, int(frame.index[filled.argmax()]) + 1)
    return frame


def _too_many_fields(place: Place, row: int) -> InputError:
    return InputError(
        f"row {row} of {place.path} (the header not counted) has more fields than the header has "
        "names. "
        "Put quotes around text that holds the delimiter, or name every column in the header."
    )


@contextmanager
def _explained(place: Place) -> Iterator[None]:
    """What the parser of pandas refuses, in the words of this package."""
    import pandas as pd

    try:
        yield
    except pd.errors.ParserError as error:
        if ragged := re.search(r"Expected \d+ fields in line (\d+)", str(error)):
            raise _too_many_fields(place, int(ragged.group(1))) from error
        if quote := re.search(r"EOF inside string starting at row (\d+)", str(error)):
            row = int(quote.group(1)) + 1
            raise InputError(
                f"a quote opened in row {row} of {place.path} (the header not counted) is never "
                "closed. "
                'Close it, or double a quote that is part of the text ("").'
            ) from error
        raise InputError(
            f"{place.path} cannot be read as a table: {error}. Check how it was written."
        ) from error
