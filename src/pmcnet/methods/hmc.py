"""Parallel Hamiltonian chains on a network's posterior, each from a mode of its own.

Modes by Adam; where rows are many, a warm-up on mini-batches (stochastic gradient HMC with falling
steps) that carries chains from the modes to where the posterior's mass is and learns how long each
direction is; then Metropolis-corrected trajectories on all rows, `ais.HMCPopulation`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from torch import Tensor

from pmcnet import ais
from pmcnet.ais.hmc.chains import Observer
from pmcnet.bnn import BayesianTarget, ChainPosterior
from pmcnet.bnn.overflow import refuse_diverged
from pmcnet.errors import InputError
from pmcnet.methods.base import Fit
from pmcnet.methods.energy_precision import as_before, decisive
from pmcnet.methods.sgmcmc.sghmc import SGHMC
from pmcnet.methods.training.adam import Adam
from pmcnet.methods.training.loop import Progress, Rows
from pmcnet.methods.training.starts import Restarts, Start
from pmcnet.methods.training.state import TrainingObserver, TrainingState


@dataclass(frozen=True, kw_only=True)
class HMCMethod:
    """Hamiltonian chains in parallel.

    Args:
        n_chains: P.
        sampler: warm-up, draws and trajectories.
        start: the modes that chains begin at.
        walk: the warm-up on mini-batches, or None for none.
    """

    n_chains: int = 16
    sampler: ais.HMCPopulation = ais.HMCPopulation()
    start: Start = Restarts(Adam(objective="map"))
    walk: SGHMC | None = None

    def __post_init__(self) -> None:
        if self.n_chains < 2:
            raise InputError(
                f"n_chains must be at least 2, so that chains can be compared; got {self.n_chains}."
            )

    def fit(
        self,
        target: BayesianTarget,
        *,
        seed: int,
        validation: Rows | None = None,
        observers: Iterable[Observer] = (),
        progress: Progress | None = None,
        state: ais.ChainState | TrainingState | None = None,
        training: Iterable[TrainingObserver] = (),
        max_seconds: float | None = None,
    ) -> Fit[ais.ChainRecord]:
        """Start, warm up, draw.

        Args:
            target: the posterior to sample.
            seed: decides everything random.
            validation: rows by which starting networks keep their best epoch.
            observers: called with (state, record) after each trajectory.
            progress: told after each epoch of the start and of the warm-up on mini-batches.
            state: where to go on from, of the chains or of their walk; the history then begins
                there.
            training: called after each epoch of the walk on mini-batches with its state.
            max_seconds: stop after the first trajectory that ends past this time; one of the
                warm-up is too early.
        """
        if not isinstance(state, ais.ChainState):
            if state is None:
                theta = self.start(
                    target, self.n_chains, seed=seed, validation=validation, progress=progress
                )
            else:
                theta = self._walking(state)
            sigma: Tensor | None = None
            if self.walk is not None:
                theta, sigma, *_ = self.walk.walk(
                    target,
                    theta,
                    seed=seed,
                    progress=progress,
                    state=state,
                    observers=training,
                    stage="walk",
                    keep=False,
                )
                refuse_diverged(target, theta, "Use a smaller walk_step.")
            path = decisive(target, theta, sigma)
            state = self.sampler.init(path, theta, seed=seed, sigma=sigma)
        else:
            path = as_before(target, state.arithmetic)
        # many batches know the scales better than chains do
        sampler = replace(self.sampler, adapt_scale=self.sampler.adapt_scale and self.walk is None)
        result = sampler.run(path, state, observers=observers, max_seconds=max_seconds)
        if len(result.log_density) == 0:
            raise InputError(
                f"max_seconds={max_seconds:g} ended the chains after {len(result.history)} "
                "trajectories, before their "
                "first draw. Give more, or a shorter warm-up."
            )
        return Fit(ChainPosterior.of(target, result, path.arithmetic.error), result.history)

    def _walking(self, state: TrainingState) -> Tensor:
        """Where chains are on their walk (P, D)."""
        if state.stage != "walk" or "theta" not in state.tensors:
            raise InputError(
                f"chains cannot go on from a state of a {state.stage}. Give one of their own, or "
                "of their walk."
            )
        if self.walk is None:
            raise InputError(
                "chains without a walk on mini-batches cannot go on from a state of one."
            )
        return state.tensors["theta"]
