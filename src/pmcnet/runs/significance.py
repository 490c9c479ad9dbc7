"""Which methods are best in a metric, and which do not differ significantly from the best.

Paired bootstrap: test rows are resampled with replacement, the same rows for all methods. A method
is tied with the best where the central 95 % of their differences contains 0.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pmcnet import metrics
from pmcnet.estimators import PMCNetClassifier
from pmcnet.rng import stream
from pmcnet.runs.class_predictions import class_metrics
from pmcnet.runs.scores import BETTER_LOWER, OBSERVED, Model, class_labels
from pmcnet.runs.second_column import NO_COLUMN, SecondColumn

N_RESAMPLES = 300
Values = NDArray[np.float64]


def best_in(
    models: Sequence[Model],
    x: Any,
    y: NDArray[Any],
    second: SecondColumn = NO_COLUMN,
    *,
    seed: int,
) -> list[list[str]]:
    """For each model the metrics in which it is best or tied.

    Args:
        models: fitted on the same rows, of one kind.
        x: test rows.
        y: their truth.
        second: what is known beside it.
        seed: of the resampling.
    """
    is_classifier = isinstance(models[0], PMCNetClassifier)
    measure = (
        _class_measure(models, x, y) if is_classifier else _number_measure(models, x, y, second)
    )
    source = stream(seed, 0, 0).host
    once = measure(torch.arange(len(y)))
    drawn = [
        measure(torch.as_tensor(source.integers(0, len(y), len(y)))) for _ in range(N_RESAMPLES)
    ]
    marks: list[list[str]] = [[] for _ in models]
    for name, values in once.items():
        resampled = np.stack([found[name] for found in drawn if name in found])  # (B, K)
        for k in tied(values, resampled, lower=name in BETTER_LOWER):
            marks[k].append(name)
    return marks


def tied(values: Values, resampled: Values, *, lower: bool) -> list[int]:
    """Positions of the best value and of those tied with it, from (K,) and (B, K)."""
    sign = 1.0 if lower else -1.0
    best = int(np.argmin(np.where(np.isfinite(values), sign * values, np.inf)))
    found = []
    for k in range(len(values)):
        with np.errstate(invalid="ignore"):
            difference = sign * (resampled[:, k] - resampled[:, best])
        difference = np.where(np.isnan(difference), np.inf, difference)
        if k == best or np.quantile(difference, 0.025, method="inverted_cdf") <= 0:
            found.append(k)
    return found


def _class_measure(
    models: Sequence[Model], x: Any, y: NDArray[Any]
) -> Callable[[Tensor], Mapping[str, Values]]:
    first = models[0]
    assert isinstance(first, PMCNetClassifier)
    label = class_labels(first, y)
    each = [torch.as_tensor(model.predict_proba(x)) for model in models]
    probability = torch.stack(each)  # (K, N, C)

    def measure(rows: Tensor) -> Mapping[str, Values]:
        some, truth = probability[:, rows], label[rows]
        found = class_metrics(some, truth)
        if some.shape[-1] == 2 and 0 < int(truth.sum()) < len(truth):
            found["auc"] = metrics.auc(some, truth, positive=1)
        return {name: value.double().numpy() for name, value in found.items()}

    return measure


def _number_measure(
    models: Sequence[Model], x: Any, y: NDArray[Any], second: SecondColumn
) -> Callable[[Tensor], Mapping[str, Values]]:
    truth = np.asarray(y, dtype=np.float64)
    pairs = [_losses(model.cached(), x, truth, second) for model in models]
    error, nll = (np.stack(values) for values in zip(*pairs, strict=True))  # each (K, N)
    observed = second.observed(len(truth))

    def measure(rows: Tensor) -> Mapping[str, Values]:
        some = rows.numpy()
        found, known = {"nll": nll[:, some].mean(1)}, some[observed[some]]
        if not len(known):
            return found
        mse = np.square(error[:, known]).mean(1)
        errors = {"mse": mse, "rmse": np.sqrt(mse), "mae": np.abs(error[:, known]).mean(1)}
        if observed.all():
            return errors | {"r2": -mse} | found
        return {f"{name}{OBSERVED}": values for name, values in errors.items()} | found

    return measure


def _losses(model: Model, x: Any, truth: Values, second: SecondColumn) -> tuple[Values, Values]:
    """The error and the negative log-density of each row, from one pass over the posterior."""
    rows = model.encoded(x, **second.arguments)
    return model.predict(rows) - truth, -model.log_predictive(rows, second.response(truth))
