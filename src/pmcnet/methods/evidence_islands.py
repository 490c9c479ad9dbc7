"""The small islands whose log Z compares models and prior scales before a fit."""

from pmcnet import ais
from pmcnet.bnn.waypoints import FEWEST_ROWS, GROWTH
from pmcnet.methods.cost import Cost

_SHARE = 0.25  # of the time limit of a fit that comparisons may take, where that is short
_BASE, _MORE_SHARE = 10.0, 0.05  # seconds, and share, where it is long
BATCH = ais.AnnealedPMC(n_particles=16, n_islands=4, ess_fraction=0.5, n_moves=1)
"""The islands of each comparison."""
N_PARTICLES = BATCH.n_islands * BATCH.n_particles
GRADIENTS = 2500.0
"""Of each particle that annealing to the first waypoint, or to the target, should have time for."""
_MORE = 500.0  # of each particle from one waypoint to the next
_POLISH = 0.05


def allowance(seconds: float) -> float:
    """Seconds that comparisons may take of the time limit of a fit."""
    return min(_SHARE * seconds, _BASE + _MORE_SHARE * seconds)


def comparing(seconds: float | None, n: int) -> ais.Islands:
    """Those of one of `n` comparisons before a fit of so many seconds; None is no limit."""
    each = None if seconds is None else allowance(seconds) / n
    return ais.Islands(annealing=BATCH, n_islands=BATCH.n_islands, polish=_POLISH, max_seconds=each)


def particle_seconds(cost: Cost) -> float:
    """About what annealing one particle to all rows takes, by way of some of them."""
    seconds, n_rows = 0.0, float(cost.n_rows)
    while n_rows >= GROWTH * FEWEST_ROWS:
        seconds += (cost.gradient(n_rows) + cost.per_product) * _MORE
        n_rows /= GROWTH
    return seconds + (cost.gradient(n_rows) + cost.per_product) * GRADIENTS
