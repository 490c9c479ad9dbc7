"""Annealed population Monte Carlo: particles from the prior to the posterior, and the evidence.

P particles start as draws of the prior. At each step the inverse temperature beta of
prior * likelihood^beta rises as far as the particles can follow: the conditional ESS of the
incremental weights likelihood^(beta' - beta) falls to a given share of P. The particles are
weighted, resampled when their weights have become uneven, and moved by Hamiltonian trajectories
until they have forgotten where they were. The product of the mean incremental weights estimates Z
(Neal, 2001; Del Moral, Doucet and Jasra, 2006; adaptive ladder: Zhou, Johansen and Aston, 2016).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from pmcnet import rng
from pmcnet.ais import diagnostics
from pmcnet.ais.annealed.rejuvenation import TARGET_ACCEPTANCE, Moves, Rejuvenation
from pmcnet.ais.annealed.result import AnnealedResult
from pmcnet.ais.annealed.selection import Selection, Systematic
from pmcnet.ais.annealed.state import AnnealedInfo, AnnealedState
from pmcnet.ais.annealed.tempering import AdaptiveTempering, Tempering
from pmcnet.ais.comm import SERIAL, Communicator, agreed
from pmcnet.ais.hmc.adaptation import Tuning
from pmcnet.ais.hmc.kernel import HMC, Move, gaussian_step
from pmcnet.ais.hmc.preconditioners import Preconditioner, Score
from pmcnet.ais.hmc.shared_kernel import SharedKernel, shared_start
from pmcnet.ais.path import Path, Tempered
from pmcnet.ais.sampler import Observer, run
from pmcnet.errors import DegenerateWeightsError, InputError, TargetError

N_BLOCKS = 8
"""Groups of particles with a random stream each; part of the definition of a run, like the seed."""
FINAL_EFFORT = 2
"""At the target itself particles may make this many times more moves."""


@dataclass(frozen=True, kw_only=True)
class AnnealedPMC:
    """Annealed population Monte Carlo.

    Args:
        n_particles: P, an even number, best a multiple of 8: each group's moves are scaled by what
            the others show.
        ess_fraction: share of P that the conditional ESS of one tempering step may fall to.
        move: how particles move: `HMC()` or `MALA()`; its `target_acceptance` tunes the step size.
        n_moves: moves per tempering step after the pilot that tunes them, twice as many at the
            target itself; None for as many as bring the correlation down.
        max_correlation: with n_moves=None, what the correlation with the values before the moves
            must fall to.
        max_moves: with n_moves=None, the most moves at one inverse temperature, twice as many at
            the target itself.
        preconditioner: how moves are scaled.
        selection: how particles are resampled.
        resample_below: resample when the ESS is below this share of P.
        tempering: a fixed ladder, `FixedTempering((0.1, 0.5, 1.0))`, instead of the adaptive one.
    """

    n_particles: int = 1000
    ess_fraction: float = 0.7
    move: Move = HMC(target_acceptance=TARGET_ACCEPTANCE)
    n_moves: int | None = None
    max_correlation: float = 0.25
    max_moves: int = 4
    preconditioner: Preconditioner = Score()
    selection: Selection = Systematic()
    resample_below: float = 0.8
    tempering: Tempering | None = None

    default_steps: ClassVar[int | None] = None

    def __post_init__(self) -> None:
        n = self.n_particles
        if type(n) is not int or n < 4 or n % 2:
            raise InputError(f"n_particles must be an even whole number, at least 4; got {n!r}.")
        for name, least in (("n_moves", 0), ("max_moves", 1)):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < least):
                raise InputError(f"{name} must be a whole number, at least {least}; got {value!r}.")
        for name in ("max_correlation", "resample_below"):
            if not 0 < getattr(self, name) <= 1:
                raise InputError(f"{name} must lie in (0, 1]; got {getattr(self, name)}.")
        AdaptiveTempering(self.ess_fraction)

    def init(
        self, target: Tempered | Path, *, seed: int, comm: Communicator = SERIAL
    ) -> AnnealedState:
        """P draws of the prior, equally weighted."""
        path, seed = self.prepared(target), rng.check_seed(seed)
        device = getattr(path.target, "device", rng.HOST)
        theta = path.draw(rng.streams(seed, 0, N_BLOCKS, device), self.n_particles)  # (P, D)
        return AnnealedState(
            points=shared_start(path, theta, comm),
            log_weight=theta.new_full((len(theta),), -math.log(len(theta)), dtype=torch.float64),
            origin=torch.arange(len(theta), device=theta.device),
            beta=0.0,
            log_evidence=0.0,
            ideal_variance=0.0,
            least_ess=math.inf,
            tuning=Tuning(gaussian_step(path.dim), self.move.first_length()),
            step=0,
            seed=seed,
        )

    def prepared(self, target: Tempered | Path) -> Path:
        """The path of the target, whose captured graph all steps share."""
        return Path.of(target)

    def step(
        self, state: AnnealedState, target: Tempered | Path, comm: Communicator = SERIAL
    ) -> tuple[AnnealedState, AnnealedInfo]:
        """Raise beta, weight, resample where weights are uneven, move."""
        self._check_size(state)
        sources = rng.streams(state.seed, state.step + 1, N_BLOCKS, state.points.theta.device)
        before = state.beta
        state, conditional_ess = self._tempered(state, comm)
        ess, n_ancestors = agreed(comm, float(diagnostics.ess(state.log_weight))), state.n_ancestors
        resampled = ess < self.resample_below * self.n_particles
        parent = torch.arange(self.n_particles, device=state.origin.device)
        if resampled:
            parent = comm.agreed(self.selection(state.log_weight, sources[0]))  # (P,)
            state = _resampled(state, parent)
        mass = self.preconditioner(state.points, state.weight, state.beta)
        kernel = SharedKernel(Path.of(target), state.beta, mass, comm, self.n_particles)
        rejuvenation = self._rejuvenation(final=state.beta == 1)
        points, moves = rejuvenation(
            kernel, state.points, state.weight, parent, state.tuning, sources, comm
        )
        state = state._replace(points=points, tuning=moves.tuning)
        rise = state.beta - before
        return state, _info(state, moves, ess, conditional_ess, n_ancestors, resampled, rise)

    def done(self, state: AnnealedState) -> bool:
        """Whether the posterior is reached."""
        return state.beta >= 1

    def compact(self, info: AnnealedInfo) -> AnnealedInfo:
        """All of it."""
        return info

    def result(
        self,
        state: AnnealedState,
        history: Sequence[AnnealedInfo],
        target: Tempered | Path,
        comm: Communicator = SERIAL,
    ) -> AnnealedResult:
        """The particles as weighted draws."""
        return AnnealedResult(state, tuple(history))

    def run(
        self,
        target: Tempered | Path,
        *,
        seed: int = 0,
        state: AnnealedState | None = None,
        n_steps: int | None = None,
        observers: Iterable[Observer[AnnealedState, AnnealedInfo]] = (),
        comm: Communicator = SERIAL,
    ) -> AnnealedResult:
        """`ais.run` from the prior, or from a state, to the posterior.

        Args:
            target: with log_prior, log_likelihood and sample_prior; `Bridge` makes one of any
                log-density.
            seed: the same seed gives the same run.
            state: where to go on from, e.g. the state an observer has stored; the seed is then the
                state's.
            n_steps: stop after this many tempering steps even if the posterior is not reached; the
                verdict then says so.
            observers: called with (state, info) after each tempering step.
            comm: shares the groups of particles between processes, each of which calls this method.
        """
        path = self.prepared(target)
        state = self.init(path, seed=seed, comm=comm) if state is None else state
        self._check_size(state)
        return run(self, path, state, n_steps=n_steps, observers=observers, comm=comm)

    def _check_size(self, state: AnnealedState) -> None:
        if len(state.log_weight) != self.n_particles:
            raise InputError(
                f"the state holds {len(state.log_weight)} particles, the sampler has "
                f"n_particles={self.n_particles}. Continue with the settings the run was begun "
                "with."
            )

    def _tempered(self, state: AnnealedState, comm: Communicator) -> tuple[AnnealedState, float]:
        """Weights and evidence at the next beta, and the conditional ESS of the increment."""
        points, step = state.points, state.step + 1
        ladder = self.tempering or AdaptiveTempering(self.ess_fraction)
        beta = agreed(comm, ladder(state.beta, points.log_likelihood, state.log_weight))
        increment = (beta - state.beta) * points.log_likelihood  # (P,)
        log_weight = _some_weight(state.log_weight + increment)
        gain = float(log_weight.logsumexp(0))
        if not math.isfinite(gain) or beta <= state.beta:
            least, most = (float(end) for end in points.log_likelihood.aminmax())
            raise TargetError(
                f"the inverse temperature cannot rise above {state.beta:.3g}: the log-likelihoods "
                f"of the particles lie between {least:.3g} and {most:.3g}. Check the likelihood "
                "far from the data's own values, or scale the data."
            )
        conditional_ess = diagnostics.conditional_ess(state.log_weight, increment)
        tempered = state._replace(
            log_weight=log_weight - gain,
            beta=beta,
            log_evidence=state.log_evidence + gain,
            ideal_variance=state.ideal_variance + 1 / conditional_ess - 1 / len(log_weight),
            least_ess=min(state.least_ess, conditional_ess),
            step=step,
        )
        return tempered, conditional_ess

    def _rejuvenation(self, *, final: bool) -> Rejuvenation:
        effort = FINAL_EFFORT if final else 1
        n_moves = None if self.n_moves is None else effort * self.n_moves
        return Rejuvenation(self.move, n_moves, self.max_correlation, effort * self.max_moves)


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


def _info(
    state: AnnealedState,
    moves: Moves,
    ess: float,
    conditional_ess: float,
    n_ancestors: float,
    resampled: bool,
    rise: float,
) -> AnnealedInfo:
    return AnnealedInfo(
        step=state.step,
        beta=state.beta,
        rise=rise,
        ess=ess,
        conditional_ess=conditional_ess,
        n_ancestors=n_ancestors,
        resampled=resampled,
        log_evidence=state.log_evidence,
        log_evidence_error=state.log_evidence_error,
        acceptance=moves.acceptance,
        step_size=moves.tuning.step_size,
        n_leapfrog=moves.tuning.n_leapfrog,
        n_moves=moves.n_moves,
        n_gradients=moves.n_gradients,
        correlation=moves.correlation,
        jump=moves.jump,
        drift=moves.drift.largest,
        n_divergences=moves.n_divergences,
    )
