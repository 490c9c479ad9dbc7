"""Parallel Hamiltonian chains on a network's posterior, each from a mode of its own.

Modes by Adam; where rows are many, a burn-in on mini-batches (stochastic gradient HMC with falling
steps) that carries chains from the modes to where the posterior's mass is and learns how long each
direction is; then Metropolis-corrected trajectories on all rows, `ais.HMCPopulation`.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from torch import Tensor

from pmcnet import ais
from pmcnet.bnn import BayesianTarget, ChainPosterior
from pmcnet.bnn.overflow import refuse_diverged
from pmcnet.errors import InputError
from pmcnet.methods.base import Fit, Method, Observer, Rows
from pmcnet.methods.cost import (
    N_VALIDATION_TRIALS,
    PER_STEP_OF_ADAM,
    PER_STEP_OF_BATCHES,
    Cost,
)
from pmcnet.methods.energy_precision import as_before, decisive
from pmcnet.methods.evidence_islands import comparing
from pmcnet.methods.settings import Settings, adam_batch, epochs
from pmcnet.methods.sgmcmc.sghmc import SGHMC
from pmcnet.methods.training.adam import Adam
from pmcnet.methods.training.starts import Restarts, Start
from pmcnet.methods.training.state import TrainingState

LEAST_TRAJECTORIES, MOST_TRAJECTORIES = 40, 400
_GRADIENTS_PER_TRAJECTORY = 60
_SEARCH_DRAWS = 20
_MANY_ROWS = 5000  # from which chains have a burn-in on mini-batches
_BATCHES = 10  # rows of a mini-batch of the burn-in, in batches of Adam


@dataclass(frozen=True, kw_only=True)
class HMCMethod(Method):
    """Hamiltonian chains in parallel.

    Args:
        n_chains: P.
        sampler: warm-up, draws and trajectories.
        start: the modes that chains begin at.
        burn_in: the burn-in on mini-batches, or None for none.
    """

    n_chains: int = 16
    sampler: ais.HMCPopulation = ais.HMCPopulation()
    start: Start = Restarts(Adam(objective="map"))
    burn_in: SGHMC | None = None

    state_types: ClassVar[tuple[type[Any], ...]] = (ais.ChainState, TrainingState)

    def __post_init__(self) -> None:
        if self.n_chains < 2:
            raise InputError(
                f"n_chains must be at least 2, so that chains can be compared; got {self.n_chains}."
            )

    @property
    def work(self) -> str:
        """Chains and trajectories."""
        trajectories = f"{self.n_chains} chains of {self.sampler.n_steps} trajectories"
        return f"{trajectories}, from {self.n_chains} trained networks"

    def fit(
        self,
        target: BayesianTarget,
        *,
        seed: int,
        state: ais.ChainState | TrainingState | None = None,
        observers: Iterable[Observer] = (),
        comm: ais.Communicator = ais.SERIAL,
        validation: Rows | None = None,
        max_seconds: float | None = None,
    ) -> Fit[ais.ChainInfo]:
        """Start, warm up, draw.

        Args:
            target: the posterior to sample.
            seed: decides everything random.
            state: where to go on from, of the start, the burn-in or the chains; the history then
                begins there.
            observers: called with (state, info) after each epoch of the start and of the burn-in,
                and after each trajectory.
            comm: shares the start between processes.
            validation: rows by which starting networks keep their best epoch.
            max_seconds: stop after the first trajectory that ends past this time; one of the
                warm-up is too early.
        """
        observers = tuple(observers)
        if isinstance(state, ais.ChainState):
            path = as_before(target, state.precision)
        else:
            theta, state = self._start(target, seed, state, observers, comm, validation)
            sigma: Tensor | None = None
            if self.burn_in is not None:
                theta, sigma, *_ = self.burn_in.run(
                    target,
                    theta,
                    seed=seed,
                    state=state,
                    observers=observers,
                    stage="burn-in",
                    keep=False,
                )
                refuse_diverged(target, theta, "Use a smaller walk_step.")
            path = decisive(target, theta, sigma)
            state = self.sampler.init(path, theta, seed=seed, sigma=sigma)
        # many batches know the scales better than chains do
        sampler = replace(
            self.sampler, adapt_scale=self.sampler.adapt_scale and self.burn_in is None
        )
        result = ais.run(
            sampler, path, state, observers=observers, comm=comm, max_seconds=max_seconds
        )
        if len(result.log_density) == 0:
            raise InputError(
                f"max_seconds={max_seconds:g} ended the chains after {len(result.history)} "
                "trajectories, before their first draw. Give more, or a shorter warm-up."
            )
        return Fit(ChainPosterior.of(target, result, path.precision.error), result.history)

    def _start(
        self,
        target: BayesianTarget,
        seed: int,
        state: TrainingState | None,
        observers: Iterable[Observer],
        comm: ais.Communicator,
        validation: Rows | None,
    ) -> tuple[Tensor, TrainingState | None]:
        """Where chains are before or in their burn-in (P, D), and the state of the latter."""
        if state is None or state.stage == "start":
            simpler = target.likelihood.simpler  # whose modes explain no response by noise alone
            theta = self.start(
                target if simpler is None else replace(target, likelihood=simpler),
                self.n_chains,
                seed=seed,
                validation=validation,
                state=state,
                observers=observers,
                comm=comm,
            )
            return theta, None
        if state.stage != "burn-in" or "theta" not in state.tensors:
            raise InputError(
                f"chains cannot go on from a state of a {state.stage}. Give one of their own, or "
                "of their burn-in."
            )
        if self.burn_in is None:
            raise InputError(
                "chains without a burn-in on mini-batches cannot go on from a state of one."
            )
        return state.tensors["theta"], state

    def comparing(self, seconds: float, n: int) -> ais.Islands:
        """Small islands on few rows."""
        return comparing(seconds, n)

    def trial(self) -> Self:
        """A quarter of the warm-up, and few draws.

        Networks to start from are trained as long: with a quarter of the epochs, or the same
        networks for all, wide priors looked too good (four splits of the diabetes data).
        """
        n_warmup, n_draws = self.sampler.n_warmup, self.sampler.n_draws
        sampler = replace(
            self.sampler, n_warmup=max(1, n_warmup // 4), n_draws=min(_SEARCH_DRAWS, n_draws)
        )
        return replace(self, sampler=sampler)


@dataclass(frozen=True, kw_only=True)
class HMCOptions(Settings):
    """Settings of "hmc"; see `HMCMethod`, `ais.HMCPopulation`, `Adam` and `SGHMC`.

    `n_epochs`, `batch_size` and `learning_rate` are of the starting networks, `walk_epochs` and
    `walk_step` of the burn-in on mini-batches, which 0 epochs leave out.
    """

    n_chains: int = 16
    n_warmup: int = 100
    n_draws: int = 100
    thin: int = 1
    max_leapfrog: int = 256
    n_epochs: int = 200
    batch_size: int = 32
    learning_rate: float = 1e-2
    walk_epochs: int = 0
    walk_step: float = 1e-2

    may_be_zero = frozenset({"walk_epochs"})
    largest: ClassVar[Mapping[str, int]] = dict.fromkeys(
        ("n_warmup", "n_draws"), MOST_TRAJECTORIES // 2
    )
    remedies = ("Where rows are few, method annealed finds modes that chains do not reach.",)

    def summary(self, name: str) -> str:
        """What it does."""
        return "parallel Hamiltonian chains from independent modes, for deep networks"

    def sized(self, n_rows: int) -> Self:
        """Starting networks are trained for about 10 000 steps; many rows need a burn-in."""
        batch_size = adam_batch(n_rows)
        return replace(
            self,
            batch_size=batch_size,
            n_epochs=epochs(batch_size, n_rows, most=200),
            walk_epochs=20 if n_rows >= _MANY_ROWS else 0,
        )

    def method(self, name: str) -> HMCMethod:
        """The method with these settings."""
        adam = Adam(
            objective="map",
            n_epochs=self.n_epochs,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
        )
        burn_in = SGHMC.from_modes(
            step=self.walk_step,
            batch_size=_BATCHES * self.batch_size,
            n_epochs=max(1, self.walk_epochs),
        )
        sampler = ais.HMCPopulation(
            n_warmup=self.n_warmup,
            n_draws=self.n_draws,
            thin=self.thin,
            max_leapfrog=self.max_leapfrog,
        )
        return HMCMethod(
            n_chains=self.n_chains,
            sampler=sampler,
            start=Restarts(adam),
            burn_in=burn_in if self.walk_epochs else None,
        )

    def within(self, cost: Cost, seconds: float) -> dict[str, int]:
        """As many trajectories as fit, half of them for the warm-up."""
        cost = cost.by_comparison
        left = max(0.0, seconds - self._start_seconds(cost))
        n = int(left / (cost.times * self.trajectory_seconds(cost)) / (1 + self.thin))
        n = min(max(n, LEAST_TRAJECTORIES // 2), MOST_TRAJECTORIES // 2)
        return {"n_warmup": n, "n_draws": n}

    def seconds(self, cost: Cost) -> float:
        """Of the start, the burn-in and all trajectories."""
        cost = cost.by_comparison
        n_trajectories = self.n_warmup + self.thin * self.n_draws
        trajectories = cost.times * self.trajectory_seconds(cost) * n_trajectories
        return self._start_seconds(cost) + trajectories

    def longer(self) -> dict[str, int]:
        """Twice as many trajectories."""
        return {"n_warmup": 2 * self.n_warmup, "n_draws": 2 * self.n_draws}

    def trajectory_seconds(self, cost: Cost) -> float:
        """Of one trajectory of all chains."""
        per_step = cost.per_step + self.n_chains * cost.gradient(cost.n_rows)
        return min(_GRADIENTS_PER_TRAJECTORY, self.max_leapfrog) * per_step

    def _start_seconds(self, cost: Cost) -> float:
        """Of the starting networks and the burn-in, in each fit of a search as well."""

        def seconds(n_epochs: int, n_rows: int, per_step: float) -> float:
            step = per_step * cost.per_step + self.n_chains * cost.gradient(n_rows)
            return n_epochs * math.ceil(cost.n_rows / n_rows) * step

        start = seconds(self.n_epochs, self.batch_size, PER_STEP_OF_ADAM)
        burn_in = seconds(self.walk_epochs, _BATCHES * self.batch_size, PER_STEP_OF_BATCHES)
        return (1 + N_VALIDATION_TRIALS if cost.searching else 1) * (start + burn_in)
