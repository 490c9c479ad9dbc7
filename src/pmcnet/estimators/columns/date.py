"""Columns of dates and times of day: the time that went by, and where in year, week and day it is.

Parts that come round are pairs (sin, cos), so that December is beside January. Only parts that vary
in training become inputs: of dates within a month the year's season says nothing.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from pmcnet.estimators.columns.base import Column, Matrix
from pmcnet.estimators.columns.given import Given, days, is_number
from pmcnet.estimators.columns.missing_words import without_missing_words
from pmcnet.estimators.columns.moments import moments, scaled
from pmcnet.io.schema import Form, listing, number, text

if TYPE_CHECKING:
    from pandas import Series  # type: ignore[import-untyped]

ISO = "ISO8601"
_DATES = ("%d.%m.%Y", "%Y/%m/%d", "%m/%d/%Y", "%d/%m/%Y", "%d-%m-%Y", "%m-%d-%Y", "%d.%m.%y")
_SHORT = ("%m/%d/%y", "%d/%m/%y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%d-%b-%Y")
_CLOCKS = ("%H:%M", "%H:%M:%S", "%I:%M %p", "%I:%M:%S %p")
TIMES_OF_DAY = ("%H:%M", "%H:%M:%S", "%H:%M:%S.%f", "%I:%M %p", "%I:%M:%S %p")
FORMATS = (
    ISO,
    *_DATES,
    *_SHORT,
    *(f"{date} {clock}" for date in (*_DATES, *_SHORT) for clock in _CLOCKS),
    "%Y-%m",
    "%m/%Y",
    "%b %Y",
    "%B %Y",
)
"""Ways of writing a date, in the order in which they are tried: the month before the day where both
are possible."""
_DIGITS = re.compile(r"\d+")
_LONGEST = 40  # characters of a date
_PERIODS = {"season": 365.2425, "weekday": 7.0, "hour": 1.0}  # days
_LEAST_SEASON = 60.0  # days that training rows must span for their season to tell something


@dataclass(frozen=True, kw_only=True)
class DateColumn(Column):
    """Dates, or times of day.

    Args:
        written: the format of strings, as in `strptime`, or `ISO`.
        parts: what becomes inputs: "elapsed", "season", "weekday", "hour".
        mean: of the days since 1970.
        std: of the same.
    """

    written: str = ISO
    parts: tuple[str, ...] = ("elapsed",)
    mean: float = 0.0
    std: float = 1.0

    kind: ClassVar[str] = "date"
    forms: ClassVar[Mapping[str, Form]] = {
        "written": text(ISO, *FORMATS, *TIMES_OF_DAY),
        "parts": listing(text("elapsed", *_PERIODS), 1),
        "mean": number(),
        "std": number(),
    }

    @property
    def n_inputs(self) -> int:
        """One for the time that went by, two for each part that comes round."""
        return sum(1 if part == "elapsed" else 2 for part in self.parts)

    @property
    def described(self) -> str:
        """Its parts."""
        return ", ".join(self.parts)

    def numbers(self, given: Given, first_row: int) -> Matrix:
        """Days since 1970 (N, 1)."""
        if given.form in ("dates", "durations"):
            return given.values[:, None]
        return self.read(given.strings, lambda s: days_of(s, self.written), first_row)

    def learned(self, numbers: Matrix, weight: Matrix, y: Matrix) -> Self:
        """The parts that vary, average and standard deviation."""
        mean, std = moments(numbers, ~np.isnan(numbers) * weight[:, None])
        known = numbers[~np.isnan(numbers[:, 0]) & (weight > 0), 0]
        if self.written in TIMES_OF_DAY:
            return replace(self, parts=("hour",), mean=float(mean[0]), std=float(std[0]))
        varies = {
            "season": np.ptp(known) >= _LEAST_SEASON,
            "weekday": len(np.unique(np.floor(known) % _PERIODS["weekday"])) > 1,
            "hour": len(np.unique(known % _PERIODS["hour"])) > 1,
        }
        parts = [part for part, does in varies.items() if does]
        return replace(self, parts=("elapsed", *parts), mean=float(mean[0]), std=float(std[0]))

    def inputs(self, numbers: Matrix) -> Matrix:
        """Standardised days and pairs on the circle; 0 where missing (N, n_inputs)."""
        found, numbers = [], np.where(np.isfinite(numbers), numbers, np.nan)
        for part in self.parts:
            if part == "elapsed":
                found.append(scaled(numbers, self.mean, self.std))
            else:
                angle = 2 * np.pi * numbers / _PERIODS[part]
                found += [np.sin(angle), np.cos(angle)]
        return np.where(np.isnan(numbers), 0.0, np.hstack(found))

    def check(self) -> None:
        """One must be able to divide by the standard deviation."""
        if not self.std > 0 or len(set(self.parts)) != len(self.parts):
            raise ValueError(f"the parts of column {self.name!r} do not belong together")


def written_as(strings: NDArray[Any]) -> str | None:
    """The format of all strings that are not missing, if they are dates or times of day."""
    spared = without_missing_words(strings)
    present = list({cell for cell in spared.tolist() if cell is not None})
    if not present or not all(_looks_like_a_date(cell) for cell in present):
        return None
    cells = np.array(present, dtype=object)
    formats = TIMES_OF_DAY if ":" in present[0][:3] else FORMATS
    return next((each for each in formats if not np.isnan(_parsed(cells, each)).any()), None)


def days_of(strings: NDArray[Any], written: str) -> Matrix:
    """Days since 1970 (N,): of ISO dates too, whatever the format; not-a-number where neither."""
    found = _parsed(strings, written)
    if written == ISO or not np.isnan(found).any():
        return found
    return np.where(np.isnan(found), _parsed(strings, ISO), found)


def _looks_like_a_date(cell: str) -> bool:
    """Whether it is short and has digits apart from each other; numbers are none."""
    short = len(cell) <= _LONGEST and not is_number(cell)
    return short and len(_DIGITS.findall(cell)) >= 2


def _parsed(strings: NDArray[Any], written: str) -> Matrix:
    import pandas as pd

    times: Series = pd.to_datetime(
        pd.Series(strings, dtype=object), format=written, errors="coerce", utc=True
    )
    found = days(times.dt.tz_localize(None).to_numpy())
    return found % 1.0 if written in TIMES_OF_DAY else found  # pandas puts them on a day of 1900
