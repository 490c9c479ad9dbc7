"""Annealed population Monte Carlo: particles from the prior to the posterior, and the evidence on the way.

P particles start as draws of the prior. At each step the temperature b of prior * likelihood^b
rises as far as the particles can follow (the conditional ESS of the incremental weights
likelihood^(b' - b) falls to a given share of P), the particles are weighted, resampled when their
weights have become uneven, and moved by Hamiltonian trajectories until they have forgotten where
they were. The product of the mean incremental weights estimates Z (Neal, 2001; Del Moral, Doucet
and Jasra, 2006; adaptive temperatures: Zhou, Johansen and Aston, 2016).
"""

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from pmcnet import rng
from pmcnet.ais import diagnostics
from pmcnet.ais.annealed import genealogy
from pmcnet.ais.annealed.result import AnnealedRecord, AnnealedResult
from pmcnet.ais.annealed.selection import Selection, Systematic
from pmcnet.ais.annealed.tempering import AdaptiveTemperatures, Temperatures
from pmcnet.ais.comm import SERIAL, Communicator, agreed
from pmcnet.ais.hmc.adaptation import Mixer, Mixing, Tuning
from pmcnet.ais.hmc.kernel import HMC, Move, gaussian_step
from pmcnet.ais.hmc.preconditioners import Preconditioner, Score
from pmcnet.ais.hmc.shared_kernel import SharedKernel, shared_start
from pmcnet.ais.path import Path, Points, Tempered, check_tempered
from pmcnet.ais.samples import WeightedSamples
from pmcnet.errors import DegenerateWeightsError, InputError, TargetError

N_BLOCKS = 8
"""Groups of particles with a random stream each; part of the definition of a run, like the seed."""
FINAL_EFFORT = 2
"""At the target itself particles may make this many times more moves."""


class AnnealedState(NamedTuple):
    """What the next step needs: everything, so that a run can be stopped and continued after any step.

    `points` are the particles, `log_weight` (P,) their normalised log-weights, `origin` (P,) the
    ancestor of each in the first population. `log_evidence` is log Z of prior *
    likelihood^temperature, `ideal_variance` what its variance would be if the moves made particles
    independent, `least_ess` the smallest conditional ESS of all steps.
    """

    points: Points
    log_weight: Tensor
    origin: Tensor
    temperature: float
    log_evidence: float
    ideal_variance: float
    least_ess: float
    tuning: Tuning
    step: int
    seed: int

    @property
    def weight(self) -> Tensor:
        """Normalised weights (P,)."""
        return self.log_weight.exp()

    @property
    def log_evidence_error(self) -> float:
        """Standard error of `log_evidence`: from the families of particles, and at least the ideal one."""
        return math.sqrt(
            max(self.ideal_variance, genealogy.evidence_variance(self.weight, self.origin))
        )

    @property
    def samples(self) -> WeightedSamples:
        """The particles as weighted draws whose mean weight is Z."""
        return WeightedSamples(
            self.points.theta, self.log_weight + self.log_evidence + math.log(len(self.log_weight))
        )


class AnnealedInfo(NamedTuple):
    """What a person wants to know about one step.

    `ess` is of the weights before resampling, `conditional_ess` of this step's increment,
    `n_families` the effective number of families, `rise` that of the temperature.
    """

    ess: float
    conditional_ess: float
    resampled: bool
    n_families: float
    mixing: Mixing
    rise: float


Observer = Callable[[AnnealedState, AnnealedRecord], None]


