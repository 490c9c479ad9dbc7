"""Functions drawn from the prior, along one column of the table."""

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from scipy import stats  # type: ignore[import-untyped]

from pmcnet.estimators.checks.check_rows import CheckRows
from pmcnet.estimators.checks.prior_predictive import prior_means, prior_networks
from pmcnet.estimators.columns import Matrix
from pmcnet.estimators.encoding import TableEncoder
from pmcnet.estimators.input_rows import checked_rows
from pmcnet.estimators.predictions import Array, EncodedRows

if TYPE_CHECKING:
    from pmcnet.estimators.base import PMCNetEstimator

N_FUNCTIONS = 10
_N_GRID = 41
_NUMBERS = ("number", "log-number")


def prior_functions(
    model: "PMCNetEstimator", rows: CheckRows, X: Any, seed: int
) -> tuple[str, Array, Array] | None:
    """Name of a column, values of it (G,), and the mean of y there by networks of the prior (R, G).

    The column of numbers that goes best with y; the others are those of a typical row. None where
    there is no such column.

    Args:
        model: fitted.
        rows: whose responses are known.
        X: the table that they are rows of.
        seed: of the networks.
    """
    encoder = model.encoder_
    if not isinstance(encoder, TableEncoder):
        return None
    numbers = encoder.rows(checked_rows(model, X, reset=False))[rows.place]
    columns = zip(encoder.columns.columns, encoder.columns.slices, strict=True)
    ours = [(column.name, part.start) for column, part in columns if column.kind in _NUMBERS]
    ours = [(name, i) for name, i in ours if np.unique(_known(numbers[:, i])).size > 1]
    if not ours:
        return None
    name, place = max(ours, key=lambda one: _association(numbers[:, one[1]], rows.y))
    inputs = encoder.encode(numbers)
    typical = int(np.square(inputs - np.median(inputs, 0)).sum(1).argmin())
    low, high = np.quantile(_known(numbers[:, place]), (0.02, 0.98)).tolist()
    grid = np.linspace(low, high, _N_GRID)
    along = np.repeat(numbers[typical : typical + 1], _N_GRID, 0)
    along[:, place] = grid
    like = rows.rows.inputs
    exposure = rows.rows.log_exposure
    if exposure is not None:
        exposure = exposure.median().expand(_N_GRID)
    encoded = EncodedRows(torch.as_tensor(encoder.encode(along)).to(like), exposure)
    prior, _ = prior_networks(model, rows, N_FUNCTIONS, seed)
    return name, grid, prior_means(model, encoded, prior, N_FUNCTIONS)


def _known(values: Matrix) -> Array:
    return np.asarray(values[np.isfinite(values)])


def _association(values: Matrix, y: Array) -> float:
    """How far the ranks of both go together, 0 to 1."""
    known = np.isfinite(values)
    if known.sum() < 3 or np.ptp(y[known]) == 0 or np.ptp(values[known]) == 0:
        return 0.0
    return float(abs(stats.spearmanr(values[known], y[known]).statistic))
