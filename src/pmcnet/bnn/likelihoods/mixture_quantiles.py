"""Quantiles of a mixture of shifted and scaled copies of one distribution, by inversion."""

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

MOST_STEPS = 60
MOST_TRIALS = 120
"""For one quantile: bisection to the last digit takes about 60, with Newton steps in between."""
TOLERANCE = {torch.float32: 2e-5, torch.float64: 1e-9}
"""Steps below this many standard deviations of the mixture end the search."""
SLACK = 0.01
"""Share of min(level, 1 - level) by which the distribution function may miss the level."""
TAIL = 1e-4
"""Levels nearer to 0 or 1 are searched in double precision: single precision has no such tails.

So are mixtures whose variance overflows single precision.
"""


class Standard(Protocol):
    """A distribution with location 0 and scale 1."""

    def cdf(self, z: Tensor) -> Tensor:
        """P(Z <= z)."""
        ...

    def pdf(self, z: Tensor) -> Tensor:
        """Density at z."""
        ...


def standard_quantiles(levels: Sequence[float], standard: Standard) -> list[float]:
    """The z with F(z) = level for each level, by bisection of them all together.

    Distributions that differ between components know their own, `standard.quantile`.
    """
    level = torch.tensor(levels, dtype=torch.float64)  # (Q,)
    low, high = -torch.ones_like(level), torch.ones_like(level)
    while bool((above := standard.cdf(low) > level).any()):
        low = torch.where(above, 2 * low, low)
    while bool((below := standard.cdf(high) < level).any()):
        high = torch.where(below, 2 * high, high)
    for _ in range(MOST_STEPS):
        middle = 0.5 * (low + high)
        below = standard.cdf(middle) < level
        low, high = torch.where(below, middle, low), torch.where(below, high, middle)
    found: list[float] = (0.5 * (low + high)).tolist()
    return found


def mixture_quantile(
    mean: Tensor,
    deviation: Tensor,
    weight: Tensor,
    level: float,
    z: float | Tensor,
    standard: Standard,
) -> Tensor:
    """The number q with sum_j w_j F((q - m_j) / s_j) = level, for each row: (N,).

    It lies between the smallest and the largest quantile of the components. Newton's method starts
    at the quantile of the distribution with the mixture's moments and bisects where a step would
    leave the bracket. A row is done when steps are small against the mixture's spread and, since
    components may be far narrower, the level is met; rows that are done leave the search.

    Args:
        mean: m, of each component on each row (J, N).
        deviation: s (J, 1), or (J, N) where it depends on the row.
        weight: w, sums to 1 (J,).
        level: between 0 and 1.
        z: the standard distribution's own quantile, (J, 1) where components differ in it.
        standard: F and its density.
    """
    centre = weight @ mean  # (N,)
    spread = (weight @ ((mean - centre).square() + deviation.square())).sqrt()
    tail = min(level, 1 - level) < TAIL
    if mean.dtype != torch.float64 and (tail or not bool(spread.isfinite().all())):
        exact = weight.double() / weight.double().sum()
        return mixture_quantile(mean.double(), deviation.double(), exact, level, z, standard).to(
            mean
        )
    slack = SLACK * min(level, 1 - level)
    tolerance = TOLERANCE.get(mean.dtype, 1e-6) * spread
    own = mean + (z if isinstance(z, float) else z.to(mean)) * deviation  # (J, N)
    low, high = own.amin(0) - tolerance, own.amax(0) + tolerance
    middle = z if isinstance(z, float) else weight @ z.expand(len(mean), 1).to(mean)
    q = (centre + middle * spread).clamp(low, high)
    narrowest, by_row = deviation.amin(), deviation.shape[1] > 1
    found, rows = torch.empty_like(q), torch.arange(len(q), device=q.device)
    for _ in range(MOST_TRIALS):
        scaled = (q - mean) / deviation  # (J, n)
        excess = weight @ standard.cdf(scaled) - level
        low, high = torch.where(excess < 0, q, low), torch.where(excess < 0, high, q)
        step = q - excess / (weight @ (standard.pdf(scaled) / deviation))
        newton = (step > low) & (step < high)
        following = torch.where(newton, step, 0.5 * (low + high))
        moved = (following - q).abs()
        pinched = (following <= low) | (following >= high)  # no number lies between
        unsettled = ~pinched & ((moved > tolerance[rows]) | (excess.abs() > slack))
        # what is found has been tried, or is a Newton step away that is small for every component
        done = torch.where(
            pinched, high, torch.where(newton & (moved < 0.1 * narrowest), following, q)
        )
        q = following
        n_unsettled = int(unsettled.sum())
        if n_unsettled <= 0.7 * len(q):  # go on with the rows that need it
            found[rows[~unsettled]] = done[~unsettled]
            rows, q, low, high, mean = (
                rows[unsettled],
                q[unsettled],
                low[unsettled],
                high[unsettled],
                mean[:, unsettled],
            )
            deviation = deviation[:, unsettled] if by_row else deviation
        if n_unsettled == 0:
            return found
    found[rows] = q
    return found
