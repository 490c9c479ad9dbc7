"""Residuals, and whether they depend on what is predicted or on a feature.

A residual is y minus its mean, in standard deviations of the prediction, noise included. Rows are
put in bins along the prediction and along each feature. Where the model is right, residuals have
the same mean and the same size in every bin.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats  # type: ignore[import-untyped]

from pmcnet.estimators.checks.check_rows import CheckRows
from pmcnet.estimators.columns import Column, Matrix
from pmcnet.estimators.encoding import TableEncoder
from pmcnet.estimators.input_rows import checked_rows
from pmcnet.estimators.predictions import Array

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]

    from pmcnet.estimators.base import PMCNetEstimator

PREDICTION = "prediction"
SIGNIFICANT = 0.01
"""Of all trends together: a p-value counts where it is below this over their number."""
_MOST_BINS, _PER_BIN = 8, 10
_FEWEST = 5  # rows of a level that is a bin of its own


class Against(NamedTuple):
    """What residuals are seen against: a prediction or a feature.

    `values` (n,) are numbers, not-a-number where missing, or places of `levels`.
    """

    name: str
    values: Array
    levels: tuple[str, ...] = ()

    @property
    def bins(self) -> NDArray[np.int64]:
        """The bin of each row (n,), -1 where it is in none."""
        known = np.isfinite(self.values) & (self.values >= 0 if self.levels else True)
        found = np.full(len(self.values), -1)
        if self.levels:
            _, place, n = np.unique(self.values[known], return_inverse=True, return_counts=True)
            found[known] = np.where(n[place] >= _FEWEST, place, -1)
            return found
        n_bins = int(np.clip(known.sum() // _PER_BIN, 1, _MOST_BINS))
        edges = np.unique(np.quantile(self.values[known], np.linspace(0, 1, n_bins + 1)[1:-1]))
        found[known] = np.searchsorted(edges, self.values[known], side="right")
        if (~known).sum() >= _FEWEST:
            found[~known] = len(edges) + 1
        return found


class Trend(NamedTuple):
    """Of residuals against something: p-values that their mean, or size, is the same in all bins.

    Not-a-number where there are fewer than two bins.
    """

    name: str
    mean: float
    spread: float

    @property
    def least(self) -> float:
        """The smaller one; 1 where there is none."""
        return float(np.nan_to_num(np.array([self.mean, self.spread]), nan=1.0).min())


@dataclass(frozen=True, eq=False)
class Residuals:
    """Of rows whose response is known.

    Args:
        row: positions (n,), from 0.
        y: observed (n,).
        prediction: mean of y (n,).
        std: of y under the prediction, noise included (n,).
        against: the prediction and each feature, at these rows.
    """

    row: NDArray[np.int64]
    y: Array
    prediction: Array
    std: Array
    against: tuple[Against, ...]

    @property
    def standardised(self) -> Array:
        """(y - prediction) / std (n,)."""
        return (self.y - self.prediction) / self.std

    @property
    def frame(self) -> "DataFrame":
        """One line for each row: row, y, prediction, std, residual, standardised."""
        from pandas import DataFrame

        known = {"row": self.row, "y": self.y, "prediction": self.prediction, "std": self.std}
        more = {"residual": self.y - self.prediction, "standardised": self.standardised}
        return DataFrame(known | more)

    @property
    def tested(self) -> list[Trend]:
        """The trends against all of them, the clearest first."""
        found = [_trend(each, self.standardised) for each in self.against]
        return sorted(found, key=lambda trend: trend.least)

    @property
    def trends(self) -> "DataFrame":
        """One line for each of `tested`; `clear` where chance would hardly give as much."""
        from pandas import DataFrame

        found = self.tested
        limit = SIGNIFICANT / max(1, len(found))
        lines = [(*trend, trend.least < limit) for trend in found]
        return DataFrame(lines, columns=["against", "p_mean", "p_spread", "clear"])


def residuals(model: "PMCNetEstimator", rows: CheckRows, X: Any) -> Residuals:
    """Those of rows, against each column of the table that is numbers or levels.

    Args:
        model: fitted, of numbers.
        rows: to check; censored ones are left out.
        X: the table that they are rows of.
    """
    rows = rows.at(np.flatnonzero(rows.observed))
    found = model.predictive(rows.rows)
    prediction = found.mean[:, 0]
    against = (Against(PREDICTION, prediction), *features(model, X, rows.place))
    return Residuals(rows.place, rows.y, prediction, np.sqrt(found.total), against)


def features(model: "PMCNetEstimator", X: Any, place: NDArray[np.int64]) -> list[Against]:
    """The columns of a table that are numbers or levels, at some rows."""
    encoder = model.encoder_
    if not isinstance(encoder, TableEncoder) or X is None:
        return []
    numbers = encoder.rows(checked_rows(model, X, reset=False))[place]
    columns = encoder.columns
    parts = zip(columns.columns, columns.slices, strict=True)
    return [_against(column, numbers[:, part]) for column, part in parts if column.n_numbers == 1]


def _against(column: Column, numbers: Matrix) -> Against:
    levels: tuple[str, ...] = ()
    if column.of_levels:
        levels = (*getattr(column, "levels", ()), *getattr(column, "rare", ()))
    return Against(column.name, numbers[:, 0], levels)


def _trend(against: Against, residual: Array) -> Trend:
    """Analyses of variance of residuals, and of their sizes, by bin."""
    bins = against.bins
    groups = [residual[bins == each] for each in np.unique(bins[bins >= 0])]
    groups = [group for group in groups if len(group) > 1]
    if len(groups) < 2:
        return Trend(against.name, np.nan, np.nan)
    spread = [np.abs(group - group.mean()) for group in groups]
    return Trend(against.name, _p_value(groups), _p_value(spread))


def _p_value(groups: list[Array]) -> float:
    inside = sum(float(np.square(group - group.mean()).sum()) for group in groups)
    return float(stats.f_oneway(*groups).pvalue) if inside > 0 else np.nan
