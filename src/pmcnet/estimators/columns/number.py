"""Columns of numbers, standardised: (x - mean) / std. A missing one takes the average."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from pmcnet.data import Kind
from pmcnet.errors import InputError
from pmcnet.estimators.columns.base import Column, Matrix, check_near
from pmcnet.estimators.columns.given import Given, is_number
from pmcnet.estimators.columns.moments import moments, scaled
from pmcnet.io.schema import Form, listing, number, text


@dataclass(frozen=True, kw_only=True)
class NumberColumn(Column):
    """Numbers.

    Args:
        words: cells of the training table that are no numbers and count as missing.
        mean: of the training rows.
        std: of the training rows; 1 where they do not vary.
    """

    words: tuple[str, ...] = ()
    mean: float = 0.0
    std: float = 1.0

    kind: ClassVar[str] = "number"
    forms: ClassVar[Mapping[str, Form]] = {
        "words": listing(text()),
        "mean": number(),
        "std": number(),
    }

    @property
    def read_as(self) -> Kind:  # type: ignore[override]
        """Numbers, unless some of the cells were words."""
        return "text" if self.words else "number"

    @property
    def n_inputs(self) -> int:
        """One."""
        return 1

    def numbers(self, given: Given, first_row: int) -> Matrix:
        """Values (N, 1)."""
        values = given.values
        if given.form == "strings":
            values = self._parsed(given, first_row)
        infinite = np.flatnonzero(np.isinf(values))
        if len(infinite):
            raise InputError(
                f"column {self.name!r} has an infinity (inf) in row {infinite[0] + first_row}; "
                "give finite numbers, or leave it empty for missing."
            )
        return values[:, None]

    def learned(self, numbers: Matrix, weight: Matrix, y: Matrix) -> Self:
        """Average and standard deviation."""
        mean, std = moments(numbers, ~np.isnan(numbers) * weight[:, None])
        return self.with_scale(float(mean[0]), float(std[0]))

    def with_scale(self, mean: float, std: float) -> Self:
        """The column with another scale."""
        return replace(self, mean=mean, std=std)

    def inputs(self, numbers: Matrix) -> Matrix:
        """One (N, 1)."""
        missing = np.isnan(numbers)
        found = np.where(missing, 0.0, scaled(numbers, self.mean, self.std))
        check_near(found[:, 0], numbers[:, 0], self.name)
        return found

    def check(self) -> None:
        """One must be able to divide by the standard deviation."""
        if not (np.isfinite([self.mean, self.std]).all() and self.std > 0):
            raise ValueError(
                f"average and standard deviation of column {self.name!r} must be finite, and the "
                "latter positive"
            )

    def _parsed(self, given: Given, first_row: int) -> Matrix:
        found = np.full(len(given.values), np.nan)
        for row, cell in enumerate(given.values):
            if cell is None or cell in self.words:
                continue
            if not is_number(cell):
                raise InputError(
                    f"column {self.name!r} holds numbers in training, but row {row + first_row} "
                    f"has {cell!r}. Correct it or leave it empty."
                )
            found[row] = float(cell)
        return found
