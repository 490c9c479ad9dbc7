"""Scores of a posterior on test rows: Algorithm 2's metrics, the average's, diagnostics."""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from pmcnet import ais, metrics
from pmcnet.bnn import Likelihood, Network, ParticlePosterior
from pmcnet.estimators.evaluation.figure_data import Record, diagnostics, finite
from pmcnet.paper.problem import Problem

_MOST_ERRORS = 500  # of test rows, for figures
PER_DRAW = ("auc", "precision", "recall", "specificity", "accuracy", "f1")


def since(start: float, device: torch.device) -> float:
    """Seconds from `start`, on the monotonic clock, until the device has finished its work."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.monotonic() - start


def milliseconds_per_row(posterior: ParticlePosterior, x: Tensor, n_passes: int) -> float:
    """What R predictions take for one row."""
    start = time.monotonic()
    posterior.draws(x, n_passes=n_passes)
    return 1e3 * since(start, x.device) / len(x)


def class_metrics(probability: Tensor, label: Tensor, positive: int) -> dict[str, Tensor]:
    """The paper's metrics: binary with its positive class, or averaged over classes."""
    if probability.shape[-1] == 2:
        return metrics.binary_metrics(probability, label, positive)
    return metrics.multiclass_metrics(probability, label)


def score(
    posterior: ParticlePosterior,
    x: Tensor,
    y: Tensor,
    *,
    positive: int = 0,
    n_passes: int = 100,
    seed: int = 0,
) -> Record:
    """Everything the tables need.

    Args:
        posterior: weighted networks.
        x: test inputs (N, ...).
        y: test classes (N,).
        positive: the class that precision, recall, specificity and F1 are about; the paper takes
            class 0.
        n_passes: R.
        seed: of the R draws.
    """
    label = y.long()
    draws = posterior.draws(x, n_passes=n_passes, seed=seed)  # (R, N, C)
    each = class_metrics(draws, label, positive)
    average = posterior.predict(x).mean  # (N, C)
    bma = {name: float(value) for name, value in class_metrics(average, label, positive).items()}
    bma |= {
        "nll": float(-posterior.log_predictive(x, y).mean()),
        "ece": float(metrics.ece(average, label)),
    }
    return {
        "per_draw": {
            name: metrics.summarise(each[name])._asdict() for name in PER_DRAW if name in each
        },
        "bma": {name: finite(value) for name, value in bma.items()},
        "confusion": metrics.confusion_matrix(draws, label).double().mean(0).tolist(),
        "diagnostics": diagnostics(posterior),
    }


def regression_score(
    posterior: ParticlePosterior,
    x: Tensor,
    y: Tensor,
    *,
    unit: float,
    n_passes: int = 100,
    seed: int = 0,
) -> Record:
    """Squared errors per draw and of the average, NLL, and coverage of 90 % intervals.

    Args:
        posterior: weighted networks.
        x: test inputs (N, d).
        y: test responses (N,), scaled.
        unit: what one unit of y stands for; errors are in the response's own unit.
        n_passes: R.
        seed: of the R draws.
    """
    each = unit**2 * metrics.mse(
        posterior.draws(x, n_passes=n_passes, seed=seed)[..., 0], y
    )  # (R,)
    predictive, (low, high) = posterior.predict_with_quantiles(x, (0.05, 0.95))
    error = (predictive.mean[:, 0] - y).square() * unit**2  # (N,)
    bma = {
        "mse": float(error.mean()),
        "nll": float(-posterior.log_predictive(x, y).mean()) + math.log(unit),
        "coverage": float(((y >= low) & (y <= high)).double().mean()),
    }
    return {
        "per_draw": {"mse": metrics.summarise(each)._asdict()},
        "bma": {name: finite(value) for name, value in bma.items()},
        "squared_errors": error[:_MOST_ERRORS].tolist(),
        "diagnostics": diagnostics(posterior),
    }


def problem_score(problem: Problem, posterior: ParticlePosterior, *, n_passes: int) -> Record:
    """Scores on the test rows of either kind of problem, and the time of a prediction."""
    x, y = problem.test
    per_row = milliseconds_per_row(posterior, x, n_passes)
    if problem.classes:
        found = score(posterior, x, y, n_passes=n_passes)
    else:
        found = regression_score(posterior, x, y, unit=problem.unit, n_passes=n_passes)
    return found | {"milliseconds_per_row": per_row}


def scores_line(records: Mapping[str, Record]) -> str:
    """Accuracy or MSE of each method in a line."""
    parts = []
    for method, record in records.items():
        name = "accuracy" if "accuracy" in record["bma"] else "mse"
        mean, averaged = record["per_draw"][name]["mean"], record["bma"][name]
        parts.append(f"{method} {name} {mean:.5g}, averaged {averaged:.5g}")
    return "; ".join(parts)


@dataclass
class StepScores:
    """An observer that scores each step's draws on test rows, for the curve of metric against step.

    Nothing is chosen by what it sees.
    """

    network: Network
    likelihood: Likelihood
    x: Tensor
    y: Tensor
    n_passes: int
    seen: list[dict[str, float]] = field(default_factory=list)

    def __call__(self, state: Any, info: Any) -> None:
        """Mean AUC and accuracy over R draws of this step; epochs of the start are not scored."""
        if not isinstance(info, ais.PMCInfo):
            return
        assert info.samples is not None
        posterior = ParticlePosterior(self.network, self.likelihood, info.samples)
        each = score(posterior, self.x, self.y, n_passes=self.n_passes)["per_draw"]
        self.seen.append({name: each[name]["mean"] for name in ("auc", "accuracy")})
