"""Categorical columns: one input per level, and one for all rare ones.

A missing value takes the shares of the levels in training. A level that training had not counts as
a rare one where there are some, else as missing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from pmcnet.estimators.columns.base import UNSEEN, Column, Matrix
from pmcnet.estimators.columns.given import Given
from pmcnet.estimators.columns.level_codes import counts, level_codes
from pmcnet.io.schema import Form, listing, number, text


@dataclass(frozen=True, kw_only=True)
class CategoryColumn(Column):
    """A categorical column.

    Args:
        levels: those with an input of their own, sorted.
        rare: those that share the last input, sorted.
        shares: of the rows that are not missing, for each input.
    """

    levels: tuple[str, ...]
    rare: tuple[str, ...] = ()
    shares: tuple[float, ...] = ()

    kind: ClassVar[str] = "category"
    of_levels: ClassVar[bool] = True
    forms: ClassVar[Mapping[str, Form]] = {
        "levels": listing(text()),
        "rare": listing(text()),
        "shares": listing(number(0, 1)),
    }

    @property
    def n_inputs(self) -> int:
        """One per level, one for the rare ones."""
        return max(1, len(self.levels) + bool(self.rare))

    @property
    def described(self) -> str:
        """Its levels."""
        words = f"{len(self.levels) + len(self.rare)} levels"
        return f"{words}, {len(self.rare)} rare ones together" if self.rare else words

    def numbers(self, given: Given, first_row: int) -> Matrix:
        """The place of each level, among `levels`, then `rare` (N, 1)."""
        return level_codes(given, (*self.levels, *self.rare))

    def learned(self, numbers: Matrix, weight: Matrix, y: Matrix) -> Self:
        """Their shares."""
        n_own = len(self.levels)
        each = counts(numbers[:, 0], weight, n_own + len(self.rare))
        if self.rare:
            each = np.append(each[:n_own], each[n_own:].sum())
        return replace(self, shares=tuple((each / each.sum()).tolist()))

    def inputs(self, numbers: Matrix) -> Matrix:
        """Indicators (N, n_inputs)."""
        n, n_own = self.n_inputs, len(self.levels)
        # one row per input, and one for a missing value, which takes the average
        table = np.vstack([np.eye(n), np.array(self.shares)])
        codes = numbers[:, 0]
        codes = np.where(codes == UNSEEN, n_own if self.rare else np.nan, np.minimum(codes, n_own))
        return table[np.where(np.isnan(codes), n, codes).astype(np.int64)]

    def missing(self, numbers: Matrix) -> NDArray[np.bool_]:
        """Levels that training had not too, unless they count as rare ones."""
        return np.isnan(numbers) if self.rare else ~(numbers >= 0)

    def check(self) -> None:
        """Every input has a share, and no level is there twice."""
        every = (*self.levels, *self.rare)
        if len(set(every)) != len(every) or len(self.shares) != self.n_inputs or not every:
            raise ValueError(f"the levels of column {self.name!r} do not belong together")
