"""How far moves have carried a population from where it was, and the settings that carry it farthest per gradient."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from pmcnet.ais.annealed.drift import Drift
from pmcnet.ais.comm import Communicator, agreed
from pmcnet.ais.hmc.kernel import Move
from pmcnet.ais.hmc.shared_kernel import SharedKernel
from pmcnet.ais.path import Points
from pmcnet.rng import Stream, standard_normal, uniform

PILOT_SPREAD = 1.5
"""Step sizes of the pilot move lie within this factor of the last one."""
SMALLEST_STEP = 0.4
"""Step sizes of the other moves are uniform from this share of the tuned one up to it, particle by particle.

A particle whose energy is below the typical one gains energy error in every coordinate as it
climbs, so at one common step size it is hardly ever accepted; resampling favours it all the same,
and in many dimensions its copies can take the population over. Small steps let it go. """
STEP_CHANGE = 4.0
"""Largest factor by which one pilot changes the step size."""
PILOT_REACH = 1.5
"""How much longer than the tuned length the pilot looks."""
BEST_TIME = 2.33
"""Length of the trajectory that carries farthest per gradient, in standard deviations; see `best_length`."""
MAX_LENGTH = 256
MAX_PILOTS = 8


class Tuning(NamedTuple):
    """What one temperature hands to the next: the step size and the number of leapfrog steps."""

    step_size: float
    n_leapfrog: int


class Mixing(NamedTuple):
    """What the moves at one temperature did.

    `correlation` is that of the log-likelihood, or of the monitors on average where that is larger,
    between before and after; `jump` the mean squared displacement in units of what independent
    draws would show; `n_gradients` counts batches, one gradient for each particle; `acceptance` is
    that of the moves with the frozen step size, 0 without any; `drift` what all of them did to the
    monitors' means.
    """

    tuning: Tuning
    n_moves: int
    n_gradients: int
    acceptance: float
    correlation: float
    jump: float
    n_divergences: int
    drift: Drift


def correlation(before: Tensor, after: Tensor, weight: Tensor) -> float:
    """Correlation of log-likelihood, log-prior and monitors (P, 2 + S) with what they were.

    The larger of the log-likelihood's and the monitors' mean; the log-prior is watched for drift
    alone.
    """
    spread = (_product(before, before, weight) * _product(after, after, weight)).sqrt()
    return _worst(_product(before, after, weight) / spread)


def _product(a: Tensor, b: Tensor, weight: Tensor) -> Tensor:
    return weight @ ((a - weight @ a) * (b - weight @ b))


def _worst(each: Tensor) -> float:
    """Monitors that do not vary (0 / 0) have nothing to forget."""
    first, others = each[0], each[2:][each[2:].isfinite()]
    first = first if first.isfinite() else others.new_zeros(())
    return float(torch.maximum(first, others.mean()) if len(others) else first)


def solve_step(acceptance: Tensor, step: Tensor, target: float) -> float:
    """The step size at which the mean acceptance is `target`, from those seen (P,) at different steps (P,).

    For trajectories of fixed length the energy error is Gaussian with a spread proportional to
    step^2, so acceptance is 2 Phi(-k step^2 / 2) (Beskos et al., Bernoulli 19, 2013). k is fitted
    by matching the mean.
    """
    mean, square = float(acceptance.mean()), step.double().cpu().square()
    low, high = math.log(1e-9), math.log(1e9)
    for _ in range(60):
        middle = 0.5 * (low + high)
        predicted = float(2 * torch.special.ndtr(-0.5 * math.exp(middle) * square).mean())
        low, high = (middle, high) if predicted > mean else (low, middle)
    quantile = -float(torch.special.ndtri(torch.tensor(0.5 * target, dtype=torch.float64)))
    return math.sqrt(2 * quantile / math.exp(0.5 * (low + high)))


def best_length(ways: Tensor) -> int:
    """The number of leapfrog steps with the largest mean squared jump per gradient, from those of 1, 2, ... steps (L,).

    In a Gaussian of unit spread the jump is 2 (1 - cos t) after time t, so the best t is 2.33:
    longer trajectories turn back, shorter ones walk at random.
    """
    return 1 + int((ways.cpu() / torch.arange(1, len(ways) + 1)).argmax())


@dataclass(frozen=True)
class Mixer:
    """Moves a population until it has forgotten where it was.

    Args:
        move: the kind of trajectory.
        n_moves: moves with the frozen step size; None for as many as bring the correlation down to
            `max_correlation`.
        max_correlation: what counts as forgotten.
        max_moves: where to give up.
    """

    move: Move
    n_moves: int | None
    max_correlation: float
    max_moves: int

    def __call__(
        self,
        kernel: SharedKernel,
        points: Points,
        weight: Tensor,
        parent: Tensor,
        tuning: Tuning,
        sources: Sequence[Stream],
        comm: Communicator,
    ) -> tuple[Points, Mixing]:
        """One pilot (more while its step size is far off), then the moves that count.

        Args:
            kernel: trajectories at this temperature.
            points: the population, with normalised weights (P,).
            weight: those weights.
            parent: which particles (P,) are copies of one another.
            tuning: of the temperature before.
            sources: random streams.
            comm: whose first process decides when to stop.
        """
        before, start = kernel.monitors(points), points
        accepted, n_moves, n_gradients, n_divergences = [], 0, 0, 0
        if self.n_moves != 0:
            points, tuning, n_gradients = self._pilot(kernel, points, weight, tuning, sources, comm)
        after = kernel.monitors(points)
        now = agreed(comm, correlation(before, after, weight))
        while n_moves < self.max_moves if self.n_moves is None else n_moves < self.n_moves:
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
        return points, Mixing(
            tuning, n_moves, n_gradients, acceptance, now, jump, n_divergences, drift
        )

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
                length = min(MAX_LENGTH, math.ceil(PILOT_REACH * length))
            step = (tuning.step_size * around(_per_particle(points, sources))).to(
                points.theta.dtype
            )  # (P,)
            unit = _spread(points.theta, weight)
            moved, ways = kernel.move(
                points, step[:, None], length, *_randomness(points, sources), unit=unit
            )
            points, n_gradients = moved.points, n_gradients + length
            wanted = (
                solve_step(moved.acceptance, step, self.move.target_acceptance) / tuning.step_size
            )
            wanted, ways = agreed(comm, wanted), comm.agreed(ways.mean(0))
            change = bounded(wanted)
            tuned = best_length(ways) if self.move.tunes_length else tuning.n_leapfrog
            tuning = Tuning(tuning.step_size * change, max(tuned, math.ceil(tuning.n_leapfrog / 2)))
            if 1 / PILOT_SPREAD <= change <= PILOT_SPREAD:
                break
        return points, tuning, n_gradients


def around(uniforms: Tensor) -> Tensor:
    """Factors of a pilot's step size around 1, from uniform numbers."""
    return torch.exp(math.log(PILOT_SPREAD) * (2 * uniforms - 1))


