"""All metrics of one kind of problem at once, and their summary over draws or repetitions."""

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from pmcnet.errors import InputError
from pmcnet.metrics import classification, ranking, regression


class Summary(NamedTuple):
    """Mean, standard deviation and central 95 % interval of a metric over its draws."""

    mean: float
    std: float
    interval95: tuple[float, float]


def summarise(values: Tensor) -> Summary:
    """Summary of R values of one metric.

    The standard deviation is that of a sample, divisor R - 1, and 0 for a single value; the
    interval is between the quantiles 0.025 and 0.975, interpolated. An infinite value (see `nll`)
    makes the mean infinite and what cannot be computed from it not-a-number.

    Args:
        values: (R,), or any shape, which is flattened.
    """
    flat = values.detach().double().flatten()  # (R,)
    if not flat.numel():
        raise InputError(
            "values must hold at least one value; got none. Draw from the posterior first."
        )
    std = float(flat.std(correction=1)) if flat.numel() > 1 else 0.0
    levels = torch.tensor([0.025, 0.975], dtype=flat.dtype, device=flat.device)
    low, high = flat.quantile(levels).tolist()
    return Summary(float(flat.mean()), std, (low, high))


def summarise_all(metrics: Mapping[str, Tensor]) -> dict[str, Summary]:
    """`summarise` of each."""
    return {name: summarise(values) for name, values in metrics.items()}


def binary_metrics(probability: Tensor, label: Tensor, positive: int = 0) -> dict[str, Tensor]:
    """Metrics of two classes; probability (..., N, 2), label (N,) -> name: (...)."""
    if probability.shape[-1:] != (2,):
        raise InputError(
            f"probability must be (..., N, 2); got {tuple(probability.shape)}. "
            "Use multiclass_metrics for more classes, torch.stack([p, 1 - p], -1) for one column."
        )
    return {
        "auc": ranking.auc(probability, label, positive=positive),
        "precision": classification.precision(probability, label, positive=positive),
        "recall": classification.recall(probability, label, positive=positive),
        "specificity": classification.specificity(probability, label, positive=positive),
        "accuracy": classification.accuracy(probability, label),
        "f1": classification.f1(probability, label, positive=positive),
        "nll": classification.nll(probability, label),
        "brier": classification.brier(probability, label),
        "ece": classification.ece(probability, label),
    }


def multiclass_metrics(probability: Tensor, label: Tensor) -> dict[str, Tensor]:
    """Metrics of C classes; probability (..., N, C), label (N,) -> name: (...).

    The auc is weighted, f1 is the macro average.
    """
    return {
        "auc": ranking.auc_weighted(probability, label),
        "f1": classification.macro_f1(probability, label),
        "accuracy": classification.accuracy(probability, label),
        "nll": classification.nll(probability, label),
        "brier": classification.brier(probability, label),
        "ece": classification.ece(probability, label),
    }


def regression_metrics(mean: Tensor, y: Tensor) -> dict[str, Tensor]:
    """Metrics of a predictive mean (..., N) against y (N,) -> name: (...)."""
    return {"mse": regression.mse(mean, y), "rmse": regression.rmse(mean, y)}
