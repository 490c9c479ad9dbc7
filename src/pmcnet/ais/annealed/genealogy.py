"""Standard errors from ancestry: particles that descend from one ancestor vary together.

A population that is resampled again and again is not P independent draws. Chan and Lai (2013) and
Lee and Whiteley (Biometrika 105, 2018): with w_i the normalised weights and e(i) the ancestor of
particle i in the first population,

    Var(mean of f) is estimated by   sum_e ( sum_{i: e(i) = e} w_i (f_i - mean f) )^2,
    Var(Z) / Z^2   by                sum_e ( sum_{i: e(i) = e} w_i - 1/P )^2  P / (P - 1).

Descendants of different ancestors differ for as long as the moves fail to decorrelate them, so bad
mixing shows in these errors. When few ancestors are left the estimates saturate and become useless;
the effective number of ancestors says so.
"""

import torch
from torch import Tensor

from pmcnet.ais import diagnostics


def ancestor_sums(value: Tensor, origin: Tensor) -> Tensor:
    """Sums of values (P, ...) over the particles of each ancestor: (P, ...)."""
    return torch.zeros_like(value).index_add_(0, origin, value)


def mean_variance(value: Tensor, weight: Tensor, origin: Tensor) -> Tensor:
    """Variance of the weighted mean of values (P, S), whose weights sum to 1: (S,)."""
    centred = value.double() - weight @ value.double()
    return ancestor_sums(weight[:, None] * centred, origin).square().sum(0)


def evidence_variance(weight: Tensor, origin: Tensor) -> float:
    """Variance of log Z (delta method); the first population had equal weights."""
    n = len(weight)
    excess = ancestor_sums(weight, origin) - 1 / n
    return float(excess.square().sum()) * n / max(1, n - 1)


def n_ancestors(weight: Tensor, origin: Tensor) -> float:
    """Effective number of ancestors, 1 / sum_e (weight of e)^2."""
    return float(diagnostics.ess(ancestor_sums(weight, origin).log()))