def bounded(change: float) -> float:
    """A change of the step size that one trajectory may make."""
    return min(max(change, 1 / STEP_CHANGE), STEP_CHANGE)


def _per_particle(points: Points, sources: Sequence[Stream]) -> Tensor:
    """Uniform numbers, one for each particle (P,), block by block."""
    n = len(points.theta)
    return uniform(sources, -(-n // len(sources)), like=points.theta).flatten()[:n]


def _randomness(points: Points, sources: Sequence[Stream]) -> tuple[Tensor, Tensor]:
    """Noise (P, D) and uniform numbers (P,) of one move, block by block."""
    n, dim = points.theta.shape
    noise = standard_normal(sources, (-(-n // len(sources)), dim), like=points.theta).flatten(0, 1)[
        :n
    ]
    return noise, _per_particle(points, sources)


def _spread(theta: Tensor, weight: Tensor) -> Tensor:
    """Standard deviation of each coordinate (D,)."""
    weight = weight.to(theta.dtype)
    return (weight @ (theta - weight @ theta).square()).sqrt()


def _jump(before: Tensor, after: Tensor, weight: Tensor) -> float:
    moved = float(weight @ (after - before).double().square().sum(-1))
    centred = after.double() - weight @ after.double()
    spread = 2 * float(weight @ centred.square().sum(-1))
    return moved / spread if spread > 0 else 0.0
