"""Tables whose cells come as Python values: from workbooks, JSON and databases.

A cell means what it would mean in a CSV file: a column of which all cells are numbers holds
numbers, whether they are stored as numbers or as strings, and "NA" is missing.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from uuid import UUID

from pmcnet.data.readers.base import TableFile, check_cells, check_some_rows
from pmcnet.data.readers.cells import MISSING, Kind, check_asked, inferred, replaced, to_numbers
from pmcnet.errors import InputError

if TYPE_CHECKING:
    from pandas import DataFrame, Series  # type: ignore[import-untyped]

_FEW_CELLS = 1 << 22
_ROWS = 10_000
_CELLS = (type(None), str, int, float, bool)


def word(value: Any) -> Any:
    """A cell as JSON and CSV can have it: times as strings, None where it is missing.

    What no cell can hold stays as it is.
    """
    written = _WORDS.get(type(value))
    return value if written is None else written(value)


def check_cell(cell: Any, name: str, where: str) -> None:
    """Refuse what `word` leaves as it is and is no number, string or boolean."""
    if type(cell) not in _CELLS:
        raise InputError(
            f"column {name!r:.60} of {where} holds {type(cell).__name__}; a cell must be a number, "
            "a string, a boolean or a date. Spread it over columns of its own, or leave it out."
        )


def _float(value: float) -> float | str | None:
    if math.isnan(value):
        return None
    return value if math.isfinite(value) else str(value)


def _decimal(value: Decimal) -> float | str | None:
    return _float(float(value))


def _datetime(value: datetime) -> str:
    whole = value.tzinfo is None and value.time() == time()
    return value.date().isoformat() if whole else value.isoformat(" ")


def _timedelta(value: timedelta) -> str:
    from pandas import Timedelta  # takes long to import

    return str(Timedelta(value))


_WORDS: Mapping[type, Callable[[Any], Any]] = MappingProxyType(
    {
        float: _float,
        Decimal: _decimal,
        date: date.isoformat,
        datetime: _datetime,
        time: time.isoformat,
        timedelta: _timedelta,
        UUID: str,
    }
)


@dataclass(frozen=True, kw_only=True)
class ValueTable(TableFile):
    """A table that comes in rows of Python values.

    Args:
        n_bytes: that its rows are stored in.
    """

    n_bytes: int

    @abstractmethod
    def rows(self) -> Iterator[Sequence[Any]]:
        """The rows in order, each with a cell for every name."""

    def frame(self) -> "DataFrame":
        """The whole table."""
        import pandas as pd

        cells: list[list[Any]] = [[] for _ in self.names]
        n_rows = 0
        for chunk in self._batches(_ROWS):
            n_rows += len(chunk)
            check_cells(n_rows * len(self.names), self.n_bytes, self.where, few=_FEW_CELLS)
            for column, more in zip(cells, zip(*chunk, strict=True), strict=True):
                column += more
        check_some_rows(n_rows, self.where)
        index = pd.RangeIndex(n_rows)
        columns = zip(self.names, cells, strict=True)
        return pd.DataFrame({name: self._column(name, column, index) for name, column in columns})

    def chunks(self, columns: Mapping[str, Kind], n_rows: int) -> Iterator["DataFrame"]:
        """The table in pieces; columns not asked for are as they are stored."""
        check_asked(columns, self.names, self.where)
        return (chunk for _, chunk in self.pairs(columns, n_rows))

    def pairs(
        self, columns: Mapping[str, Kind], n_rows: int
    ) -> Iterator[tuple["DataFrame", "DataFrame"]]:
        """The pieces as they are stored, each with itself converted."""
        import pandas as pd

        check_asked(columns, self.names, self.where)
        start = 0
        for chunk in self._batches(n_rows):
            index = pd.RangeIndex(start, start + len(chunk))
            cells = dict(zip(self.names, zip(*chunk, strict=True), strict=True))
            raw = pd.DataFrame(
                {name: pd.Series(cells[name], index, dtype=object) for name in self.names}
            )
            found = {}
            for name, kind in columns.items():
                if kind == "number":
                    column = self._column(name, cells[name], index)
                    found[name] = to_numbers(column, where=self.where, first_row=start + 1)
                else:
                    found[name] = self._strings(name, cells[name], index)
            yield raw, replaced(raw, found)
            start += len(chunk)
        check_some_rows(start, self.where)

    def _batches(self, n_rows: int) -> Iterator[list[list[Any]]]:
        """Rows of cells that are numbers, booleans, strings or None."""
        rows = self.rows()
        while chunk := [list(map(word, row)) for row in islice(rows, n_rows)]:
            yield chunk

    def _column(self, name: str, cells: Sequence[Any], index: Any) -> "Series":
        """Numbers or booleans where all cells are, else strings."""
        import pandas as pd

        kinds = set(map(type, cells))
        known = kinds - {type(None)}
        if known <= {int, float}:
            if kinds == {int} and all(-(2**63) <= cell < 2**63 for cell in cells):
                return pd.Series(cells, index, dtype="int64", name=name)
            return pd.Series(list(map(_double, cells)), index, dtype="float64", name=name)
        if known == {bool}:
            dtype = "bool" if kinds == known else "float64"
            return pd.Series(cells, index, dtype=dtype, name=name)
        return inferred(self._strings(name, cells, index))

    def _strings(self, name: str, cells: Sequence[Any], index: Any) -> "Series":
        """Cells as strings, missing ones as None."""
        import pandas as pd

        for cell in cells:
            check_cell(cell, name, self.where)
        strings = [None if cell is None or cell in MISSING else str(cell) for cell in cells]
        return pd.Series(strings, index, dtype=pd.Series(["string"]).dtype, name=name)


def _double(cell: float | None) -> float:
    try:
        return math.nan if cell is None else float(cell)
    except OverflowError:  # a whole number of hundreds of digits
        return math.inf if cell is not None and cell > 0 else -math.inf
