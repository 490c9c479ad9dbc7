"""Columns of durations, in seconds, standardised like numbers."""

import re
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pmcnet.data import Kind
from pmcnet.estimators.columns.base import Matrix
from pmcnet.estimators.columns.given import Given
from pmcnet.estimators.columns.missing_words import without_missing_words
from pmcnet.estimators.columns.number import NumberColumn

_DAYS = re.compile(r"-?\d+ days?\b")
_CLOCK = re.compile(r"\d+:[0-5]\d:[0-5]\d(\.\d+)?")


@dataclass(frozen=True, kw_only=True)
class DurationColumn(NumberColumn):
    """Spans of time."""

    kind: ClassVar[str] = "duration"

    @property
    def read_as(self) -> Kind:  # type: ignore[override]
        """Strings."""
        return "text"

    def numbers(self, given: Given, first_row: int) -> Matrix:
        """Seconds (N, 1)."""
        if given.form != "strings":
            return given.values[:, None]
        return self.read(given.values, seconds_of, first_row)


def are_durations(strings: NDArray[Any]) -> bool:
    """Whether all strings that are not missing are like 1 days 02:30:00 or 30:15:00."""
    spared = without_missing_words(strings)
    present = [cell for cell in spared.tolist() if cell is not None]
    written = all(_DAYS.match(cell) or _CLOCK.fullmatch(cell) for cell in present)
    return bool(present) and written and not np.isnan(seconds_of(np.array(present, object))).any()


def seconds_of(strings: NDArray[Any]) -> Matrix:
    """Seconds (N,), not-a-number where missing or something else."""
    import pandas as pd  # type: ignore[import-untyped]

    spans = pd.to_timedelta(pd.Series(strings, dtype=object), errors="coerce")
    return np.asarray(spans.dt.total_seconds(), dtype=np.float64)
