"""Golden-section search of a positive setting on a logarithmic scale: METHOD, section 6."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from scipy import optimize  # type: ignore[import-untyped]

from pmcnet.errors import InputError

# of what lies between the best end and its neighbour, in search of something better than both
_MOST_HALVINGS = 3


@dataclass(frozen=True)
class Search:
    """The best value tried, its loss, all trials, and whether a minimum was bracketed.

    Without a bracket the best of the trials lies at an end of the range, and a wider range may do
    better.
    """

    best: float
    loss: float
    trials: tuple[tuple[float, float], ...] = field(repr=False)
    bracketed: bool


def golden_section(
    loss: Callable[[float], float],
    low: float,
    high: float,
    *,
    start: float | None = None,
    n_trials: int = 10,
) -> Search:
    """Minimise `loss` over [low, high], searching its logarithm.

    Args:
        loss: function of the setting; never called twice for the same value. One that is not a
            number is the worst.
        low: smallest setting, positive.
        high: largest setting.
        start: a guess between them; their geometric mean when absent.
        n_trials: how often `loss` may be called, at least 3.
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
            found = loss(value)
            tried[value] = math.inf if math.isnan(found) else found
        return tried[value]

    def is_bracket(left: float, middle: float, right: float) -> bool:
        return at(middle) < min(at(left), at(right))

    points = (math.log(low), math.log(guess), math.log(high))
    for point in points:  # of equals the first is the best
        at(point)
    for _ in range(min(_MOST_HALVINGS, n_trials - 3)):
        if is_bracket(*points):
            break
        left, middle, right = points
        left, right = (left, middle) if at(left) < at(right) else (middle, right)
        points = (left, (left + right) / 2, right)
    bracketed = is_bracket(*points)
    n_iterations = (
        n_trials - len(tried) - 1
    )  # two new calls in the first, one after; the ends are known already
    if bracketed and n_iterations > 0:
        optimize.minimize_scalar(
            at, bracket=points, method="golden", options={"maxiter": n_iterations}
        )
    best = min(tried, key=lambda value: tried[value])
    return Search(best, tried[best], tuple(sorted(tried.items())), bracketed)
