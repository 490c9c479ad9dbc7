"""Diagnostics of weights: effective draws, largest weight, tail index, evidence and its error."""

import math
import warnings

import numpy as np
import torch
from torch import Tensor

MIN_TAIL = 5
"""Draws that the tail must hold for its index to be fitted."""
EQUAL = 1e-6
"""Relative spread below which weights count as equal."""


def ess(log_weight: Tensor) -> Tensor:
    """Effective number of draws along the last axis, (sum w)^2 / sum w^2; 0 if all w are 0."""
    top = log_weight.amax(-1, keepdim=True)
    weight = torch.where(top == -torch.inf, 0.0, (log_weight - top).exp())
    total = weight.sum(-1)
    return torch.where(total > 0, total.square() / weight.square().sum(-1), 0.0)


def conditional_ess(log_weight: Tensor, increment: Tensor) -> Tensor:
    """Effective draws after weights W (sum 1) are multiplied by v (Zhou et al., 2016).

    n (sum W v)^2 / sum W v^2 along the last axis.
    """
    twice = (log_weight + 2 * increment).logsumexp(-1)
    squared = 2 * (log_weight + increment).logsumexp(-1)
    return log_weight.shape[-1] * (squared - twice).exp()


def max_weight(log_weight: Tensor) -> Tensor:
    """Largest normalised weight along the last axis; 1 where every weight is zero."""
    top = log_weight.amax(-1)
    return torch.where(top == -torch.inf, 1.0, (top - log_weight.logsumexp(-1)).exp())


def log_evidence(log_weight: Tensor) -> Tensor:
    """Log Z = logsumexp(log w) - log n over all draws."""
    return log_weight.flatten().logsumexp(0) - math.log(log_weight.numel())


def log_evidence_error(log_weight: Tensor) -> Tensor:
    """Standard error of log Z by the delta method, se(Z) / Z; infinite where every weight is zero.

    The last axis runs over independent draws from one proposal, so Var(Z) = sum_m s_m^2 K / n^2
    with s_m^2 the variance of the weights within proposal m. A single draw per proposal has no
    variance within: all are then pooled.
    """
    top = log_weight.max()
    if top == -torch.inf:
        return torch.full_like(top, torch.inf)
    n_draws = log_weight.shape[-1]
    weight = (log_weight - top).exp()
    if n_draws == 1:
        weight, n_draws = weight.reshape(1, -1), weight.numel()
    if n_draws == 1:
        return torch.full_like(top, torch.inf)
    variance = weight.var(-1).sum() * n_draws / weight.numel() ** 2
    return variance.sqrt() / weight.mean()


def khat(log_weight: Tensor) -> float:
    """Pareto index of the upper tail of the weights (Vehtari et al., JMLR 25, 2024).

    Up to 0.5 the weights have a variance, up to 0.7 averages are reliable in practice, from 1 they
    have no mean. Infinite where no index can be fitted: too few draws, or a few weights so large
    that the others vanish beside them. 0 where the tail's weights are equal up to rounding, so that
    there is no tail.
    """
    ascending = np.sort(log_weight.detach().double().flatten().cpu().numpy())
    n_draws = len(ascending)
    n_tail = int(3 * math.sqrt(n_draws) if n_draws > 225 else n_draws / 5)
    if n_tail < MIN_TAIL or ascending[-1] == -np.inf:
        return math.inf
    tail = np.exp(
        ascending[-n_tail - 1 :] - ascending[-1]
    )  # the cut-off, then the tail; the largest is 1
    if tail[0] > 1 - EQUAL:
        return 0.0
    if tail[n_tail // 4] == tail[0]:  # the fit divides by the lower quartile of the excesses
        return math.inf
    from arviz_stats.base import array_stats  # slow to import, and only needed here

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        index = float(array_stats.psislw(-ascending)[1])  # psislw takes minus the log-weights
    return index if math.isfinite(index) else math.inf
