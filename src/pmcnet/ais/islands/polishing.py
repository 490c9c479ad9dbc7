"""Hamiltonian trajectories of a batch of islands at the posterior: first tuned, then frozen.

The first rounds tune the step size and the length, and end with the places from which the scales
of the moves are learnt. From then on nothing adapts, so every trajectory leaves the posterior
invariant and every population is one of draws.
"""

import math
from typing import NamedTuple

import torch

from pmcnet import rng
from pmcnet.ais.annealed.algorithm import AnnealedPMC
from pmcnet.ais.annealed.rejuvenation import Moves, Rejuvenation
from pmcnet.ais.annealed.reweighting import resampled
from pmcnet.ais.comm import Communicator
from pmcnet.ais.islands.draws import with_population
from pmcnet.ais.islands.settling import settled
from pmcnet.ais.islands.state import IslandsState, Polish
from pmcnet.ais.path import Path

ROUND = 4
"""Trajectories of a round, at the end of which a population may be kept."""
_STREAMS = 1 << 40  # of these trajectories, apart from those of annealing


class Polished(NamedTuple):
    """A state after a round of trajectories, and what they did."""

    state: IslandsState
    moves: Moves


def polished(
    annealing: AnnealedPMC, state: IslandsState, path: Path, comm: Communicator, n_tuning: int
) -> Polished:
    """One round; the first `n_tuning` of a batch tune."""
    batch, polish = state.batch, state.polish
    place, device = _STREAMS + polish.n_tuned + polish.n_rounds, batch.points.theta.device
    sources = [
        rng.stream(state.seed, place, batch.first_island + block, device)
        for block in range(batch.n_islands)
    ]
    if polish.n_tuned + polish.n_rounds == 0:
        batch = resampled(batch, annealing.selection, math.inf, sources, comm).state
        polish = Polish.begun(batch.points, batch.n_islands)
    tuning = polish.n_tuned < n_tuning
    known = batch.points if tuning else polish.frozen
    kernel = annealing.kernel(known, batch.weight, 1.0, path, comm)
    rejuvenation = Rejuvenation(
        annealing.move, ROUND, annealing.max_correlation, ROUND, annealing.max_leapfrog, tuning
    )
    itself = torch.arange(len(batch.weight), device=device)
    points, moves = rejuvenation(
        kernel, batch.points, batch.weight, itself, batch.tuning, sources, comm
    )
    polish = polish._replace(n_gradients=polish.n_gradients + moves.n_gradients)
    if tuning:
        polish = polish._replace(frozen=points, n_tuned=polish.n_tuned + 1)
    else:
        polish = settled(with_population(polish, points.theta), path, points, comm)
        change = (moves.acceptance - polish.acceptance) / polish.n_rounds
        polish = polish._replace(acceptance=polish.acceptance + change)
    batch = batch._replace(points=points, tuning=moves.tuning)
    return Polished(state._replace(batch=batch, polish=polish), moves)
