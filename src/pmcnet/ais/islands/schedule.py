"""What there is time for: how long trajectories may be, and whether another batch fits."""

import math
from dataclasses import replace

from pmcnet.ais.annealed.algorithm import AnnealedPMC
from pmcnet.ais.islands.state import IslandsState
from pmcnet.ais.verdict import needed_islands

ANNEALING_SHARE = 0.5
"""Of the time limit that the annealing of the first batch may take."""
LEAST_LENGTH = 4
"""Leapfrog steps that trajectories keep, however short the time is."""
_PILOT = 1.5  # gradients of a pilot, in trajectories
_POWER = 0.25  # tempering steps grow like beta^(1 - power); see `steps_left`


def capped(
    annealing: AnnealedPMC,
    state: IslandsState,
    limit: float,
    n_stages: int = 1,
    cost: float = 1.0,
) -> AnnealedPMC:
    """The annealing with trajectories no longer than the time allows.

    Args:
        annealing: as it would be without a limit.
        state: from which it goes on.
        limit: seconds of the run.
        n_stages: of annealing, each of which may take an equal part.
        cost: of a gradient of this stage, in those of the target.
    """
    if math.isinf(limit) or not state.rise or not state.n_gradients:
        return annealing
    before = state.seconds - state.batch_seconds
    share = ANNEALING_SHARE * (state.batch.stage + 1) / n_stages
    allowed = share * (limit - before) - state.batch_seconds
    per_step = allowed / steps_left(state) * state.n_gradients / state.batch_seconds
    n_moves = annealing.max_moves if annealing.n_moves is None else annealing.n_moves
    longest = int(per_step / (_PILOT + n_moves) / cost)
    return replace(annealing, max_leapfrog=min(annealing.max_leapfrog, max(LEAST_LENGTH, longest)))


def steps_left(state: IslandsState) -> float:
    """About how many tempering steps a batch still needs in its stage, at least one.

    With steps d ~ beta^(3/4), (beta / d) integral of x^(-3/4) over [1, 1 / beta].
    """
    beta = state.batch.beta
    return max(1.0, beta / state.rise * (math.pow(beta, -_POWER) - 1) / _POWER)


def fits(state: IslandsState, limit: float) -> bool:
    """Whether another batch like this one ends before the limit."""
    return state.seconds + state.batch_seconds <= limit


def remaining(state: IslandsState, n_islands: int | None, limit: float, n_stages: int) -> float:
    """About how many seconds a run still takes; a stage of annealing like the one before it."""
    if state.ended:
        return 0.0
    left = limit - state.seconds
    if state.batch.beta < 1:
        own = (
            state.batch_seconds / max(1, state.batch.step) * steps_left(state)
            if state.rise
            else math.nan
        )
        own += (n_stages - 1 - state.batch.stage) * (own + state.batch_seconds)
        own += ANNEALING_SHARE * (state.batch_seconds + own)
        n_more, each = _batches(state, n_islands) - 1, state.batch_seconds + own
    else:
        own, n_more, each = 0.0, _batches(state, n_islands), state.batch_seconds
    found = own + max(0.0, n_more) * each
    return max(0.0, min(left, found)) if math.isfinite(found) else left


def _batches(state: IslandsState, n_islands: int | None) -> float:
    """About how many batches are still to come, that at work counted where it is annealed."""
    wanted = needed_islands(state.agreement) if n_islands is None else n_islands
    return (wanted - state.n_islands) / state.batch.n_islands
