"""Quantiles of a mixture of shifted and scaled copies of one distribution, by inverting its distribution function."""

from collections.abc import Callable

import torch
from torch import Tensor

REACH = 10.0
"""Standard deviations beyond the outermost component that the search begins with; doubled where that is not enough."""
N_HALVINGS = 30


def mixture_quantiles(
    mean: Tensor, deviation: Tensor, weight: Tensor, level: Tensor, cdf: Callable[[Tensor], Tensor]
) -> Tensor:
    """The numbers q with sum_j w_j F((q - m_j) / s_j) = p, for each row: (Q, N).

    Args:
        mean: m, of each component on each row (J, N).
        deviation: s (J, 1).
        weight: w, sums to 1 (J,).
        level: p, between 0 and 1 (Q,).
        cdf: F, elementwise.
    """

    def below(q: Tensor) -> Tensor:
        """The mixture's distribution function at q (Q, N)."""
        return torch.stack([weight @ cdf((row - mean) / deviation) for row in q])

    reach = REACH * deviation
    low = (mean - reach).amin(0).repeat(len(level), 1)  # (Q, N)
    high = (mean + reach).amax(0).repeat(len(level), 1)
    while bool((below(low) > level[:, None]).any() | (below(high) < level[:, None]).any()):
        reach = 2 * reach
        low, high = torch.minimum(low, (mean - reach).amin(0)), torch.maximum(high, (mean + reach).amax(0))
    for _ in range(N_HALVINGS):
        middle = 0.5 * (low + high)
        left = below(middle) < level[:, None]
        low, high = torch.where(left, middle, low), torch.where(left, high, middle)
    return 0.5 * (low + high)
