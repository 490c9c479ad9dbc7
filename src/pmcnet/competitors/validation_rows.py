"""Rows that boosting keeps apart to choose its number of trees by."""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from pmcnet.competitors.base import Array

PARTS = 10
"""One in so many rows is kept apart."""


class ValidationRows(NamedTuple):
    """Positions of the rows to fit, and of those kept apart."""

    fitted: NDArray[np.int64]
    kept: NDArray[np.int64]

    @classmethod
    def of_numbers(cls, n_rows: int, n_kept: int) -> Self:
        """So many rows at random."""
        order = np.random.default_rng(0).permutation(n_rows)
        return cls(order[n_kept:], order[:n_kept])

    @classmethod
    def of_classes(cls, y: Array, n_kept: int) -> Self:
        """So many rows at random, and of every class one that is not among them."""
        order = np.random.default_rng(0).permutation(len(y))
        first = np.unique(y[order], return_index=True)[1]
        kept = np.delete(order, first)[:n_kept]
        return cls(np.setdiff1d(order, kept), kept)


def n_kept(n_rows: int, validated: bool) -> int:
    """How many rows are kept apart: a tenth, or none."""
    return n_rows // PARTS if validated else 0
