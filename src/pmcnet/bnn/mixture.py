"""Quantiles of a mixture of shifted and scaled copies of one distribution, by inverting its distribution function."""

from typing import Protocol

import torch
from torch import Tensor

MOST_STEPS = 60
TOLERANCE = {torch.float32: 2e-5, torch.float64: 1e-9}
"""Steps below this many standard deviations of the mixture end the search."""
TAIL = 1e-4
"""Levels nearer to 0 or 1 are searched in double precision: in single, a distribution function has no such tails."""


class Standard(Protocol):
    """A distribution with mean 0 and standard deviation 1."""

    def cdf(self, z: Tensor) -> Tensor:
        """P(Z <= z)."""
        ...

    def pdf(self, z: Tensor) -> Tensor:
        """Density at z."""
        ...


def standard_quantile(level: float, standard: Standard) -> float:
    """The z with F(z) = level, by bisection."""
    low, high = -1.0, 1.0
    while float(standard.cdf(torch.tensor(low, dtype=torch.float64))) > level:
        low *= 2
    while float(standard.cdf(torch.tensor(high, dtype=torch.float64))) < level:
        high *= 2
    for _ in range(MOST_STEPS):
        middle = 0.5 * (low + high)
        below = float(standard.cdf(torch.tensor(middle, dtype=torch.float64))) < level
        low, high = (middle, high) if below else (low, middle)
    return 0.5 * (low + high)


def mixture_quantile(
    mean: Tensor, deviation: Tensor, weight: Tensor, level: float, z: float, standard: Standard
) -> Tensor:
    """The number q with sum_j w_j F((q - m_j) / s_j) = level, for each row: (N,).

    It lies between the smallest and the largest of the components' own quantiles. Newton's steps from the quantile of
    the Gaussian with the mixture's moments, halving where a step would leave the bracket; rows that are done leave.

    Args:
        mean: m, of each component on each row (J, N).
        deviation: s (J, 1).
        weight: w, sums to 1 (J,).
        level: between 0 and 1.
        z: the standard distribution's own quantile.
        standard: F and its density.
    """
    if min(level, 1 - level) < TAIL and mean.dtype != torch.float64:
        exact = weight.double() / weight.double().sum()
        return mixture_quantile(mean.double(), deviation.double(), exact, level, z, standard).to(mean)
    centre = weight @ mean  # (N,)
    spread = (weight @ ((mean - centre).square() + deviation.square())).sqrt()
    tolerance = TOLERANCE.get(mean.dtype, 1e-6) * spread
    own = mean + z * deviation  # (J, N)
    low, high = own.amin(0) - tolerance, own.amax(0) + tolerance
    q = (centre + z * spread).clamp(low, high)
    slope = weight / deviation[:, 0]
    found, rows = torch.empty_like(q), torch.arange(len(q), device=q.device)
    for _ in range(MOST_STEPS):
        scaled = (q - mean) / deviation  # (J, n)
        excess = weight @ standard.cdf(scaled) - level
        low, high = torch.where(excess < 0, q, low), torch.where(excess < 0, high, q)
        step = q - excess / (slope @ standard.pdf(scaled))
        following = torch.where((step > low) & (step < high), step, 0.5 * (low + high))
        unsettled = (following - q).abs() > tolerance[rows]
        q = following
        n_unsettled = int(unsettled.sum())
        if n_unsettled <= 0.7 * len(q):  # go on with the rows that need it
            found[rows[~unsettled]] = q[~unsettled]
            rows, q, low, high, mean = (
                rows[unsettled],
                q[unsettled],
                low[unsettled],
                high[unsettled],
                mean[:, unsettled],
            )
        if n_unsettled == 0:
            return found
    found[rows] = q
    return found
