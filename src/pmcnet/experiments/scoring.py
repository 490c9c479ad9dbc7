"""A posterior on test rows, as plain data: Algorithm 2's metrics, the averaged prediction's, diagnostics, curves."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from pmcnet import ais, metrics
from pmcnet.bnn import Likelihood, Network, ParticlePosterior

Record = dict[str, Any]
Say = Callable[[str], None]

GRID = torch.linspace(0, 1, 101, dtype=torch.float64)
BANDS = {"80": (0.10, 0.90), "95": (0.025, 0.975), "99": (0.005, 0.995)}
PER_DRAW = ("auc", "precision", "recall", "specificity", "accuracy", "f1")


def class_metrics(probability: Tensor, label: Tensor, positive: int) -> dict[str, Tensor]:
    """The paper's metrics: binary with its positive class, or averaged over classes."""
    if probability.shape[-1] == 2:
        return metrics.binary_metrics(probability, label, positive)
    return metrics.multiclass_metrics(probability, label)


def finite(value: float) -> float | None:
    """The number, or None where it is infinite, as JSON has it."""
    return value if math.isfinite(value) else None


def diagnostics(posterior: ParticlePosterior) -> Record:
    """ESS, k-hat, evidence and verdict."""
    samples = posterior.samples
    return {
        "n_draws": samples.n_draws,
        "ess": samples.ess,
        "khat": finite(samples.khat),
        "log_evidence": finite(samples.log_evidence),
        "log_evidence_error": finite(samples.log_evidence_error),
        "verdict": samples.verdict.status,
        "reason": samples.verdict.reason,
    }


def score(
    posterior: ParticlePosterior, x: Tensor, y: Tensor, *, positive: int = 0, n_passes: int = 100, seed: int = 0
) -> Record:
    """Everything the tables need.

    Args:
        posterior: weighted networks.
        x: test inputs (N, ...).
        y: test classes (N,).
        positive: the class that precision, recall, specificity and F1 are about; the paper takes class 0.
        n_passes: R.
        seed: of the R draws.
    """
    label = y.long()
    draws = posterior.draws(x, n_passes=n_passes, seed=seed)  # (R, N, C)
    each = class_metrics(draws, label, positive)
    average = posterior.predict(x).mean  # (N, C)
    bma = {name: float(value) for name, value in class_metrics(average, label, positive).items()}
    bma["nll"] = float(-posterior.log_predictive(x, y).mean())
    return {
        "per_draw": {name: metrics.summarise(each[name])._asdict() for name in PER_DRAW if name in each},
        "bma": {name: finite(value) for name, value in bma.items()},
        "confusion": metrics.confusion_matrix(draws, label).double().mean(0).tolist(),
        "diagnostics": diagnostics(posterior),
    }


def roc_bands(
    posterior: ParticlePosterior, x: Tensor, y: Tensor, *, n_passes: int = 100, seed: int = 0
) -> list[Record]:
    """For each class one-versus-all: the mean ROC curve over R draws and its 80, 95 and 99 % envelopes."""
    draws = posterior.draws(x, n_passes=n_passes, seed=seed)
    curves = []
    for positive in range(draws.shape[-1]):
        tpr = metrics.roc(draws, y.long(), GRID.to(draws), positive=positive)  # (R, G)
        bands = {name: torch.quantile(tpr, torch.tensor(ends).to(tpr), dim=0).tolist() for name, ends in BANDS.items()}
        curves.append({"class": positive, "grid": GRID.tolist(), "mean": tpr.mean(0).tolist(), "bands": bands})
    return curves


def row_histograms(
    posterior: ParticlePosterior, x: Tensor, y: Tensor, *, n_rows: int = 4, n_passes: int = 100, seed: int = 0
) -> list[Record]:
    """Predicted probabilities of the true class over R draws: the surest, a middling and the least sure test rows."""
    draws = posterior.draws(x, n_passes=n_passes, seed=seed)  # (R, N, C)
    own = draws.gather(-1, y.long()[None, :, None].expand(len(draws), -1, 1))[..., 0]  # (R, N)
    order = own.std(0).argsort()
    chosen = order[torch.linspace(0, len(order) - 1, n_rows).long()].tolist()
    return [{"row": n, "class": int(y[n]), "probability": own[:, n].tolist()} for n in chosen]


class StepScores:
    """An observer that scores each step's draws on test rows, for the curve of metric against step.

    Nothing is chosen by what it sees.
    """

    def __init__(self, network: Network, likelihood: Likelihood, x: Tensor, y: Tensor, *, n_passes: int) -> None:
        self.network, self.likelihood, self.x, self.y, self.n_passes = network, likelihood, x, y, n_passes
        self.seen: list[dict[str, float]] = []

    def __call__(self, state: ais.PMCState, info: ais.PMCInfo) -> None:
        """Mean AUC and accuracy over R draws of this step."""
        posterior = ParticlePosterior(self.network, self.likelihood, info.samples)
        each = score(posterior, self.x, self.y, n_passes=self.n_passes)["per_draw"]
        self.seen.append({name: each[name]["mean"] for name in ("auc", "accuracy")})
