"""Islands: independent annealed populations, and the error of what they predict.

One annealed population cannot know its own error: where modes are separated it settles in some of
them, and neither its weights nor its genealogy tell. G islands that exchange no particles estimate
the same averages G times. Each is annealed from the prior to the posterior, with its own
random numbers, weights, selection and evidence, then polished by Hamiltonian trajectories at the
posterior. Islands count alike. How far they disagree in what they predict is the Monte Carlo error
(`ais.agreement`). It falls as 1 / sqrt(G): where it is too large, more islands follow while there
is time.

Islands of a batch move together, in one batch of gradients. They share the ladder, the step size
and the length of trajectories: single numbers, from averages over all of them. The scales of an
island's moves come from the other islands.
"""

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch

from pmcnet.ais.agreement import Agreement
from pmcnet.ais.annealed.algorithm import AnnealedPMC
from pmcnet.ais.annealed.staged_path import gradient_cost, stages_of
from pmcnet.ais.comm import SERIAL, Communicator, agreed
from pmcnet.ais.islands.draws import agreement, draws_of
from pmcnet.ais.islands.polishing import polished
from pmcnet.ais.islands.result import IslandsResult
from pmcnet.ais.islands.schedule import capped, fits, remaining
from pmcnet.ais.islands.state import SETTLED, IslandsInfo, IslandsState, Polish
from pmcnet.ais.path import Path
from pmcnet.ais.sampler import Observer, run
from pmcnet.ais.tempered import Tempered
from pmcnet.ais.verdict import has_forgotten, is_known, may_drift
from pmcnet.errors import InputError

MOST_POLISH = 4.0
"""Times its share that polishing may take while particles remember where annealing left them."""
LEAST_KEPT = 2
"""Populations that are kept of a batch of so many rounds; see `draws.with_population`."""
MOST_ISLANDS = 512
"""Where a run without a number of islands ends, whatever the time."""


