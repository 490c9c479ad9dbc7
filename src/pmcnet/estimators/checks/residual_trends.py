"""Residuals, and whether they depend on what is predicted or on a feature.

A residual is y minus its mean, in standard deviations of the prediction, noise included. Rows are
put in bins along the prediction and along each feature, and an analysis of variance says whether
residuals, or their sizes, differ from bin to bin. They may, also where the model is right: all rows
share the error of the network that was learned. So each trend is compared with the clearest one of
each replicate of the data, which each has such an error.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats  # type: ignore[import-untyped]

from pmcnet.estimators.checks.check_rows import CheckRows
from pmcnet.estimators.checks.predictive_checks import N_REPLICATES, predictive_check
from pmcnet.estimators.columns import Column, Matrix
from pmcnet.estimators.encoding import TableEncoder
from pmcnet.estimators.input_rows import checked_rows
from pmcnet.estimators.predictions import Array

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]

    from pmcnet.estimators.base import PMCNetEstimator

PREDICTION = "prediction"
SIGNIFICANT = 0.01
"""The share of replicates with a trend as clear, below which it is called so."""
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


@dataclass(frozen=True, eq=False)
class Residuals:
    """Of rows whose response is known.

    Args:
        row: positions (n,), from 0.
        y: observed (n,).
        prediction: mean of y (n,).
        std: of y under the prediction, noise included (n,).
        against: the prediction and each feature, at these rows.
        replicated: draws of y of these rows (S, n).
    """

    row: NDArray[np.int64]
    y: Array
    prediction: Array
    std: Array
    against: tuple[Against, ...]
    replicated: Array

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
    def trends(self) -> "DataFrame":
        """One line for the prediction and each feature, the clearest trend first.

        `p_mean` and `p_spread` are those of analyses of variance; `p_value` is the share of
        replicates that have as clear a trend against anything, and `clear` whether that is rare.
        """
        from pandas import DataFrame

        each = np.concatenate([self.y[None], self.replicated])
        each = (each - self.prediction) / self.std  # (1 + S, n)
        found = np.stack([_p_values(each, one.bins) for one in self.against])  # (A, 2, 1 + S)
        least = found.min(1)  # (A, 1 + S)
        share = (least.min(0) <= least[:, :1]).mean(1)  # (A,), the observed is one of them
        columns = {
            "against": [one.name for one in self.against],
            "p_mean": found[:, 0, 0],
            "p_spread": found[:, 1, 0],
            "p_value": share,
            "clear": share < SIGNIFICANT,
        }
        order = np.argsort(least[:, 0], kind="stable")
        return DataFrame(columns).iloc[order].reset_index(drop=True)


def residuals(model: "PMCNetEstimator", rows: CheckRows, X: Any, *, seed: int) -> Residuals:
    """Those of rows, against each column of the table that is numbers or levels.

    Args:
        model: fitted, of numbers.
        rows: to check; censored ones are left out.
        X: the table that they are rows of.
        seed: of the replicates.
    """
    rows = rows.at(np.flatnonzero(rows.observed))
    found = model.predictive(rows.rows)
    prediction = found.mean[:, 0]
    against = (Against(PREDICTION, prediction), *features(model, X, rows.place))
    replicated = predictive_check(model, rows, n_draws=N_REPLICATES, seed=seed).replicated
    return Residuals(rows.place, rows.y, prediction, np.sqrt(found.total), against, replicated)


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


def _p_values(residual: Array, bins: NDArray[np.int64]) -> Array:
    """Of analyses of variance by bin of residuals (R, n), and of their sizes: (2, R).

    They are 1 where there are fewer than two bins of two rows.
    """
    places, n = np.unique(bins[bins >= 0], return_counts=True)
    member = (bins[:, None] == places[n > 1]).astype(np.float64)  # (n, B)
    if member.shape[1] < 2:
        return np.ones((2, len(residual)))
    inside = member.any(1)
    residual, member = residual[:, inside], member[inside]
    mean = residual @ member / member.sum(0)  # (R, B)
    size = np.abs(residual - mean @ member.T)
    return np.stack([_by_bin(residual, member), _by_bin(size, member)])


def _by_bin(values: Array, member: Array) -> Array:
    """P-values that values (R, n) have the same mean in all bins (n, B): (R,)."""
    n, (n_rows, n_bins) = member.sum(0), member.shape
    centred = values - values.mean(1, keepdims=True)
    between = (np.square(centred @ member) / n).sum(1)
    within = np.maximum(np.square(centred).sum(1) - between, 1e-300)
    ratio = between / (n_bins - 1) / (within / max(1, n_rows - n_bins))
    return np.asarray(stats.f.sf(ratio, n_bins - 1, max(1, n_rows - n_bins)))
