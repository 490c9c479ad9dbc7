"""How good a fitted model is on rows it has not seen: averaged prediction and single draws, as `metrics.json` has them.

`bma` (Bayesian model average) is the metric of the averaged prediction. `per_draw` is the
distribution of the metric over networks drawn from the posterior: a credible interval for how good
one such network is.
"""

import math
import time
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pmcnet import metrics
from pmcnet.errors import InputError
from pmcnet.estimators import PMCNetClassifier, PMCNetRegressor
from pmcnet.runs import figure_data

Model = PMCNetClassifier | PMCNetRegressor
Record = dict[str, Any]

BETTER_LOWER = ("nll", "brier", "ece", "mse", "rmse", "mae", "crps")
N_SHOWN = 10
N_HISTOGRAMS = 6
N_SCATTER = 1000
COVERAGE = 0.9
_SAMPLES = 200  # draws of y behind CRPS and histograms


class Scored(NamedTuple):
    """`bma` and `per_draw` metrics, the data of the figures, and the seconds that predicting took."""

    bma: dict[str, float | None]
    per_draw: dict[str, Record]
    figures: Record
    seconds: float


def score(model: Model, x: Any, y: NDArray[Any], *, n_passes: int, seed: int) -> Scored:
    """Predict rows whose truth is known and compare."""
    if isinstance(model, PMCNetClassifier):
        return _classes(model, x, y, n_passes, seed)
    return _numbers(model, x, np.asarray(y, dtype=np.float64), n_passes, seed)


def _classes(model: PMCNetClassifier, x: Any, y: NDArray[Any], n_passes: int, seed: int) -> Scored:
    label = class_labels(model, y)
    start = time.monotonic()
    average = torch.as_tensor(model.predict_proba(x))  # (N, C)
    seconds = time.monotonic() - start
    draws = torch.as_tensor(model.predict_draws(x, n_passes, seed))  # (R, N, C)
    each, bma = _class_metrics(draws, label), _class_metrics(average, label)
    uncertainty = model.uncertainty(x)
    order = np.argsort(-uncertainty.total, kind="stable")[:N_SHOWN]
    best = average.argmax(-1)
    names = [str(name) for name in model.classes_]
    figures: Record = {
        "roc": figure_data.roc_bands(draws, label),
        "calibration": figure_data.reliability(average, label),
        "confusion": metrics.confusion_matrix(draws, label).double().mean(0).tolist(),
        "histograms": figure_data.row_histograms(draws, label, n_rows=N_HISTOGRAMS),
        "uncertain": [
            {
                "row": int(n),
                "prediction": names[int(best[n])],
                "truth": names[int(label[n])],
                "probability": float(average[n].max()),
                "total": float(uncertainty.total[n]),
                "aleatoric": float(uncertainty.aleatoric[n]),
                "epistemic": float(uncertainty.epistemic[n]),
            }
            for n in order
        ],
    }
    return Scored(_finite(bma), _summaries(each), figures, seconds)


def _class_metrics(probability: Tensor, label: Tensor) -> dict[str, Tensor]:
    """All metrics; those about ranks only where rows of at least two classes are there."""
    n_seen = len(set(label.tolist()))
    if probability.shape[-1] == 2:
        found = metrics.binary_metrics(probability, label, positive=1) if n_seen > 1 else {}
    else:
        found = (
            metrics.multiclass_metrics(probability, label)
            if n_seen == probability.shape[-1]
            else {}
        )
    always = {
        "accuracy": metrics.accuracy(probability, label),
        "nll": metrics.nll(probability, label),
        "brier": metrics.brier(probability, label),
        "ece": metrics.ece(probability, label),
    }
    return always | found


def _numbers(
    model: PMCNetRegressor, x: Any, y: NDArray[np.float64], n_passes: int, seed: int
) -> Scored:
    start = time.monotonic()
    mean, std = model.predict(x, return_std=True)
    interval = model.predict_interval(x, COVERAGE)
    seconds = time.monotonic() - start
    target = torch.as_tensor(y)
    draws = torch.as_tensor(model.predict_draws(x, n_passes, seed))  # (R, N)
    samples = torch.as_tensor(model.sample_y(x, _SAMPLES, seed)).mT.contiguous()  # (S, N)
    total = float(((target - target.mean()) ** 2).mean()) or math.nan
    each = metrics.regression_metrics(draws, target)
    each["r2"] = 1 - each["mse"] / total
    bma = metrics.regression_metrics(torch.as_tensor(mean), target)
    bma["r2"] = 1 - bma["mse"] / total
    bma["mae"] = (torch.as_tensor(mean) - target).abs().mean()
    bma["nll"] = torch.tensor(-float(np.mean(model.log_predictive(x, y))))
    bma["crps"] = metrics.crps(samples, target)
    ends = torch.as_tensor(interval).mT
    bma["coverage90"] = metrics.coverage(ends, target)
    uncertainty = model.uncertainty(x)
    order = np.argsort(-std, kind="stable")[:N_SHOWN]
    shown = figure_data.spread_rows(torch.as_tensor(std), N_HISTOGRAMS)
    figures: Record = {
        "calibration": figure_data.coverage_curve((samples <= target).double().mean(0)),
        "scatter": [
            {
                "row": n,
                "y": float(y[n]),
                "mean": float(mean[n]),
                "low": float(interval[n, 0]),
                "high": float(interval[n, 1]),
            }
            for n in range(min(len(y), N_SCATTER))
        ],
        "scatter_coverage": COVERAGE,
        "histograms": [
            {"row": n, "y": float(y[n]), "draws": samples[:, n].tolist()} for n in shown
        ],
        "uncertain": [
            {
                "row": int(n),
                "prediction": float(mean[n]),
                "truth": float(y[n]),
                "std": float(std[n]),
                "low": float(interval[n, 0]),
                "high": float(interval[n, 1]),
                "aleatoric": float(np.sqrt(uncertainty.aleatoric[n])),
                "epistemic": float(np.sqrt(uncertainty.epistemic[n])),
            }
            for n in order
        ],
    }
    return Scored(_finite(bma), _summaries(each), figures, seconds)


def class_labels(model: PMCNetClassifier, y: NDArray[Any]) -> Tensor:
    """The position of each row's class among the model's (N,)."""
    known, given = model.classes_, np.asarray(y)
    if (
        known.dtype.kind not in "biuf" or given.dtype.kind not in "biuf"
    ):  # else 1 and 1.0 are the same class
        known, given = known.astype(str), given.astype(str)
    unknown = np.setdiff1d(given, known)
    if len(unknown):
        row = int(np.flatnonzero(given == unknown[0])[0]) + 1
        raise InputError(
            f"the target has the class {str(unknown[0])!r} in row {row}, which no training row "
            "had; known are "
            f"{', '.join(map(str, known))}. Correct or drop that row."
        )
    order = np.argsort(known)
    return torch.as_tensor(order[np.searchsorted(known[order], given)])


def _finite(values: dict[str, Tensor]) -> dict[str, float | None]:
    return {name: figure_data.finite(float(value)) for name, value in values.items()}


def _summaries(values: dict[str, Tensor]) -> dict[str, Record]:
    found = {}
    for name, value in values.items():
        if bool(value.isfinite().all()):
            found[name] = metrics.summarise(value)._asdict()
    return found
