"""How good predictions of numbers are: errors of a mean, and scores of a predictive distribution.

`mse` and `rmse` take draws of the predictive mean (..., N). The others take S draws from the
predictive distribution of each row, (S, N), which stand for the weighted empirical distribution

    F(x) = sum_s w_s 1[x_s <= x],

where every w_s is 1 / S without weights. Cumulated weights are float64, results have the dtype of
the draws.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from pmcnet.errors import InputError

ROUNDING = 1e-12
"""By how much a cumulated weight may fall short of a probability and still reach it."""
UNNORMALISED = 1e-3
"""How far from 1 the weights may sum before they are refused."""


def mse(mean: Tensor, y: Tensor) -> Tensor:
    """Mean over rows of (mean - y)^2.

    Args:
        mean: (..., N), draws of the predictive mean.
        y: (N,).

    Returns:
        (...).
    """
    _check_rows(mean, y, "mean")
    return (mean - y).square().mean(-1)


def rmse(mean: Tensor, y: Tensor) -> Tensor:
    """Square root of `mse`, in the units of y; (...)."""
    return mse(mean, y).sqrt()


def quantiles(
    samples: Tensor, probabilities: Tensor | Sequence[float], weight: Tensor | None = None
) -> Tensor:
    """The smallest draw x with F(x) >= p, row by row.

    Always one of the draws and never one of zero weight; p = 0 gives the smallest, p = 1 the
    largest.

    Args:
        samples: (S, N), draws of the predictive distribution.
        probabilities: (Q,) in [0, 1].
        weight: (S,), normalised.

    Returns:
        (Q, N).
    """
    levels = torch.as_tensor(probabilities, dtype=torch.float64, device=samples.device)  # (Q,)
    if levels.ndim != 1 or not bool(((levels >= 0) & (levels <= 1)).all()):
        raise InputError(
            f"probabilities must be (Q,) from 0 to 1; got {probabilities}. Use [p] for one."
        )
    ordered, cdf = _distribution(samples, weight)  # (N, S)
    # a target above 0 and at most 1 is first reached at a draw that has weight
    target = (levels - ROUNDING).clamp(min=torch.finfo(torch.float64).tiny)
    index = torch.searchsorted(cdf, target.expand(len(cdf), -1).contiguous())  # (N, Q)
    return ordered.gather(1, index).mT.contiguous()


def interval(samples: Tensor, coverage: float, weight: Tensor | None = None) -> Tensor:
    """Central interval (2, N): the quantiles (1 - coverage) / 2 and (1 + coverage) / 2."""
    if not 0 < coverage < 1:
        raise InputError(f"coverage must lie between 0 and 1; got {coverage}. Use 0.95 for 95 %.")
    return quantiles(samples, [(1 - coverage) / 2, (1 + coverage) / 2], weight)


def coverage(interval: Tensor, y: Tensor) -> Tensor:
    """Share of rows with lower <= y <= upper; interval (2, N), y (N,) -> ()."""
    _check_rows(interval, y, "interval")
    if interval.ndim != 2 or len(interval) != 2:
        raise InputError(f"interval must be (2, N), lower then upper; got {tuple(interval.shape)}.")
    inside = (interval[0] <= y) & (y <= interval[1])  # (N,)
    return inside.to(interval.dtype).mean()


def crps(samples: Tensor, y: Tensor, weight: Tensor | None = None) -> Tensor:
    """Continuous ranked probability score, exact for the weighted draws, averaged over rows.

    CRPS(F, y) = int (F(x) - 1[y <= x])^2 dx = E|X - y| - E|X - X'| / 2, and with the draws in
    ascending order E|X - X'| / 2 = sum_k F_k (1 - F_k) (x_(k+1) - x_k), so O(S log S) per row.

    Args:
        samples: (S, N), draws of the predictive distribution.
        y: (N,).
        weight: (S,), normalised.

    Returns:
        ().
    """
    _check_rows(samples, y, "samples")
    ordered, cdf = _distribution(samples, weight)  # (N, S)
    mass = cdf.diff(dim=1, prepend=torch.zeros_like(cdf[:, :1]))  # (N, S)
    distance = (mass * (ordered.double() - y.double()[:, None]).abs()).sum(1)  # (N,)
    below = cdf[:, :-1]
    spread = (below * (1 - below) * ordered.double().diff(dim=1)).sum(1)  # (N,)
    return (distance - spread).mean().to(samples.dtype)


def log_predictive_density(log_prob: Tensor, log_weight: Tensor | None = None) -> Tensor:
    """Mean over rows of log sum_s w_s p(y_n | s).

    Args:
        log_prob: (S, N), log p(y_n | s).
        log_weight: (S,), normalised, so that logsumexp is 0; -inf for a draw that does not count.

    Returns:
        ().
    """
    _check_draws(log_prob, "log_prob")
    if log_weight is None:
        return (log_prob.logsumexp(0) - math.log(len(log_prob))).mean()
    _check_weight(log_weight.exp(), len(log_prob), "log_weight")
    return (log_weight[:, None] + log_prob).logsumexp(0).mean()


def _distribution(samples: Tensor, weight: Tensor | None) -> tuple[Tensor, Tensor]:
    """Draws of each row in ascending order and F at each, both (N, S); the last F is exactly 1."""
    _check_draws(samples, "samples")
    n_draws = len(samples)
    ordered, order = samples.mT.sort(1)  # (N, S)
    if weight is None:
        cdf = torch.arange(1, n_draws + 1, dtype=torch.float64, device=samples.device) / n_draws
        return ordered.contiguous(), cdf.expand(ordered.shape).contiguous()
    _check_weight(weight, n_draws, "weight")
    cumulated = weight.double()[order].cumsum(1)  # (N, S)
    return ordered.contiguous(), (cumulated / cumulated[:, -1:]).contiguous()


def _check_rows(prediction: Tensor, y: Tensor, name: str) -> None:
    """Raise unless the last axis of prediction is that of y; else they would broadcast."""
    if y.ndim != 1 or not len(y) or prediction.ndim < 1 or prediction.shape[-1] != len(y):
        raise InputError(
            f"{name} must be (..., N) and y (N,) with N >= 1; got {tuple(prediction.shape)} and "
            f"{tuple(y.shape)}. Use squeeze(-1) on a column."
        )


def _check_draws(samples: Tensor, name: str) -> None:
    """Raise unless samples is (S, N) without not-a-number, which would sort as the largest."""
    if samples.ndim != 2 or not samples.numel():
        raise InputError(
            f"{name} must be (S, N), draws by rows of data; got {tuple(samples.shape)}."
        )
    if bool(samples.isnan().any()):
        raise InputError(f"{name} has not-a-number entries. Leave out diverged draws.")


def _check_weight(weight: Tensor, n_draws: int, name: str) -> None:
    """Raise unless weight is (S,), not negative and sums to 1."""
    if weight.shape != (n_draws,):
        raise InputError(f"{name} must be ({n_draws},), one per draw; got {tuple(weight.shape)}.")
    total = float(weight.double().sum())
    if not bool((weight >= 0).all()) or not abs(total - 1) < UNNORMALISED:
        remedy = "log_weight.log_softmax(0)" if name == "log_weight" else "log_weight.softmax(0)"
        raise InputError(
            f"{name} must be normalised; the weights sum to {total:.4g}. Use {remedy}."
        )
