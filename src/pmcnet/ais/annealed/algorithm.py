"""Annealed population Monte Carlo: particles from the prior to the posterior, and the evidence.

P particles start as draws of the prior, on one island or on each of several. At each step the
inverse temperature beta of prior * likelihood^beta rises as far as the particles can follow: the
conditional ESS of the incremental weights likelihood^(beta' - beta) falls to a given share of P.
The particles are weighted, resampled when their weights have become uneven, and moved by
Hamiltonian trajectories until they have forgotten where they were. The product of the mean
incremental weights estimates Z (Neal, 2001; Del Moral, Doucet and Jasra, 2006; adaptive ladder:
Zhou, Johansen and Aston, 2016).

A target may name waypoints, easier targets with the same parameters and prior, whose posteriors are
reached one after the other (`staged_path`).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from pmcnet import rng
from pmcnet.ais.annealed.rejuvenation import TARGET_ACCEPTANCE, Moves, Rejuvenation
from pmcnet.ais.annealed.result import AnnealedResult
from pmcnet.ais.annealed.reweighting import Reweighted, reweighted
from pmcnet.ais.annealed.selection import Selection, Systematic
from pmcnet.ais.annealed.staged_path import onward, stages_of
from pmcnet.ais.annealed.state import AnnealedInfo, AnnealedState
from pmcnet.ais.annealed.tempering import AdaptiveTempering, Tempering
from pmcnet.ais.comm import SERIAL, Communicator
from pmcnet.ais.hmc.adaptation import MAX_LENGTH, Tuning
from pmcnet.ais.hmc.kernel import HMC, Move, gaussian_step
from pmcnet.ais.hmc.preconditioners import Preconditioner, Score
from pmcnet.ais.hmc.shared_kernel import SharedKernel, shared_start
from pmcnet.ais.path import Path, Points
from pmcnet.ais.sampler import Observer, run
from pmcnet.ais.tempered import Tempered
from pmcnet.errors import InputError

N_BLOCKS = 8
"""Groups of particles with a random stream each; part of the definition of a run, like the seed."""
FINAL_EFFORT = 2
"""At the target itself particles may make this many times more moves."""


@dataclass(frozen=True, kw_only=True)
class AnnealedPMC:
    """Annealed population Monte Carlo.

    Args:
        n_particles: P of each island, an even number, best a multiple of 8: the moves of each
            eighth of all particles are scaled by what the others show.
        n_islands: G, populations that share the ladder and the tuning of their moves and are
            weighted and resampled apart.
        ess_fraction: share of P that the conditional ESS of one tempering step may fall to.
        move: how particles move: `HMC()` or `MALA()`; its `target_acceptance` tunes the step size.
        n_moves: moves per tempering step after the pilot that tunes them, twice as many at the
            target itself; None for as many as bring the correlation down.
        max_correlation: with n_moves=None, what the correlation with the values before the moves
            must fall to.
        max_moves: with n_moves=None, the most moves at one inverse temperature, twice as many at
            the target itself.
        max_leapfrog: the longest trajectory where the move tunes its length.
        preconditioner: how moves are scaled.
        selection: how particles are resampled.
        resample_below: resample when the ESS is below this share of P.
        tempering: a fixed ladder, `FixedTempering((0.1, 0.5, 1.0))`, instead of the adaptive one.
    """

    n_particles: int = 1000
    n_islands: int = 1
    ess_fraction: float = 0.7
    move: Move = HMC(target_acceptance=TARGET_ACCEPTANCE)
    n_moves: int | None = None
    max_correlation: float = 0.25
    max_moves: int = 4
    max_leapfrog: int = MAX_LENGTH
    preconditioner: Preconditioner = Score()
    selection: Selection = Systematic()
    resample_below: float = 0.8
    tempering: Tempering | None = None

    default_steps: ClassVar[int | None] = None

    def __post_init__(self) -> None:
        n = self.n_particles
        if type(n) is not int or n < 4 or n % 2:
            raise InputError(f"n_particles must be an even whole number, at least 4; got {n!r}.")
        for name, least in (
            ("n_islands", 1),
            ("n_moves", 0),
            ("max_moves", 1),
            ("max_leapfrog", 1),
        ):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < least):
                raise InputError(f"{name} must be a whole number, at least {least}; got {value!r}.")
        for name in ("max_correlation", "resample_below"):
            if not 0 < getattr(self, name) <= 1:
                raise InputError(f"{name} must lie in (0, 1]; got {getattr(self, name)}.")
        AdaptiveTempering(self.ess_fraction)

    def init(
        self,
        target: Tempered | Path,
        *,
        seed: int,
        first_island: int = 0,
        comm: Communicator = SERIAL,
    ) -> AnnealedState:
        """Draws of the prior, equally weighted.

        Args:
            target: what to sample.
            seed: decides everything random.
            first_island: the number of the first island: those of other numbers are independent.
            comm: shares the groups between processes.
        """
        path, n = self.prepared(target), self.n_islands * self.n_particles
        device = getattr(path.target, "device", rng.HOST)
        sources = self._sources(rng.check_seed(seed), 0, first_island, device)
        theta = path.draw(sources, n)  # (G P, D)
        none = theta.new_zeros(self.n_islands, dtype=torch.float64)
        return AnnealedState(
            points=shared_start(stages_of(path)[0], theta, comm),
            log_weight=theta.new_full((n,), -math.log(n), dtype=torch.float64),
            origin=torch.arange(n, device=theta.device),
            beta=0.0,
            island_log_evidence=none,
            ideal_variance=none,
            least_ess=math.inf,
            tuning=Tuning(gaussian_step(path.dim), self.move.first_length()),
            step=0,
            seed=int(seed),
            first_island=first_island,
        )

    def prepared(self, target: Tempered | Path) -> Path:
        """The path of the target, whose captured graph all steps share."""
        return Path.of(target)

    def step(
        self, state: AnnealedState, target: Tempered | Path, comm: Communicator = SERIAL
    ) -> tuple[AnnealedState, AnnealedInfo]:
        """Raise beta, weight, resample where weights are uneven, move."""
        self._check_size(state)
        path = Path.of(target)
        stages = stages_of(path)
        stage, last = stages[state.stage], state.stage == len(stages) - 1
        before, first = state.beta, state.first_island
        sources = self._sources(state.seed, state.step + 1, first, state.points.theta.device)
        ladder = self.tempering or AdaptiveTempering(self.ess_fraction)
        found = reweighted(state, ladder, self.selection, self.resample_below, sources, comm)
        state = found.state
        kernel = self.kernel(state.points, state.weight, state.beta, stage, comm)
        points, moves = self._rejuvenation(final=last and state.beta == 1)(
            kernel, state.points, state.weight, found.parent, state.tuning, sources, comm
        )
        state = state._replace(points=points, tuning=moves.tuning)
        info = _info(found, state, moves, len(stages), rise=state.beta - before)
        if state.beta == 1 and len(stages) > 1:
            state = onward(state, path, comm)
        return state, info

    def kernel(
        self, points: Points, weight: Tensor, beta: float, path: Path, comm: Communicator
    ) -> SharedKernel:
        """Trajectories scaled by what weighted points show."""
        mass = self.preconditioner(points, weight, beta)
        return SharedKernel(path, beta, mass, comm, len(weight))

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
        n, size = state.n_islands, len(state.log_weight) // state.n_islands
        if (n, size) != (self.n_islands, self.n_particles):
            raise InputError(
                f"the state holds {n} x {size} particles, the sampler has n_islands="
                f"{self.n_islands} and n_particles={self.n_particles}. Continue with the settings "
                "the run was begun with."
            )

    def _sources(
        self, seed: int, step: int, first_island: int, device: torch.device
    ) -> list[rng.Stream]:
        """Random streams of a step: one for each island, or several for the groups of one."""
        n = self.n_islands if self.n_islands > 1 else N_BLOCKS
        return [rng.stream(seed, step, first_island + block, device) for block in range(n)]

    def _rejuvenation(self, *, final: bool) -> Rejuvenation:
        effort = FINAL_EFFORT if final else 1
        n_moves = None if self.n_moves is None else effort * self.n_moves
        most = effort * self.max_moves
        return Rejuvenation(self.move, n_moves, self.max_correlation, most, self.max_leapfrog)


def _info(
    found: Reweighted, state: AnnealedState, moves: Moves, n_stages: int, rise: float
) -> AnnealedInfo:
    return AnnealedInfo(
        step=state.step,
        beta=(state.stage + state.beta) / n_stages,
        rise=rise / n_stages,
        ess=found.ess,
        conditional_ess=found.conditional_ess,
        n_ancestors=found.n_ancestors,
        resampled=found.resampled,
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