@dataclass(frozen=True, kw_only=True)
class AnnealedPMC:
    """Annealed population Monte Carlo.

    Args:
        n_particles: P, an even number, best a multiple of 8: each group's moves are scaled by what
            the others show.
        ess_fraction: share of P that the conditional ESS of one temperature step may fall to.
        move: how particles move: `HMC()` or `MALA()`.
        n_moves: moves per temperature after the pilot that tunes them, twice as many at the target
            itself; None for as many as the mixing asks for.
        max_correlation: with n_moves=None, what the correlation with the values before the moves
            must fall to.
        max_moves: with n_moves=None, the most moves at one temperature, twice as many at the target
            itself.
        preconditioner: how moves are scaled.
        selection: how particles are resampled.
        resample_below: resample when the ESS is below this share of P.
        temperatures: a fixed ladder, `FixedTemperatures((0.1, 0.5, 1.0))`, instead of the adaptive
            one.
    """

    n_particles: int = 1000
    ess_fraction: float = 0.7
    move: Move = HMC()
    n_moves: int | None = None
    max_correlation: float = 0.25
    max_moves: int = 4
    preconditioner: Preconditioner = Score()
    selection: Selection = Systematic()
    resample_below: float = 0.8
    temperatures: Temperatures | None = None

    def __post_init__(self) -> None:
        n = self.n_particles
        if isinstance(n, bool) or not isinstance(n, int) or n < 4 or n % 2:
            raise InputError(f"n_particles must be an even whole number, at least 4; got {n!r}.")
        for name, least in (("n_moves", 0), ("max_moves", 1)):
            value = getattr(self, name)
            if value is not None and (
                isinstance(value, bool) or not isinstance(value, int) or value < least
            ):
                raise InputError(f"{name} must be a whole number, at least {least}; got {value!r}.")
        for name in ("max_correlation", "resample_below"):
            if not 0 < getattr(self, name) <= 1:
                raise InputError(f"{name} must lie in (0, 1]; got {getattr(self, name)}.")
        AdaptiveTemperatures(self.ess_fraction)

    def init(self, target: Tempered, *, seed: int, comm: Communicator = SERIAL) -> AnnealedState:
        """P draws of the prior, equally weighted."""
        check_tempered(target)
        seed, path = rng.check_seed(seed), Path(target)
        device = getattr(target, "device", rng.HOST)
        theta = path.draw(rng.streams(seed, 0, N_BLOCKS, device), self.n_particles)  # (P, D)
        log_weight = theta.new_full((len(theta),), -math.log(len(theta)), dtype=torch.float64)
        origin = torch.arange(len(theta), device=theta.device)
        tuning = Tuning(gaussian_step(path.dim), self.move.first_length())
        return AnnealedState(
            shared_start(path, theta, comm),
            log_weight,
            origin,
            0.0,
            0.0,
            0.0,
            math.inf,
            tuning,
            0,
            seed,
        )

    def step(
        self, state: AnnealedState, target: Tempered, comm: Communicator = SERIAL
    ) -> tuple[AnnealedState, AnnealedInfo]:
        """Raise the temperature, weight, resample where weights are uneven, move."""
        return self._step(state, Path(target), comm)

    def run(
        self,
        target: Tempered,
        *,
        seed: int = 0,
        state: AnnealedState | None = None,
        observers: Iterable[Observer] = (),
        max_steps: int | None = None,
        comm: Communicator = SERIAL,
    ) -> AnnealedResult:
        """All temperatures up to 1.

        Args:
            target: with log_prior, log_likelihood and sample_prior; `Bridge` makes one of any
                log-density.
            seed: the same seed gives the same run.
            state: where to go on from, e.g. the state an observer has stored; the seed is then the
                state's.
            observers: called with (state, record) after each temperature.
            max_steps: stop after this many temperatures even if 1 is not reached; the verdict then
                says so.
            comm: shares the groups of particles between processes, each of which calls this method.
        """
        path, start = Path(target), time.monotonic()
        state = self.init(target, seed=seed, comm=comm) if state is None else state
        if len(state.log_weight) != self.n_particles:
            raise InputError(
                f"the state holds {len(state.log_weight)} particles, the sampler has "
                f"n_particles={self.n_particles}. "
                "Continue with the settings the run was begun with."
            )
        history: list[AnnealedRecord] = []
        while state.temperature < 1 and (max_steps is None or len(history) < max_steps):
            state, info = self._step(state, path, comm)
            history.append(_record(state, info, time.monotonic() - start))
            for observer in observers:
                observer(state, history[-1])
        return AnnealedResult(state, tuple(history))

    def _step(
        self, state: AnnealedState, path: Path, comm: Communicator
    ) -> tuple[AnnealedState, AnnealedInfo]:
        sources = rng.streams(state.seed, state.step + 1, N_BLOCKS, state.points.theta.device)
        before = state.temperature
        state, conditional_ess = self._heated(state, comm)
        ess = agreed(comm, float(diagnostics.ess(state.log_weight)))
        n_families = genealogy.n_families(state.weight, state.origin)
        resampled = ess < self.resample_below * self.n_particles
        parent = torch.arange(self.n_particles, device=state.origin.device)
        if resampled:
            parent = comm.agreed(self.selection(state.log_weight, sources[0]))  # (P,)
            state = _resampled(state, parent)
        scale = self.preconditioner(state.points, state.weight, state.temperature)
        kernel = SharedKernel(path, state.temperature, scale, comm, self.n_particles)
        mixer = self._mixer(final=state.temperature == 1)
        points, mixing = mixer(
            kernel, state.points, state.weight, parent, state.tuning, sources, comm
        )
        rise = state.temperature - before
        info = AnnealedInfo(ess, conditional_ess, resampled, n_families, mixing, rise)
        return state._replace(points=points, tuning=mixing.tuning), info

    def _heated(self, state: AnnealedState, comm: Communicator) -> tuple[AnnealedState, float]:
        """The next temperature's weights and evidence, and the conditional ESS of the increment."""
        points, step = state.points, state.step + 1
        ladder = self.temperatures or AdaptiveTemperatures(self.ess_fraction)
        temperature = agreed(
            comm, ladder(state.temperature, points.log_likelihood, state.log_weight)
        )
        increment = (temperature - state.temperature) * points.log_likelihood  # (P,)
        log_weight = _some_weight(state.log_weight + increment)
        gain = float(log_weight.logsumexp(0))
        if not math.isfinite(gain) or temperature <= state.temperature:
            raise TargetError(
                f"the temperature cannot rise above {state.temperature:.3g}: the log-likelihoods "
                "of the particles lie "
                f"between {float(points.log_likelihood.min()):.3g} and "
                f"{float(points.log_likelihood.max()):.3g}. "
                "Check the likelihood far from the data's own values, or scale the data."
            )
        conditional_ess = diagnostics.conditional_ess(state.log_weight, increment)
        heated = state._replace(
            log_weight=log_weight - gain,
            temperature=temperature,
            log_evidence=state.log_evidence + gain,
            ideal_variance=state.ideal_variance + 1 / conditional_ess - 1 / len(log_weight),
            least_ess=min(state.least_ess, conditional_ess),
            step=step,
        )
        return heated, conditional_ess

    def _mixer(self, *, final: bool) -> Mixer:
        mixer = Mixer(self.move, self.n_moves, self.max_correlation, self.max_moves)
        if not final:
            return mixer
        n_moves = None if self.n_moves is None else FINAL_EFFORT * self.n_moves
        return replace(mixer, n_moves=n_moves, max_moves=FINAL_EFFORT * self.max_moves)


