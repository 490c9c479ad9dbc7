"""Annealed population Monte Carlo: particles from the prior to the posterior, and the evidence on the way.

P particles start as draws of the prior. At each step the temperature b of prior * likelihood^b rises as far as the
particles can follow (the conditional ESS of the incremental weights likelihood^(b' - b) falls to a given share of P), the
particles are weighted, resampled when their weights have become uneven, and moved by Hamiltonian trajectories until they
have forgotten where they were. The product of the mean incremental weights estimates Z (Del Moral, Doucet and Jasra,
2006; Neal, 2001; adaptive temperatures: Zhou, Johansen and Aston, 2016).
"""

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from pmcnet import rng
from pmcnet.ais import diagnostics, lineage
from pmcnet.ais.mixing import Mixer, Mixing, Tuning
from pmcnet.ais.moves import HMC, Kernel, Move, gaussian_step
from pmcnet.ais.path import Path, Points, Tempered, check_tempered
from pmcnet.ais.preconditioners import Preconditioner, Score
from pmcnet.ais.selection import Selection, Systematic
from pmcnet.ais.temperatures import AdaptiveTemperatures, Temperatures
from pmcnet.errors import DegenerateWeightsError, InputError

N_BLOCKS = 8
"""Groups of particles with a random stream each; part of the definition of a run, like the seed."""


class AnnealedState(NamedTuple):
    """What the next step needs.

    `points` are the particles, `log_weight` (P,) their normalised log-weights, `origin` (P,) the ancestor of each in the
    first population. `log_evidence` is log Z of prior * likelihood^temperature, `ideal_variance` what its variance would
    be if the moves made particles independent.
    """

    points: Points
    log_weight: Tensor
    origin: Tensor
    temperature: float
    log_evidence: float
    ideal_variance: float
    tuning: Tuning
    step: int
    seed: int

    @property
    def weight(self) -> Tensor:
        """Normalised weights (P,)."""
        return self.log_weight.exp()

    @property
    def log_evidence_error(self) -> float:
        """Standard error of `log_evidence` from the families of particles."""
        return math.sqrt(lineage.evidence_variance(self.weight, self.origin))


class AnnealedInfo(NamedTuple):
    """What a person wants to know about one step.

    `ess` is of the weights before resampling, `conditional_ess` of this step's increment, `n_families` the effective
    number of families, `drift` (1 + S,) the change of the monitors' means by the moves, `drift_error` its standard
    error and `drift_spread` the monitors' standard deviations.
    """

    temperature: float
    ess: float
    conditional_ess: float
    resampled: bool
    n_families: float
    mixing: Mixing
    drift: Tensor
    drift_error: Tensor
    drift_spread: Tensor


@dataclass(frozen=True, kw_only=True)
class AnnealedPMC:
    """Annealed population Monte Carlo.

    Args:
        n_particles: P.
        ess_fraction: share of P that the conditional ESS of one temperature step may fall to.
        move: how particles move: `HMC()` or `MALA()`.
        n_moves: moves per temperature; None for as many as the measured mixing asks for.
        max_correlation: with n_moves=None, what the correlation with the values before the moves must fall to.
        max_moves: with n_moves=None, the most moves at one temperature.
        final_moves: factor for the number of moves at the target itself.
        preconditioner: how moves are scaled.
        selection: how particles are resampled.
        resample_below: resample when the ESS is below this share of P.
        temperatures: a fixed ladder instead of the adaptive one.
    """

    n_particles: int = 1000
    ess_fraction: float = 0.5
    move: Move = HMC()
    n_moves: int | None = None
    max_correlation: float = 0.2
    max_moves: int = 20
    preconditioner: Preconditioner = Score()
    selection: Selection = Systematic()
    resample_below: float = 0.8
    temperatures: Temperatures | None = None

    def init(self, target: Tempered, *, seed: int) -> AnnealedState:
        """P draws of the prior, equally weighted."""
        check_tempered(target)
        seed, path = rng.check_seed(seed), Path(target)
        device = getattr(target, "device", rng.HOST)
        theta = path.draw(rng.streams(seed, 0, N_BLOCKS, device), self.n_particles)  # (P, D)
        n = len(theta)
        log_weight = torch.full((n,), -math.log(n), dtype=torch.float64, device=theta.device)
        origin = torch.arange(n, device=theta.device)
        tuning = Tuning(gaussian_step(path.dim), self.move.first_length())
        return AnnealedState(path.start(theta), log_weight, origin, 0.0, 0.0, 0.0, tuning, 0, seed)

    def step(self, state: AnnealedState, target: Tempered) -> tuple[AnnealedState, AnnealedInfo]:
        """Raise the temperature, weight, resample if needed, move."""
        path, points, step = Path(target), state.points, state.step + 1
        sources = rng.streams(state.seed, step, N_BLOCKS, points.theta.device)
        ladder = self.temperatures or AdaptiveTemperatures(self.ess_fraction)
        temperature = ladder(state.temperature, points.log_likelihood, state.log_weight, step)
        increment = (temperature - state.temperature) * points.log_likelihood  # (P,)
        log_weight = _some_weight(state.log_weight + increment)
        gain = float(log_weight.logsumexp(0))
        conditional = diagnostics.conditional_ess(state.log_weight, increment)
        state = state._replace(
            log_weight=log_weight - gain,
            temperature=temperature,
            log_evidence=state.log_evidence + gain,
            ideal_variance=state.ideal_variance + 1 / conditional - 1 / len(log_weight),
            step=step,
        )
        ess, n_families = float(diagnostics.ess(state.log_weight)), lineage.n_families(state.weight, state.origin)
        resampled = ess < self.resample_below * self.n_particles
        parent = torch.arange(len(log_weight), device=log_weight.device)
        if resampled:
            parent = self.selection(state.log_weight, sources[0])  # (P,)
            state = _resampled(state, parent)
        weight = state.weight
        kernel = Kernel(path, temperature, self.preconditioner(state.points, weight, temperature))
        before = kernel.monitors(state.points)
        points, mixing = self._mixer(kernel, state.points, weight, state.tuning, sources)
        after = kernel.monitors(points)
        change, spread = after - before, (weight @ (after - weight @ after).square()).sqrt()
        drift_error = lineage.mean_variance(change, weight, parent).sqrt()
        info = AnnealedInfo(
            temperature, ess, conditional, resampled, n_families, mixing, weight @ change, drift_error, spread
        )
        return state._replace(points=points, tuning=mixing.tuning), info

    @property
    def _mixer(self) -> Mixer:
        return Mixer(self.move, self.n_moves, self.max_correlation, self.max_moves)


def _resampled(state: AnnealedState, parent: Tensor) -> AnnealedState:
    """Equally weighted copies of the chosen particles."""
    equal = torch.full_like(state.log_weight, -math.log(len(parent)))
    return state._replace(points=state.points.take(parent), log_weight=equal, origin=state.origin[parent])


def _some_weight(log_weight: Tensor) -> Tensor:
    if (log_weight == -torch.inf).all():
        raise DegenerateWeightsError(
            f"the likelihood is zero at all {len(log_weight)} particles, so none has weight. "
            "Use more particles, or a prior that gives the data a chance."
        )
    return log_weight
