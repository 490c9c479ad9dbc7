"""Golden-section search of a positive setting on a logarithmic scale: METHOD, section 6."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from scipy import optimize  # type: ignore[import-untyped]

from pmcnet.errors import InputError


@dataclass(frozen=True)
class Search:
    """What a search found: the best value tried, its loss, everything tried, and whether a minimum was bracketed.

    Without a bracket the best of the trials lies at an end of the range, and a wider range may do better.
    """

    best: float
    loss: float
    trials: tuple[tuple[float, float], ...] = field(repr=False)
    bracketed: bool


def golden_section(
    loss: Callable[[float], float], low: float, high: float, *, start: float | None = None, n_trials: int = 10
) -> Search:
    """Minimise `loss` over [low, high], searching its logarithm.

    Args:
        loss: function of the setting; never called twice for the same value.
        low: smallest setting, positive.
        high: largest setting.
        start: a guess between them; their geometric mean when absent.
        n_trials: about how often `loss` may be called, at least 3.
    """
    guess = math.sqrt(max(0.0, low * high)) if start is None else start
    if not 0 < low < guess < high:
        raise InputError(f"low < start < high must all be positive; got {low}, {guess}, {high}.")
    if n_trials < 3:
        raise InputError(f"n_trials must be at least 3; got {n_trials}.")
    tried: dict[float, float] = {}

    def at(log_value: float) -> float:
        value = math.exp(log_value)
        if value not in tried:
            tried[value] = loss(value)
        return tried[value]

    points = (math.log(low), math.log(guess), math.log(high))
    losses = [at(p) for p in points]
    bracketed = losses[1] < losses[0] and losses[1] < losses[2]
    if bracketed:
        # two calls per iteration at first, one after; the ends are known already
        optimize.minimize_scalar(at, bracket=points, method="golden", options={"maxiter": max(1, n_trials - 4)})
    best = min(tried, key=lambda value: tried[value])
    return Search(best, tried[best], tuple(sorted(tried.items())), bracketed)