def _resampled(state: AnnealedState, parent: Tensor) -> AnnealedState:
    """Equally weighted copies of the chosen particles."""
    equal = torch.full_like(state.log_weight, -math.log(len(parent)))
    return state._replace(
        points=state.points.take(parent), log_weight=equal, origin=state.origin[parent]
    )


def _some_weight(log_weight: Tensor) -> Tensor:
    if (log_weight == -torch.inf).all():
        raise DegenerateWeightsError(
            f"the likelihood is zero at all {len(log_weight)} particles, so none has weight. "
            "Use more particles, or a prior that gives the data a chance."
        )
    return log_weight


def _record(state: AnnealedState, info: AnnealedInfo, seconds: float) -> AnnealedRecord:
    mixing = info.mixing
    return AnnealedRecord(
        step=state.step,
        temperature=state.temperature,
        rise=info.rise,
        ess=info.ess,
        conditional_ess=info.conditional_ess,
        n_families=info.n_families,
        log_evidence=state.log_evidence,
        log_evidence_error=state.log_evidence_error,
        acceptance=mixing.acceptance,
        step_size=mixing.tuning.step_size,
        n_leapfrog=mixing.tuning.n_leapfrog,
        n_moves=mixing.n_moves,
        n_gradients=mixing.n_gradients,
        correlation=mixing.correlation,
        jump=mixing.jump,
        drift=mixing.drift.largest,
        n_divergences=mixing.n_divergences,
        seconds=seconds,
    )
