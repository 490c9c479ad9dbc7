"""Levels of a categorical column as numbers: their places in the order of training."""

import numpy as np

from pmcnet.estimators.columns.base import UNSEEN, Matrix
from pmcnet.estimators.columns.given import Given, is_number, plain


def level_codes(given: Given, levels: tuple[str, ...]) -> Matrix:
    """The place of each cell's level (N, 1): `UNSEEN`, or not-a-number where it is missing."""
    place = {_number(level): float(i) for i, level in enumerate(levels)}
    place |= {level: float(i) for i, level in enumerate(levels)}
    cells = given.strings.tolist()
    found = {cell: place.get(cell, place.get(_number(cell), UNSEEN)) for cell in {*cells} - {None}}
    codes = [found.get(cell, np.nan) for cell in cells]
    return np.array(codes, dtype=np.float64).reshape(-1, 1)


def counts(codes: Matrix, weight: Matrix, n_levels: int) -> Matrix:
    """How often each level is there (n_levels,)."""
    known = codes >= 0
    found = np.bincount(codes[known].astype(np.int64), weights=weight[known], minlength=n_levels)
    return found.astype(np.float64)


def _number(level: str) -> str:
    """A level that is a number as numbers are written: 01007 and 1007.0 may be 1007."""
    return plain(float(level)) if is_number(level) else level
