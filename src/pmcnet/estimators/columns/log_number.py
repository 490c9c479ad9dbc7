"""Columns of numbers with heavy tails, by their logarithm on either side of zero.

x becomes sign(x) log(1 + |x| / u), with u the geometric mean of the training values, then is
standardised: linear near zero, logarithmic far from it.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import ClassVar, Self, cast

import numpy as np

from pmcnet.estimators.columns.base import Column, Matrix
from pmcnet.estimators.columns.moments import moments, scaled
from pmcnet.estimators.columns.number import NumberColumn
from pmcnet.io.schema import Form, number

_FAR = 4.0
"""Standard deviations from the mean; a tail has values beyond them."""
_FEWEST = 3  # different values; a line goes through two


@dataclass(frozen=True, kw_only=True)
class LogNumberColumn(NumberColumn):
    """Numbers with heavy tails.

    Args:
        log_unit: logarithm of u.
    """

    log_unit: float = 0.0

    kind: ClassVar[str] = "log-number"
    forms: ClassVar[Mapping[str, Form]] = {**NumberColumn.forms, "log_unit": number()}

    @classmethod
    def of(cls, column: NumberColumn) -> Self:
        """A column of numbers by its logarithm."""
        return cls(**{part.name: getattr(column, part.name) for part in fields(column)})

    @property
    def described(self) -> str:
        """Its logarithm."""
        return "1 input, its logarithm"

    def shaped(self, numbers: Matrix) -> Matrix:
        """Sign(x) log(1 + |x| / u)."""
        with np.errstate(divide="ignore", invalid="ignore"):  # of 0, and of gaps
            found: Matrix = np.logaddexp(0.0, np.log(np.abs(numbers)) - self.log_unit)
        return np.sign(numbers) * found

    def with_unit(self, numbers: Matrix, weight: Matrix) -> Self:
        """The column with u of the training rows (N, 1), which count `weight` times (N,)."""
        counted = np.isfinite(numbers[:, 0]) & (numbers[:, 0] != 0)
        if not counted.any():
            return self
        logs = np.log(np.abs(numbers[counted, 0]))
        return replace(self, log_unit=float(np.average(logs, weights=weight[counted])))


def with_tails(
    columns: Sequence[Column],
    parts: Sequence[Matrix],
    weight: Matrix,
    y: Matrix,
    fixed: Collection[str],
) -> tuple[Column, ...]:
    """Columns of numbers with heavy tails by their logarithm, with the units of training rows.

    Args:
        columns: of the model.
        parts: the training rows as numbers, by column (N, n).
        weight: how often each row counts (N,).
        y: the targets (N, C).
        fixed: names of columns whose kind stays.
    """
    found = []
    for column, part in zip(columns, parts, strict=True):
        if column.kind == NumberColumn.kind and column.name not in fixed:
            column = _heavy_tailed(cast(NumberColumn, column), part, weight, y)
        elif isinstance(column, LogNumberColumn):
            column = column.with_unit(part, weight)
        found.append(column)
    return tuple(found)


def _heavy_tailed(column: NumberColumn, numbers: Matrix, weight: Matrix, y: Matrix) -> NumberColumn:
    """The column by its logarithm, if it has a tail and the logarithm is closer to the target.

    Closer means correlated more, in squares summed over the numbers that the target is.
    """
    known = np.isfinite(numbers[:, 0])
    values, counted = numbers[known], weight[known]
    off = _standardised(values, counted)
    farthest = np.abs(off).max()
    if farthest <= _FAR or len(np.unique(values)) < _FEWEST:
        return column
    logged = LogNumberColumn.of(column).with_unit(values, counted)
    weighted = counted[:, None] * _standardised(y[known], counted)  # (n, C)
    plain = np.square(off.T @ weighted).sum()
    if np.square(_standardised(logged.shaped(values), counted).T @ weighted).sum() <= plain:
        return column
    tail = f"values up to {farthest:.2g} standard deviations from the mean; the logarithm is closer"
    return replace(logged, why="; ".join(filter(None, (column.why, f"{tail} to the target"))))


def _standardised(columns: Matrix, weight: Matrix) -> Matrix:
    """In units of their standard deviations (N, C)."""
    return scaled(columns, *moments(columns, np.broadcast_to(weight[:, None], columns.shape)))
