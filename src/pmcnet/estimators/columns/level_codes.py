"""Levels of a categorical column as numbers: their places in the order of training."""

import numpy as np

from pmcnet.estimators.columns.base import UNSEEN, Matrix
from pmcnet.estimators.columns.given import Given


def level_codes(given: Given, levels: tuple[str, ...]) -> Matrix:
    """The place of each cell's level (N, 1): `UNSEEN`, or not-a-number where it is missing."""
    place = {level: float(i) for i, level in enumerate(levels)}
    codes = [np.nan if cell is None else place.get(cell, UNSEEN) for cell in given.strings]
    return np.array(codes, dtype=np.float64).reshape(-1, 1)


def counts(codes: Matrix, weight: Matrix, n_levels: int) -> Matrix:
    """How often each level is there (n_levels,)."""
    known = codes >= 0
    found = np.bincount(codes[known].astype(np.int64), weights=weight[known], minlength=n_levels)
    return found.astype(np.float64)
