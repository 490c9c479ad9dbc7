"""Quantiles of mixtures whose components differ in more than location and scale, by inversion."""

from typing import Protocol

import torch
from torch import Tensor

FARTHEST = 740.0
"""The search ends here, where the logistic function of a number leaves double precision."""
_LONGEST_STEP = 4.0
_NEWTON_STEPS = 40
_MOST_TRIALS = 110
_TOLERANCE = 1e-5
_SLACK = 1e-4
"""Share of min(level, 1 - level) by which F may miss the level before the last step.

That step squares what is missing.
"""


class RowMixture(Protocol):
    """Mixtures of continuous distributions, one for each row."""

    def cumulative_and_density(self, t: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
        """The distribution function and its derivative at points (n,) of these rows (n,)."""
        ...


def inverted(mixture: RowMixture, level: float, start: Tensor) -> Tensor:
    """The t with F(t) = level, for each row: (N,), float64.

    Newton's method with bounded steps; it bisects where a step would leave the bracket, and after
    many steps. Rows that are done leave the search.

    Args:
        mixture: F and its derivative.
        level: between 0 and 1.
        start: guesses (N,).
    """
    found = start.double().clamp(-FARTHEST, FARTHEST)
    t, rows = found.clone(), torch.arange(len(found), device=found.device)
    low, high = torch.full_like(t, -FARTHEST), torch.full_like(t, FARTHEST)
    slack = _SLACK * min(level, 1 - level)
    for trial in range(_MOST_TRIALS):
        value, slope = mixture.cumulative_and_density(t, rows)
        excess = value - level
        low, high = torch.where(excess < 0, t, low), torch.where(excess < 0, high, t)
        step = torch.where(excess == 0, 0.0, excess / slope).clamp(-_LONGEST_STEP, _LONGEST_STEP)
        small = _TOLERANCE * (1 + t.abs())
        settled = (step.abs() <= small) & (excess.abs() <= slack)
        inside = (t - step > low) & (t - step < high) & (trial < _NEWTON_STEPS)
        following = torch.where(settled | inside, t - step, 0.5 * (low + high))
        found[rows] = following
        going_on = ~settled & (high - low > small * _TOLERANCE)
        if not bool(going_on.any()):
            return found
        rows, t, low, high = (part[going_on] for part in (rows, following, low, high))
    return found
