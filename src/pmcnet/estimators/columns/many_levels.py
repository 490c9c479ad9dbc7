"""Columns of many levels: what the target is on average for each level, shrunk to the mean.

A level seen n times with average m of the target counts as (n m + k m0) / (n + k), with m0 the
average of all rows and k the ratio of the variance within levels to that between them, both
estimated (empirical Bayes). A training row must not see its own target through its level, so the
inputs of training rows come from the levels of the other four fifths of the rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from pmcnet.estimators.columns.base import Column, Matrix
from pmcnet.estimators.columns.given import Given
from pmcnet.estimators.columns.level_codes import counts, level_codes
from pmcnet.io.schema import Form, listing, number, text

N_FOLDS = 5


@dataclass(frozen=True, kw_only=True)
class ManyLevelsColumn(Column):
    """A categorical column of many levels.

    Args:
        levels: sorted.
        effects: of each level, for each number that the target is: how far its rows differ from the
            average, in standard deviations of the target.
    """

    levels: tuple[str, ...]
    effects: tuple[tuple[float, ...], ...] = ()

    kind: ClassVar[str] = "many-levels"
    of_levels: ClassVar[bool] = True
    forms: ClassVar[Mapping[str, Form]] = {
        "levels": listing(text()),
        "effects": listing(listing(number())),
    }

    @property
    def n_inputs(self) -> int:
        """One per number that the target is."""
        return len(self.effects[0]) if self.effects else 1

    @property
    def described(self) -> str:
        """Its levels."""
        return f"{len(self.levels)} levels, each by its shrunk average of the target"

    def numbers(self, given: Given, first_row: int) -> Matrix:
        """The place of each level (N, 1)."""
        return level_codes(given, self.levels)

    def learned(self, numbers: Matrix, weight: Matrix, y: Matrix) -> Self:
        """The effects of all training rows."""
        effects = shrunk_effects(numbers[:, 0], weight, y, len(self.levels))
        return replace(self, effects=tuple(map(tuple, effects.tolist())))

    def inputs(self, numbers: Matrix) -> Matrix:
        """The effect of each row's level (N, C), 0 where it is missing or unknown."""
        return _looked_up(np.array(self.effects), numbers[:, 0])

    def training_inputs(self, numbers: Matrix, weight: Matrix, y: Matrix) -> Matrix:
        """Effects from the rows of the other folds (N, C)."""
        codes, fold = numbers[:, 0], np.arange(len(numbers)) % N_FOLDS
        found = np.zeros_like(y)
        for i in range(N_FOLDS):
            own, others = fold == i, weight * (fold != i)
            if own.any() and others.any():
                effects = shrunk_effects(codes, others, y, len(self.levels))
                found[own] = _looked_up(effects, codes[own])
        return found

    def missing(self, numbers: Matrix) -> NDArray[np.bool_]:
        """Levels that training had not too."""
        return ~(numbers >= 0)

    def check(self) -> None:
        """Every level has effects, and none is there twice."""
        widths = {len(effect) for effect in self.effects}
        if len(set(self.levels)) != len(self.levels) or len(self.effects) != len(self.levels):
            raise ValueError(f"the levels of column {self.name!r} do not belong together")
        if len(widths) != 1 or 0 in widths:
            raise ValueError(f"the effects of column {self.name!r} do not belong together")


def shrunk_effects(codes: Matrix, weight: Matrix, y: Matrix, n_levels: int) -> Matrix:
    """Shrunk deviations of the levels from the average, in standard deviations (n_levels, C).

    Args:
        codes: the place of each row's level (N,), not-a-number where it is missing.
        weight: how often each row counts (N,).
        y: targets (N, C).
        n_levels: L.
    """
    total = weight.sum()
    mean = weight @ y / total  # (C,)
    centred = y - mean
    variance = weight @ np.square(centred) / total  # (C,)
    known = codes >= 0
    place, counted = codes[known].astype(np.int64), weight[known]
    n = counts(codes, weight, n_levels)  # (L,)
    sums = np.zeros((n_levels, y.shape[1]))
    np.add.at(sums, place, counted[:, None] * centred[known])
    average = np.divide(sums, n[:, None], out=np.zeros_like(sums), where=n[:, None] > 0)
    within, between = _variances(centred[known], average, place, counted, n)
    k = np.divide(within, between, out=np.full_like(within, np.inf), where=between > 0)  # (C,)
    seen = np.maximum(n[:, None], 1e-300)
    effects: Matrix = seen / (seen + k) * average  # an average is 0 where there are no rows
    unit: Matrix = np.sqrt(np.where(variance > 0, variance, 1.0))
    return effects / unit


def _variances(
    y: Matrix, average: Matrix, place: NDArray[np.int64], weight: Matrix, n: Matrix
) -> tuple[Matrix, Matrix]:
    """Variance within levels and between them (C,), by the moments of a one-way layout."""
    n_seen, total = int((n > 0).sum()), n.sum()
    inside = weight @ np.square(y - average[place])
    within = inside / max(total - n_seen, 1.0)
    size = (total - np.square(n).sum() / total) / max(n_seen - 1, 1)
    overall = n @ average / total
    outside = n @ np.square(average - overall) / max(n_seen - 1, 1)
    between = np.maximum(outside - within, 0.0) / max(size, 1e-300)
    if total <= n_seen:  # no level is there twice: nothing tells levels from noise
        between = np.zeros_like(between)
    return within, between


def _looked_up(effects: Matrix, codes: Matrix) -> Matrix:
    """Of each row's level (N, C)."""
    table = np.vstack([effects, np.zeros(effects.shape[1])])
    return table[np.where(codes >= 0, codes, len(effects)).astype(np.int64)]
