"""What a page needs to let its reader change a column: how it is encoded, and usual values.

Values of a row are plain: a number as the column's `numbers` has it, the place of a level, None
where missing, -1 for a level that training had not. Text is not to be changed: its value is the
list of its inputs.
"""

import math
from typing import Any, cast

import numpy as np

from pmcnet.estimators.columns import Column, Matrix
from pmcnet.estimators.columns.base import UNSEEN
from pmcnet.estimators.columns.category import CategoryColumn
from pmcnet.estimators.columns.date import TIMES_OF_DAY, DateColumn
from pmcnet.estimators.columns.log_number import LogNumberColumn
from pmcnet.estimators.columns.many_levels import ManyLevelsColumn
from pmcnet.estimators.columns.number import NumberColumn
from pmcnet.estimators.evaluation.scores import Record

NEW_LEVEL = -1
MOST_LEVELS, MOST_EFFECTS = 200, 3000
"""Levels of a column of many, and numbers that these may be together."""
N_STEPS = 200
"""Of a slider, about."""
_ENDS = (0.01, 0.99)
_UNITS = (("s", 1.0, 120.0), ("min", 60.0, 7200.0), ("h", 3600.0, 172800.0), ("days", 86400.0, 0))
"""Name and seconds of a unit, and the duration up to which it is used."""


class ColumnControl:
    """One column of the model as the page shows it.

    Args:
        column: as it has learned from the training rows.
        flagged: whether an input says that it is missing.
        numbers: of training rows (N, n).
        shown: of the rows that the page has (S, n).
    """

    def __init__(self, column: Column, flagged: bool, numbers: Matrix, shown: Matrix) -> None:
        self.column, self.flagged, self.numbers = column, flagged, numbers
        self.places = _places(column, numbers, shown)
        self.shown = shown
        self.known = numbers[np.isfinite(numbers[:, 0]), 0]

    @property
    def editable(self) -> bool:
        """Whether the reader can change it."""
        return self.column.kind != "text"

    def value(self, numbers: Matrix) -> Any:
        """A cell (n,) as plain data."""
        if self.column.kind == "text":
            return self.column.inputs(numbers[None])[0].tolist() if _is_known(numbers) else None
        number = float(numbers[0])
        if not self.column.of_levels:
            return number if math.isfinite(number) else None
        if number == UNSEEN:
            return NEW_LEVEL
        return None if math.isnan(number) else self.places[int(number)]

    def candidates(self) -> Matrix:
        """A few numbers that the column may take, from which its influence is judged (k,)."""
        if self.column.of_levels:
            return np.array(list(self.places), dtype=np.float64)
        found: Matrix = np.quantile(self.known, (*_ENDS, 0.25, 0.5, 0.75))
        return found

    def record(self) -> Record:
        """How the page encodes and shows the column."""
        missing = self.flagged or any(not _is_known(row) for row in self.shown)
        common = {"name": self.column.name, "kind": self.column.kind}
        return common | {"flag": self.flagged, "missing": missing} | self._own()

    def _own(self) -> Record:
        """What its kind has beside that."""
        column = self.column
        if isinstance(column, DateColumn):
            return self._date(column)
        if isinstance(column, NumberColumn):
            return self._number(column)
        if isinstance(column, CategoryColumn):
            levels = [*column.levels, *column.rare]
            own = {"n_own": len(column.levels), "pooled": bool(column.rare)}
            return {"levels": levels, "shares": list(column.shares)} | own
        if isinstance(column, ManyLevelsColumn):
            kept = {"levels": [column.levels[i] for i in self.places]}
            effects = [list(column.effects[i]) for i in self.places]
            return kept | {"effects": effects, "n_levels": len(column.levels)}
        return {"n_inputs": column.n_inputs}

    def _number(self, column: NumberColumn) -> Record:
        unit, factor = "", 1.0
        if column.kind == "duration":
            typical = float(np.median(np.abs(self.known)))
            unit, factor = next(
                (name, size) for name, size, most in _UNITS if typical < most or not most
            )
        values = self.known / factor
        own = {"mean": column.mean, "std": column.std, "unit": unit, "factor": factor}
        if isinstance(column, LogNumberColumn):
            own["log_unit"] = column.log_unit
        return own | slider(values, whole=bool((values == np.rint(values)).all()))

    def _date(self, column: DateColumn) -> Record:
        form = "time" if column.written in TIMES_OF_DAY else "date"
        if form == "date" and (self.known % 1 != 0).any():
            form = "datetime-local"
        own = {"form": form, "parts": list(column.parts), "mean": column.mean, "std": column.std}
        least = {"time": 1 / 288, "date": 1.0, "datetime-local": 1 / 24}[form]
        low, high = _ends(self.known)
        low, high = math.floor(low / least) * least, math.ceil(high / least) * least
        step = least * max(1, round((high - low) / N_STEPS / least))
        return own | {"low": low, "high": max(high, low + least), "step": step}


def slider(values: Matrix, *, whole: bool) -> Record:
    """Ends and step of a slider for numbers like these (n,): round numbers that hold 98 %."""
    low, high = _ends(values)
    wanted = (high - low) / N_STEPS
    power = 10.0 ** math.floor(math.log10(wanted))
    step = next(size * power for size in (1, 2, 5, 10) if size * power >= 0.999 * wanted)
    step = max(1.0, round(step)) if whole else step
    digits = max(0, -math.floor(math.log10(step)))
    low, high = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
    return {"low": round(low, digits), "high": round(high, digits), "step": round(step, digits)}


def typical(column: Column, numbers: Matrix) -> Matrix:
    """The commonest level, or the lower median of each number of a column (n,)."""
    known = numbers[np.isfinite(numbers[:, 0])]
    if column.of_levels:
        return np.array([np.bincount(known[:, 0].astype(np.int64)).argmax()], dtype=np.float64)
    found: Matrix = np.quantile(known, 0.5, axis=0, method="lower")
    return found


def _ends(values: Matrix) -> tuple[float, float]:
    """Between them are 98 % of the values; they differ."""
    low, high = np.quantile(values, _ENDS).tolist()
    if low == high:
        low, high = float(values.min()), float(values.max())
    room = 0.0 if low < high else max(abs(low), 1.0)
    return low - room, high + room


def _places(column: Column, numbers: Matrix, shown: Matrix) -> dict[int, int]:
    """Where each level is among those of the page: all, or of many the commonest."""
    if not column.of_levels:
        return {}
    if not isinstance(column, ManyLevelsColumn):
        levels = cast(CategoryColumn, column)
        return {i: i for i in range(len(levels.levels) + len(levels.rare))}
    codes, present = numbers[:, 0], shown[shown[:, 0] >= 0, 0].astype(np.int64)
    counted = np.bincount(codes[codes >= 0].astype(np.int64), minlength=len(column.levels))
    most = min(MOST_LEVELS, MOST_EFFECTS // column.n_inputs)
    commonest = np.argsort(-counted, kind="stable")[:most]
    return {int(level): i for i, level in enumerate(np.union1d(commonest, present))}


def _is_known(numbers: Matrix) -> bool:
    return bool(np.isfinite(numbers[0]))
