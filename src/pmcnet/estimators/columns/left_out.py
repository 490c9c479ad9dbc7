"""Columns that are left out of a model, and why: empty, constant, identifying or repeated."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pmcnet.estimators.columns.base import Column, Matrix
from pmcnet.estimators.columns.given import Given
from pmcnet.estimators.columns.inference import FEW_ROWS, is_identifier
from pmcnet.estimators.columns.moments import moments, scaled
from pmcnet.estimators.columns.number import NumberColumn

_DIGITS = 6  # to which standardised columns agree that are the same in other units


class LeftOut(NamedTuple):
    """A column of the training table that the model does without."""

    name: str
    why: str


def is_empty(given: Given) -> bool:
    """Whether every cell is missing."""
    if given.form == "strings":
        return all(cell is None for cell in given.values)
    return bool(np.isnan(given.values).all())


def reason(given: Given, column: Column | None, numbers: Matrix) -> str:
    """Why the model does without a column, empty where it does not.

    Args:
        given: its cells.
        column: as it was inferred, None where every cell is missing.
        numbers: its cells as numbers (N, n).
    """
    if column is None:
        return "it has no values"
    missing = np.isnan(numbers[:, 0])
    if not missing.any() and (numbers == numbers[0]).all():
        return "it is constant"
    if is_identifier(given, column):
        return "it is an identifier: its cells name the rows"
    return ""


def repeated(columns: Sequence[Column], numbers: Sequence[Matrix]) -> list[str | None]:
    """For each column the earlier one that it repeats, if any: numbers in other units too."""
    if not numbers or len(numbers[0]) < FEW_ROWS:  # a few rows are alike by chance
        return [None] * len(columns)
    seen: dict[bytes, str] = {}
    found: list[str | None] = []
    for column, values in zip(columns, numbers, strict=True):
        found.append(seen.setdefault(_signature(column, values), column.name))
        if found[-1] == column.name:
            found[-1] = None
    return found


def _signature(column: Column, numbers: Matrix) -> bytes:
    """Equal where two columns say the same."""
    known = ~np.isnan(numbers)
    if type(column) is not NumberColumn:
        return column.kind.encode() + numbers.tobytes()
    mean, std = moments(numbers, known.astype(np.float64))
    unit = np.where(known, scaled(numbers, mean, std), np.inf)
    first = unit[np.flatnonzero(known[:, 0])[0], 0]
    rounded = np.round(unit * (np.sign(first) or 1.0), _DIGITS) + 0.0
    return b"number" + rounded.tobytes()
