"""A fan: predictive intervals of rows in the order of their prediction, and what was observed."""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from pmcnet.estimators.evaluation.figure_data import Record
from pmcnet.estimators.predictions import Array, EncodedRows
from pmcnet.estimators.regressor import PMCNetRegressor

COVERAGES = {"50": 0.5, "80": 0.8, "95": 0.95}
"""Of the bands, by name."""
LEVELS = [(1 - each) / 2 for each in COVERAGES.values()] + [
    (1 + each) / 2 for each in COVERAGES.values()
]
"""Of their lower ends, then of the upper ones."""
MOST_ROWS = 200
"""Of a fan; of more rows so many are drawn, evenly spaced in their order."""


class QuantileFan(NamedTuple):
    """F rows in the order of their mean, and their quantiles (F, 2 B): lower ends, then upper."""

    rows: NDArray[np.int64]  # (F,) among those that were predicted
    quantiles: Array

    @classmethod
    def of(
        cls, model: PMCNetRegressor, rows: EncodedRows, mean: Array, kept: NDArray[np.bool_]
    ) -> Self:
        """From one pass over the rows that are drawn.

        Args:
            model: fitted.
            rows: N of them.
            mean: predicted for them (N,).
            kept: which of them may be drawn (N,).
        """
        known = np.flatnonzero(kept)
        order = known[np.argsort(mean[known], kind="stable")]
        place = np.linspace(0, len(order) - 1, min(MOST_ROWS, len(order))).round().astype(np.int64)
        chosen = order[place]
        if not len(chosen):
            return cls(chosen, np.empty((0, len(LEVELS))))
        every = len(chosen) == len(mean)  # they have passed before
        quantiles = model.predict_quantiles(rows if every else rows.at(chosen), LEVELS)
        return cls(chosen, quantiles[chosen] if every else quantiles)

    def record(self, truth: Array, mean: Array) -> Record | None:
        """What the page draws; truth and mean are those of all rows (N,). None without rows."""
        if not len(self.rows):
            return None
        lower, upper = np.split(self.quantiles.T, 2)  # (B, F) each
        bands = zip(COVERAGES, lower.tolist(), upper.tolist(), strict=True)
        return {
            "y": truth[self.rows].tolist(),
            "mean": mean[self.rows].tolist(),
            "bands": {name: [low, high] for name, low, high in bands},
        }
