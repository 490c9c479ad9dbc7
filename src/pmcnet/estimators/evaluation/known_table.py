"""Rows of a table whose target is known: those of a fit, or of its test."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing  # type: ignore[import-untyped]

from pmcnet.estimators.evaluation.second_column import NO_COLUMN, SecondColumn


class KnownTable(NamedTuple):
    """Rows of a table whose target is known, and where they are in it."""

    x: Any  # a table, or an array
    y: NDArray[Any]
    second: SecondColumn = NO_COLUMN
    numbers: NDArray[np.int64] | None = None  # as the page calls them
    seen: bool = False  # by the fit

    def few(self, most: int, seed: int) -> "KnownTable":
        """At most so many of them, drawn at random."""
        n = len(self.y)
        if n <= most:
            return self
        return self.at(np.sort(np.random.default_rng(seed).choice(n, most, replace=False)))

    def at(self, rows: NDArray[np.int64]) -> "KnownTable":
        """Those at some positions."""
        numbers = None if self.numbers is None else self.numbers[rows]
        x = _safe_indexing(self.x, rows)
        return KnownTable(x, self.y[rows], self.second.at(rows), numbers, self.seen)

    def number(self, row: int) -> int:
        """Where a row is in its table, from 1."""
        return row + 1 if self.numbers is None else int(self.numbers[row])
