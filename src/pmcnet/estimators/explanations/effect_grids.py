"""Where the effect of a column is asked for: quantiles of numbers, levels, a grid of times."""

from typing import Any, Literal, NamedTuple

import numpy as np

from pmcnet.estimators.columns import Column, Matrix
from pmcnet.estimators.columns.base import UNSEEN
from pmcnet.estimators.columns.category import CategoryColumn
from pmcnet.estimators.columns.date import TIMES_OF_DAY, DateColumn
from pmcnet.estimators.columns.many_levels import ManyLevelsColumn
from pmcnet.estimators.predictions import Array

Scale = Literal["number", "date", "level"]

OTHERS, MISSING = "other levels", "missing"
_ENDS = (0.01, 0.99)
"""Quantiles between which grids lie, so that a far value does not fill the axis."""
_FEW = 3  # different numbers that count as levels
_BINS = 24


class Grid(NamedTuple):
    """Points of a column (m).

    Args:
        numbers: as the column writes its cells (m,), not-a-number where one is missing.
        scale: what they are.
        labels: of levels (m); none of numbers and dates.
        share: of the rows, those nearest to each point (m,).
        counts: of the rows in bins of equal width between the ends; none of levels.
    """

    numbers: Array
    scale: Scale
    labels: tuple[str, ...]
    share: Array
    counts: Array

    @property
    def values(self) -> list[Any]:
        """The points as a table shows them: numbers, times, or levels."""
        if self.scale != "date":
            return list(self.labels) or self.numbers.tolist()
        import pandas as pd  # type: ignore[import-untyped]

        return list(pd.to_datetime(self.numbers, unit="D").round("s"))


def grid_of(column: Column, cells: Matrix, n_points: int) -> Grid | None:
    """The grid of a column; None of text and of columns without values.

    Args:
        column: of the model.
        cells: of rows, as numbers (N, n).
        n_points: m, at most.
    """
    numbers = cells[:, 0]
    known = numbers[np.isfinite(numbers)]
    if cells.shape[1] > 1 or not len(known):
        return None
    if isinstance(column, CategoryColumn | ManyLevelsColumn):
        return _levels(column, numbers, n_points)
    different = np.unique(known)
    if isinstance(column, DateColumn):
        scale: Scale = "number" if column.written in TIMES_OF_DAY else "date"
        first, last = np.quantile(known, _ENDS)
        points: Array = np.linspace(first, last, n_points)
        whole = scale == "date" and "hour" not in column.parts
        return _numeric(known, np.rint(points) if whole else points, scale)
    if len(different) <= _FEW:
        share = np.array([(known == value).mean() for value in different])
        labels = tuple(f"{value:.4g}" for value in different)
        return Grid(different, "level", labels, share, np.empty(0))
    if len(different) > n_points:
        return _numeric(known, np.quantile(known, np.linspace(*_ENDS, n_points)), "number")
    return _numeric(known, different, "number")


def _numeric(known: Array, points: Array, scale: Scale) -> Grid:
    points = np.unique(points)
    if len(points) < 2:  # nearly all rows have one value
        points = np.unique([known.min(), known.max()])
    counts, _ = np.histogram(known, _BINS, range=(points[0], points[-1]))
    middle = (points[1:] + points[:-1]) / 2
    nearest = np.bincount(np.searchsorted(middle, known), minlength=len(points))
    return Grid(points, scale, (), nearest / nearest.sum(), counts.astype(np.float64))


def _levels(column: CategoryColumn | ManyLevelsColumn, codes: Array, n_points: int) -> Grid:
    """The commonest levels in their order, rare ones together, then missing ones."""
    rare = column.rare if isinstance(column, CategoryColumn) else ()
    n_own = len(column.levels)
    codes = np.where(codes == UNSEEN, n_own if rare else np.nan, np.minimum(codes, n_own))
    places = np.where(np.isnan(codes), n_own + 1, codes).astype(np.int64)
    counts = np.bincount(places, minlength=n_own + 2)
    common = np.argsort(-counts, kind="stable")[:n_points]
    kept = np.sort(common[counts[common] > 0])
    labels = np.array([*column.levels, OTHERS, MISSING])[kept]
    numbers = np.where(kept > n_own, np.nan, kept.astype(np.float64))
    share = counts[kept] / len(codes)
    return Grid(numbers, "level", tuple(map(str, labels)), share, np.empty(0))
