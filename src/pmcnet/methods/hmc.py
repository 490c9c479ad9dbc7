"""Parallel Hamiltonian chains on a network's posterior, each from a mode of its own.

Modes by Adam; where rows are many, a burn-in on mini-batches (stochastic gradient HMC with falling
steps) that carries chains from the modes to where the posterior's mass is and learns how long each
direction is; then Metropolis-corrected trajectories on all rows, `ais.HMCPopulation`.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from torch import Tensor

from pmcnet import ais
from pmcnet.ais.comm import agreed
from pmcnet.bnn import BayesianTarget, ChainPosterior
from pmcnet.bnn.overflow import refuse_diverged
from pmcnet.errors import InputError
from pmcnet.methods.base import Fit, Method, Observer, Rows
from pmcnet.methods.energy_precision import as_before, decisive
from pmcnet.methods.evidence_islands import allowance, comparing
from pmcnet.methods.sgmcmc.sghmc import SGHMC
from pmcnet.methods.training.adam import Adam
from pmcnet.methods.training.starts import Restarts, Start
from pmcnet.methods.training.state import TrainingState

_SEARCH_DRAWS = 20
_LEAST_SECONDS = 1e-3  # of trajectories, which end once there are draws to judge


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
        chains = f"{self.n_chains} chains"
        if not self.sampler.until_known:
            chains = f"{chains} of {self.sampler.n_steps} trajectories"
        return f"{chains}, from {self.n_chains} trained networks"

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
            comm: shares the chains between processes.
            validation: rows by which starting networks keep their best epoch.
            max_seconds: stop after the first trajectory that ends past this time; one of the
                warm-up is too early.
        """
        observers, begun = tuple(observers), time.monotonic()
        comm.blocks(self.n_chains)  # refuses too many processes before they train networks
        sampler = self.sampler
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
                    stage="burn-in",
                    keep=False,
                    state=state,
                    observers=observers,
                    comm=comm,
                )
                refuse_diverged(target, theta, "Use a smaller walk_step.")
            path = decisive(target, theta, sigma, comm)
            state = sampler.init(path, theta, seed=seed, sigma=sigma, comm=comm)
            sampler = _with_less_time(sampler, agreed(comm, time.monotonic() - begun))
        # many batches know the scales better than chains do
        sampler = replace(sampler, adapt_scale=sampler.adapt_scale and self.burn_in is None)
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

    def after(self, seconds: float) -> Self:
        """So much less time, and no less than comparisons leave of it."""
        limit = self.sampler.max_seconds
        if limit is None:
            return self
        left = max(limit - seconds, limit - allowance(limit))
        return replace(self, sampler=replace(self.sampler, max_seconds=left))

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


def _with_less_time(sampler: ais.HMCPopulation, seconds: float) -> ais.HMCPopulation:
    """The sampler after so many seconds of training."""
    if sampler.max_seconds is None:
        return sampler
    return replace(sampler, max_seconds=max(sampler.max_seconds - seconds, _LEAST_SECONDS))
