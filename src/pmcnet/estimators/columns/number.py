"""Columns of numbers, standardised: (x - mean) / std. A missing one takes the average."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from pmcnet.data import Kind
from pmcnet.errors import InputError
from pmcnet.estimators.columns.base import Column, Matrix, check_near
from pmcnet.estimators.columns.given import Given
from pmcnet.estimators.columns.moments import moments, scaled
from pmcnet.estimators.columns.notation import DECIMALS, THOUSANDS, Notation
from pmcnet.io.schema import Form, either, listing, nothing, number, row, text


@dataclass(frozen=True, kw_only=True)
class NumberColumn(Column):
    """Numbers.

    Args:
        words: cells of the training table that are no numbers and count as missing.
        notation: of strings, None where the cells were numbers.
        mean: of the training rows.
        std: of the training rows; 1 where they do not vary.
    """

    words: tuple[str, ...] = ()
    notation: Notation | None = None
    mean: float = 0.0
    std: float = 1.0

    kind: ClassVar[str] = "number"
    forms: ClassVar[Mapping[str, Form]] = {
        "words": listing(text()),
        "notation": either(nothing, row(text(), text(), text("", *THOUSANDS), text(*DECIMALS))),
        "mean": number(),
        "std": number(),
    }

    @property
    def read_as(self) -> Kind:  # type: ignore[override]
        """Numbers, unless some of the cells were strings."""
        return "text" if self.notation else "number"

    @property
    def n_inputs(self) -> int:
        """One."""
        return 1

    def numbers(self, given: Given, first_row: int) -> Matrix:
        """Values (N, 1)."""
        if given.form != "strings":
            return self._finite(given.values, first_row)[:, None]
        strings = given.values.copy()
        strings[np.isin(strings, self.words)] = None
        notation = Notation(*self.notation or ())

        def parsed(cells: NDArray[Any]) -> Matrix:
            each = {cell: notation.value(cell) for cell in cells.tolist() if cell is not None}
            numbers = np.array([each.get(cell) for cell in cells.tolist()], dtype=np.float64)
            return self._finite(numbers, first_row)

        return self.read(strings, parsed, first_row)

    def learned(self, numbers: Matrix, weight: Matrix, y: Matrix) -> Self:
        """Average and standard deviation."""
        mean, std = moments(self.shaped(numbers), np.isfinite(numbers) * weight[:, None])
        return self.with_scale(float(mean[0]), float(std[0]))

    def shaped(self, numbers: Matrix) -> Matrix:
        """What is standardised."""
        return numbers

    def with_scale(self, mean: float, std: float) -> Self:
        """The column with another scale."""
        return replace(self, mean=mean, std=std)

    def inputs(self, numbers: Matrix) -> Matrix:
        """One (N, 1)."""
        known = np.isfinite(numbers)
        shaped = np.where(known, self.shaped(numbers), self.mean)
        found = scaled(shaped, self.mean, self.std)
        check_near(found[:, 0], numbers[:, 0], self.name)
        return found

    def check(self) -> None:
        """One must be able to divide by the standard deviation."""
        if not (np.isfinite([self.mean, self.std]).all() and self.std > 0):
            raise ValueError(
                f"average and standard deviation of column {self.name!r} must be finite, and the "
                "latter positive"
            )

    def _finite(self, values: Matrix, first_row: int) -> Matrix:
        infinite = np.flatnonzero(np.isinf(values))
        if len(infinite):
            raise InputError(
                f"column {self.name!r} has an infinity (inf) in row {infinite[0] + first_row}; "
                "give finite numbers, or leave it empty for missing."
            )
        return values
