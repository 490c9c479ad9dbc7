"""Predictions without a density: a mean, and quantiles at some levels."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from pmcnet.competitors.base import (
    LEVELS,
    Array,
    CompetingModel,
    FittedModel,
    RowPredictions,
    Rows,
)


class QuantileGrid(NamedTuple):
    """The mean (N,) and quantiles (Q, N) at `levels` (Q,), both rising."""

    mean: Array
    levels: Array
    values: Array

    @classmethod
    def sorted(cls, mean: Array, levels: Array, values: Array) -> Self:
        """Of quantiles that were fitted one by one and may cross: each row's are sorted."""
        return cls(mean, levels, np.sort(values, axis=0))

    def tested(self, y: Array, levels: Array) -> RowPredictions:
        """All but a density."""
        return RowPredictions(mean=self.mean, quantiles=self.quantiles(levels))

    def quantiles(self, levels: Array) -> Array:
        """Linear between the levels that are known, constant beyond them (Q, N)."""
        each = [np.interp(levels, self.levels, row) for row in self.values.T]
        return np.stack(each, axis=1)


@dataclass(frozen=True)
class QuantileModel(CompetingModel):
    """A model whose predictions are a mean and quantiles.

    Args:
        levels: of the quantiles.
    """

    levels: tuple[float, ...] = tuple(LEVELS.tolist())


def fitted_quantiles(mean: Any, each: Sequence[Any], levels: Sequence[float]) -> FittedModel:
    """Regressions of scikit-learn's kind: one of the mean, and one of each quantile."""

    def predict(rows: Rows) -> QuantileGrid:
        values = np.stack([model.predict(rows.values) for model in each])
        return QuantileGrid.sorted(mean.predict(rows.values), np.array(levels), values)

    return FittedModel(predict, f"{len(each)} quantile regressions")
