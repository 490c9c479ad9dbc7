"""Quantiles of a mixture of distributions of counts, by bisection over the whole numbers."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

MOST_TRIALS = 250
"""For one quantile: most rows need about ten, bisection of the largest counts twice 100."""
_MOST_START = 2.0**100
_ROUNDING = 1e-14
"""A weighted sum of distribution functions may end so far below 1."""


def count_quantile(
    mean: Tensor,
    variance: Tensor,
    weight: Tensor,
    level: float,
    cumulative: Callable[[Tensor, Tensor], Tensor],
) -> Tensor:
    """The smallest count q with sum_j w_j F_j(q) >= level, for each row: (N,), float64.

    Steps that double lead from a first guess to a bracket, which is then halved. Rows that are done
    leave the search. Where the components are not finite numbers, q is infinite.

    Args:
        mean: of each component on each row (J, N), positive.
        variance: likewise.
        weight: w (J,).
        level: between 0 and 1.
        cumulative: F of rows (n,) at counts (n,): (J, n), float64.
    """
    weight, level = weight.double() / weight.double().sum(), min(level, 1 - _ROUNDING)
    q, step = _guess(mean.double(), variance.double(), weight, level)
    low, high = torch.full_like(q, -1), torch.full_like(q, math.inf)  # F(low) < level <= F(high)
    found, rows = high.clone(), torch.arange(len(q), device=q.device)
    for _ in range(MOST_TRIALS):
        reached = weight @ cumulative(rows, q) >= level
        low, high = torch.where(reached, low, q), torch.where(reached, q, high)
        middle = (0.5 * (low + high)).floor()
        q = torch.where(
            reached, torch.maximum(high - step, middle), torch.minimum(low + step, middle)
        )
        going = (low < q) & (q < high)
        found[rows[~going]] = high[~going]
        rows, q, low, high, step = (part[going] for part in (rows, q, low, high, 2 * step))
        if len(rows) == 0:
            break
    return found


def _guess(mean: Tensor, variance: Tensor, weight: Tensor, level: float) -> tuple[Tensor, Tensor]:
    """A count near the quantile, and a step for its neighbourhood: those of a log-normal.

    It has the weighted means of the components' logarithms, which single components cannot move
    far.
    """
    log_mean = mean.log()
    centre = weight @ log_mean  # (N,)
    noise = (weight @ (variance.log() - 2 * log_mean)).exp()
    spread = (weight @ (log_mean - centre).square() + noise.log1p()).sqrt()
    z = torch.special.ndtri(spread.new_tensor(level))
    q = (centre + z * spread).exp().floor().clamp(max=_MOST_START)
    return q, (0.125 * q * spread).ceil().clamp(min=1)
