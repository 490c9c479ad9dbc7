"""Columns that are left out of a model, and why: empty, constant or identifying."""

from typing import NamedTuple

import numpy as np

from pmcnet.estimators.columns.base import Column, Matrix
from pmcnet.estimators.columns.given import Given
from pmcnet.estimators.columns.inference import is_identifier

NO_VALUES = "it has no values"


CONSTANT = "it is constant"


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
    if column is None or np.isnan(numbers[:, 0]).all():
        return NO_VALUES
    missing = np.isnan(numbers[:, 0])
    if not missing.any() and (numbers == numbers[0]).all():
        return CONSTANT
    if is_identifier(given, column):
        return "it is an identifier: its cells name the rows"
    return ""
