"""How good predictions are: what both tasks share of `metrics.json` and of the page's figures.

`bma` (Bayesian model average) is the metric of the averaged prediction. `per_draw` is the
distribution of the metric over networks drawn from the posterior: a credible interval for how good
one such network is.
"""

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pmcnet import metrics
from pmcnet.errors import InputError
from pmcnet.estimators.classifier import PMCNetClassifier
from pmcnet.estimators.evaluation.figure_data import finite
from pmcnet.estimators.regressor import PMCNetRegressor

Model = PMCNetClassifier | PMCNetRegressor
Record = dict[str, Any]

OBSERVED = "_observed"
"""Ends the names of metrics that are about rows whose event was observed, and not about all."""
_ERRORS = ("mse", "rmse", "mae")
BETTER_LOWER = (
    "nll",
    "brier",
    "ece",
    "crps",
    "pinball",
    *_ERRORS,
    *(name + OBSERVED for name in _ERRORS),
)
N_SHOWN = 10  # of the most uncertain rows
N_HISTOGRAMS = 6


class Scores(NamedTuple):
    """`bma` and `per_draw` metrics, the data of the figures, and the seconds of the prediction."""

    bma: dict[str, float | None]
    per_draw: dict[str, Record]
    figures: Record
    seconds: float


def scored(
    bma: dict[str, Tensor], per_draw: dict[str, Tensor], figures: Record, seconds: float
) -> Scores:
    """Metrics as JSON has them: infinite ones are null, or left out of `per_draw`.

    Args:
        bma: metrics of the averaged prediction, each ().
        per_draw: metrics of single draws, each (R,).
        figures: what the page draws.
        seconds: time that the averaged prediction took.
    """
    summaries = {
        name: metrics.summarise(value)._asdict()
        for name, value in per_draw.items()
        if bool(value.isfinite().all())
    }
    averaged = {name: finite(float(value)) for name, value in bma.items()}
    return Scores(averaged, summaries, figures, seconds)


def class_labels(model: PMCNetClassifier, y: NDArray[Any]) -> Tensor:
    """The position of each row's class among the model's (N,)."""
    known, given = model.classes_, np.asarray(y)
    if known.dtype.kind not in "biuf" or given.dtype.kind not in "biuf":
        known, given = known.astype(str), given.astype(str)  # of numbers, 1 and 1.0 are one class
    unknown = np.setdiff1d(given, known)
    if len(unknown):
        row = int(np.flatnonzero(given == unknown[0])[0]) + 1
        raise InputError(
            f"the target has the class {str(unknown[0])!r} in row {row}, which no training row "
            f"had; known are {', '.join(map(str, known))}. Correct or drop that row."
        )
    order = np.argsort(known)
    return torch.as_tensor(order[np.searchsorted(known[order], given)])
