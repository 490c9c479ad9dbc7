"""Rows of a table whose target is known: those of a fit, or of its test."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pmcnet.estimators.evaluation.second_column import NO_COLUMN, SecondColumn


class KnownTable(NamedTuple):
    """Rows of a table whose target is known, and where they are in it."""

    x: Any  # a table of pandas
    y: NDArray[Any]
    second: SecondColumn = NO_COLUMN
    numbers: NDArray[np.int64] | None = None  # as the page calls them
    seen: bool = False  # by the fit

    def few(self, most: int, seed: int) -> "KnownTable":
        """At most so many of them, drawn at random."""
        n = len(self.y)
        if n <= most:
            return self
        chosen = np.sort(np.random.default_rng(seed).choice(n, most, replace=False))
        numbers = None if self.numbers is None else self.numbers[chosen]
        second = self.second.at(chosen)
        return KnownTable(self.x.iloc[chosen], self.y[chosen], second, numbers, self.seen)