@dataclass(frozen=True, kw_only=True)
class Islands:
    """Independent annealed populations, polished, and averaged alike.

    Args:
        annealing: how a batch of islands is annealed; its `n_islands` are annealed together.
        n_islands: G, a multiple of those of a batch; None for as many as bring the error below the
            limits of the verdict within `max_seconds`.
        polish: gradients of the trajectories at the posterior, in those of annealing, at least.
        n_tuning: rounds of trajectories at the posterior that tune them and do not count; 0 where
            annealing has tuned them.
        n_rounds: rounds that count, at least.
        n_draws: draws that are kept in all.
        max_seconds: computing time after which no batch and no round begins. Where it is short,
            annealing moves its particles less.
    """

    annealing: AnnealedPMC = AnnealedPMC(n_particles=64, n_islands=8, ess_fraction=0.5, n_moves=1)
    n_islands: int | None = 8
    polish: float = 0.5
    n_tuning: int = 2
    n_rounds: int = 4
    n_draws: int = 2048
    max_seconds: float | None = None

    default_steps: ClassVar[int | None] = None

    def __post_init__(self) -> None:
        batch, n = self.annealing.n_islands, self.n_islands
        if batch < 2:
            raise InputError(
                "annealing.n_islands must be at least 2, so that islands can be compared; got "
                f"{batch}. For a single population use AnnealedPMC."
            )
        if n is not None and (type(n) is not int or n < batch or n % batch):
            raise InputError(
                f"n_islands must be a multiple of the {batch} islands of a batch, or None; got "
                f"{n!r}. Use {batch}, or smaller batches: annealing=AnnealedPMC(n_islands=...)."
            )
        if n is None and self.max_seconds is None:
            raise InputError("n_islands=None needs max_seconds, which then ends the run.")
        if self.max_seconds is not None and not self.max_seconds > 0:
            raise InputError(f"max_seconds must be positive, or None; got {self.max_seconds}.")
        if not 0 < self.polish < math.inf:
            raise InputError(f"polish must be a positive number; got {self.polish}.")
        for name, least in (("n_tuning", 0), ("n_rounds", 1)):
            value = getattr(self, name)
            if type(value) is not int or value < least:
                raise InputError(f"{name} must be a whole number, at least {least}; got {value!r}.")
        if type(self.n_draws) is not int or self.n_draws < batch:
            raise InputError(
                f"n_draws must be a whole number, at least one for each of {batch} islands; got "
                f"{self.n_draws!r}."
            )

    def init(
        self, target: Tempered | Path, *, seed: int, comm: Communicator = SERIAL
    ) -> IslandsState:
        """The first batch, drawn from the prior."""
        path = Path.of(target)
        batch = self.annealing.init(path, seed=seed, comm=comm)
        theta = batch.points.theta
        return IslandsState(
            batch=batch,
            polish=Polish.begun(batch.points, batch.n_islands),
            finished=theta.new_empty(0, self._n_kept, theta.shape[1]),
            finished_log_evidence=batch.log_weight.new_empty(0),
            finished_acceptance=1.0,
            finished_settling=SETTLED,
            rise=0.0,
            n_gradients=0,
            seconds=0.0,
            batch_seconds=0.0,
            agreement=Agreement.unknown(path.quantity),
            ended=False,
            step=0,
            seed=batch.seed,
        )

    def prepared(self, target: Tempered | Path) -> Path:
        """The path of the target, whose captured graph all steps share."""
        return Path.of(target)

    def step(
        self, state: IslandsState, target: Tempered | Path, comm: Communicator = SERIAL
    ) -> tuple[IslandsState, IslandsInfo]:
        """One tempering step of the batch, or one round of trajectories at the posterior."""
        start, path, annealed = time.monotonic(), Path.of(target), state.annealed
        state, info = (self._polished if annealed else self._annealed)(state, path, comm)
        took = agreed(comm, time.monotonic() - start)
        state = state._replace(
            step=state.step + 1,
            seconds=state.seconds + took,
            batch_seconds=state.batch_seconds + took,
        )
        if annealed:
            state = self._concluded(state, took, path, comm)
        elif state.n_finished and state.seconds >= self._limit:
            state = state._replace(ended=True)
        left = remaining(state, self.n_islands, self._limit, len(stages_of(path)))
        return state, info._replace(step=state.step, left=left)

    def done(self, state: IslandsState) -> bool:
        """Whether there are enough islands, or no time for more."""
        return state.ended

    def compact(self, info: IslandsInfo) -> IslandsInfo:
        """All of it."""
        return info

    def result(
        self,
        state: IslandsState,
        history: Sequence[IslandsInfo],
        target: Tempered | Path,
        comm: Communicator = SERIAL,
    ) -> IslandsResult:
        """The draws of all islands that were polished; of none, the particles where they are."""
        return IslandsResult(state, tuple(history), self.n_draws)

    def run(
        self,
        target: Tempered | Path,
        *,
        seed: int = 0,
        state: IslandsState | None = None,
        observers: Iterable[Observer[IslandsState, IslandsInfo]] = (),
        comm: Communicator = SERIAL,
    ) -> IslandsResult:
        """`ais.run` from the prior, or from a state, to the end.

        Args:
            target: with log_prior, log_likelihood and sample_prior; `Bridge` makes one of any
                log-density.
            seed: the same seed and the same number of islands give the same run, unless time is
                short.
            state: where to go on from.
            observers: called with (state, info) after each step.
            comm: shares the particles between processes, each of which calls this method.
        """
        path = self.prepared(target)
        state = self.init(path, seed=seed, comm=comm) if state is None else state
        return run(self, path, state, observers=observers, comm=comm)

    @property
    def _limit(self) -> float:
        return math.inf if self.max_seconds is None else self.max_seconds

    @property
    def _n_kept(self) -> int:
        """Draws of each finished island: there are at least two populations to take them from."""
        annealing = self.annealing
        return min(self.n_draws // annealing.n_islands, LEAST_KEPT * annealing.n_particles)

    def _annealed(
        self, state: IslandsState, path: Path, comm: Communicator
    ) -> tuple[IslandsState, IslandsInfo]:
        before, cost = state.batch, gradient_cost(path, state.batch.stage)
        annealing = capped(self.annealing, state, self._limit, len(stages_of(path)), cost)
        batch, found = annealing.step(before, path, comm)
        state = state._replace(
            batch=batch,
            rise=batch.beta - before.beta if batch.stage == before.stage else 0.0,
            n_gradients=state.n_gradients + math.ceil(cost * found.n_gradients),
        )
        return state, IslandsInfo.of_annealing(found, state.n_finished)

    def _polished(
        self, state: IslandsState, path: Path, comm: Communicator
    ) -> tuple[IslandsState, IslandsInfo]:
        state, moves = polished(self.annealing, state, path, comm, self.n_tuning)
        if state.n_islands:
            state = state._replace(agreement=agreement(state, path, self.n_draws).agreed(comm))
        return state, IslandsInfo.of_polishing(state, moves)

    def _concluded(
        self, state: IslandsState, round_seconds: float, path: Path, comm: Communicator
    ) -> IslandsState:
        """Whether the batch is finished, the run is, or polishing goes on."""
        late = state.seconds + round_seconds > self._limit
        if late and state.polish.n_rounds:
            return state._replace(ended=True)
        if state.polish.n_rounds < self.n_rounds:
            return state
        forgotten = has_forgotten(state)
        share = self.polish * (1.0 if forgotten else MOST_POLISH)
        enough = state.polish.n_gradients >= share * state.n_gradients
        if self.n_islands is None and may_drift(state):
            return state  # more islands would stop short of the posterior in the same way
        if self.n_islands is None and is_known(state.agreement) and (forgotten or enough):
            return state._replace(ended=True)
        if not enough:
            return state
        wanted = MOST_ISLANDS if self.n_islands is None else self.n_islands
        if state.n_islands >= wanted:
            return state._replace(ended=True)
        return self._next_batch(state, path, comm) if fits(state, self._limit) else state

    def _next_batch(self, state: IslandsState, path: Path, comm: Communicator) -> IslandsState:
        """The islands at work are finished; others begin at the prior."""
        before, n = state.batch, state.batch.n_islands
        batch = self.annealing.init(
            path, seed=state.seed, first_island=before.first_island + n, comm=comm
        )
        draws = draws_of(state.polish, n, self._n_kept)
        finished = torch.cat([state.finished, draws])
        return state._replace(
            batch=batch,
            polish=Polish.begun(batch.points, n),
            finished=finished,
            finished_log_evidence=state.log_evidences,
            finished_acceptance=state.acceptance,
            finished_settling=state.settling,
            rise=0.0,
            n_gradients=0,
            batch_seconds=0.0,
        )
