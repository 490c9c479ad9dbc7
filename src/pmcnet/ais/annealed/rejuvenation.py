"""Moves at one inverse temperature until the particles have forgotten where they were."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from pmcnet.ais.annealed.drift import Drift
from pmcnet.ais.comm import Communicator, agreed
from pmcnet.ais.hmc.adaptation import (
    MAX_LENGTH,
    MAX_PILOTS,
    PILOT_REACH,
    PILOT_SPREAD,
    Tuning,
    around,
    best_length,
    bounded,
    solve_step,
)
from pmcnet.ais.hmc.kernel import Move, watched_part
from pmcnet.ais.hmc.shared_kernel import SharedKernel
from pmcnet.ais.path import Points
from pmcnet.rng import Stream, standard_normal, uniform

TARGET_ACCEPTANCE = 0.75
"""Mean acceptance that the default move of `AnnealedPMC` tunes its step size to."""
SMALLEST_STEP = 0.4
"""Each particle's step size is uniform between this share of the tuned one and the tuned one.

A particle whose energy is below the typical one gains energy error in every coordinate as it
climbs, so it is hardly ever accepted at one common step size. Resampling favours it all the same,
and in many dimensions its copies can take over the population. Small steps free it.
"""


class Moves(NamedTuple):
    """What the moves at one inverse temperature did.

    `correlation` is that between before and after: of the log-likelihood, or of the monitors on
    average where that is larger. `jump` is the mean squared displacement in units of what
    independent draws would show. `n_gradients` counts batches, one gradient for each particle.
    `acceptance` is that of the moves with the frozen step size, 0 without any. `drift` is what all
    of them did to the means of the monitors.
    """

    tuning: Tuning
    n_moves: int
    n_gradients: int
    acceptance: float
    correlation: float
    jump: float
    n_divergences: int
    drift: Drift


@dataclass(frozen=True)
class Rejuvenation:
    """Moves a population until it has forgotten where it was.

    Args:
        move: the kind of trajectory.
        n_moves: moves with the frozen step size; None for as many as bring the correlation down to
            `max_correlation`.
        max_correlation: what counts as forgotten.
        max_moves: where to give up.
        max_leapfrog: longest trajectory that a pilot may choose.
        tuned: whether pilots come first; without them nothing adapts.
    """

    move: Move
    n_moves: int | None
    max_correlation: float
    max_moves: int
    max_leapfrog: int = MAX_LENGTH
    tuned: bool = True

    def __call__(
        self,
        kernel: SharedKernel,
        points: Points,
        weight: Tensor,
        parent: Tensor,
        tuning: Tuning,
        sources: Sequence[Stream],
        comm: Communicator,
    ) -> tuple[Points, Moves]:
        """One pilot (more while its step size is far off), then the moves that count.

        Args:
            kernel: trajectories at this inverse temperature.
            points: the population.
            weight: its normalised weights (P,).
            parent: which particles (P,) are copies of one another.
            tuning: of the tempering step before.
            sources: random streams.
            comm: whose first process decides when to stop.
        """
        before, start = kernel.monitors(points), points
        accepted, n_moves, n_gradients, n_divergences = [], 0, 0, 0
        if self.tuned and self.n_moves != 0:
            points, tuning, n_gradients = self._pilot(kernel, points, weight, tuning, sources, comm)
        after = kernel.monitors(points)
        now = agreed(comm, correlation(before, after, weight))
        while n_moves < (self.max_moves if self.n_moves is None else self.n_moves):
            length = self.move.length(tuning.n_leapfrog, float(sources[0].host.random()))
            share = SMALLEST_STEP + (1 - SMALLEST_STEP) * _per_particle(points, sources)
            step = (tuning.step_size * share).to(points.theta.dtype)  # (P,)
            moved, _ = kernel.move(points, step[:, None], length, *_randomness(points, sources))
            points, n_moves, n_gradients = moved.points, n_moves + 1, n_gradients + length
            n_divergences += int(moved.divergent.sum())
            accepted.append(float(moved.acceptance.mean()))
            after = kernel.monitors(points)
            now = agreed(comm, correlation(before, after, weight))
            if self.n_moves is None and now <= self.max_correlation:
                break
        acceptance = sum(accepted) / len(accepted) if accepted else 0.0
        jump = _jump(start.theta, points.theta, weight)
        drift = Drift.between(before, after, weight, parent)
        moves = Moves(tuning, n_moves, n_gradients, acceptance, now, jump, n_divergences, drift)
        return points, moves

    def _pilot(
        self,
        kernel: SharedKernel,
        points: Points,
        weight: Tensor,
        tuning: Tuning,
        sources: Sequence[Stream],
        comm: Communicator,
    ) -> tuple[Points, Tuning, int]:
        n_gradients = 0
        for _ in range(MAX_PILOTS):
            length = tuning.n_leapfrog
            if self.move.tunes_length:
                length = min(self.max_leapfrog, math.ceil(PILOT_REACH * length))
            factor = around(_per_particle(points, sources))
            step = (tuning.step_size * factor).to(points.theta.dtype)  # (P,)
            variance = _variance(watched_part(points.theta).double(), weight)  # (S,)
            moved, jumps = kernel.move(
                points, step[:, None], length, *_randomness(points, sources), watched=True
            )
            points, n_gradients = moved.points, n_gradients + length
            solved = solve_step(moved.acceptance, step, self.move.target_acceptance)
            change = bounded(agreed(comm, solved / tuning.step_size))
            tuned = tuning.n_leapfrog
            if self.move.tunes_length:
                best = best_length(comm.agreed(jumps.mean(0)), comm.agreed(variance))
                tuned = min(self.max_leapfrog, max(best, math.ceil(tuned / 2)))
            tuning = Tuning(tuning.step_size * change, tuned)
            if 1 / PILOT_SPREAD <= change <= PILOT_SPREAD:
                break
        return points, tuning, n_gradients


def correlation(before: Tensor, after: Tensor, weight: Tensor) -> float:
    """Correlation of log-likelihood, log-prior and monitors (P, 2 + S) with their earlier values.

    The larger of the log-likelihood's and the monitors' mean; the log-prior is watched for drift
    alone.
    """
    spread = (_product(before, before, weight) * _product(after, after, weight)).sqrt()
    each = _product(before, after, weight) / spread
    first, others = each[0], each[2:][each[2:].isfinite()]  # 0 / 0 has nothing to forget
    first = first if first.isfinite() else others.new_zeros(())
    return float(torch.maximum(first, others.mean()) if len(others) else first)


def _product(a: Tensor, b: Tensor, weight: Tensor) -> Tensor:
    return weight @ ((a - weight @ a) * (b - weight @ b))


def _per_particle(points: Points, sources: Sequence[Stream]) -> Tensor:
    """Uniform numbers, one for each particle (P,), block by block."""
    n = len(points.theta)
    return uniform(sources, -(-n // len(sources)), like=points.theta).flatten()[:n]


def _randomness(points: Points, sources: Sequence[Stream]) -> tuple[Tensor, Tensor]:
    """Noise (P, D) and uniform numbers (P,) of one move, block by block."""
    n, dim = points.theta.shape
    noise = standard_normal(sources, (-(-n // len(sources)), dim), like=points.theta)
    return noise.flatten(0, 1)[:n], _per_particle(points, sources)


def _variance(value: Tensor, weight: Tensor) -> Tensor:
    """Weighted variance of values (P, S): (S,)."""
    return weight @ (value - weight @ value).square()


def _jump(before: Tensor, after: Tensor, weight: Tensor) -> float:
    moved = float(weight @ (after - before).double().square().sum(-1))
    centred = after.double() - weight @ after.double()
    spread = 2 * float(weight @ centred.square().sum(-1))
    return moved / spread if spread > 0 else 0.0
