"""Annealed population Monte Carlo as a method: from draws of the prior to the posterior."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from pmcnet import ais
from pmcnet.bnn import AnnealedPosterior, BayesianTarget
from pmcnet.methods.base import Fit, Method, Observer, PriorSearch, Rows
from pmcnet.methods.cost import N_EVIDENCE_TRIALS, SEARCH_ROWS, Cost
from pmcnet.methods.settings import Settings

LEAST_PARTICLES, MOST_PARTICLES = 64, 1000
N_SEARCH = 64
"""Particles, at most, of each trial of the prior's scale."""


@dataclass(frozen=True, kw_only=True)
class AnnealedMethod(Method):
    """The annealed sampler on a network's posterior.

    It needs no starting networks and no validation rows.

    Args:
        sampler: the algorithm and its settings.
    """

    sampler: ais.AnnealedPMC = ais.AnnealedPMC()

    state_types: ClassVar[tuple[type[Any], ...]] = (ais.AnnealedState,)
    prior_search: ClassVar[PriorSearch] = "evidence"

    @property
    def work(self) -> str:
        """How many networks are annealed."""
        return f"annealing {self.sampler.n_particles} networks"

    def fit(
        self,
        target: BayesianTarget,
        *,
        seed: int,
        state: ais.AnnealedState | None = None,
        observers: Iterable[Observer] = (),
        comm: ais.Communicator = ais.SERIAL,
        validation: Rows | None = None,
    ) -> Fit[ais.AnnealedInfo]:
        """Run; the history of a run that goes on from a state begins there."""
        result = self.sampler.run(target, seed=seed, observers=observers, state=state, comm=comm)
        return Fit(AnnealedPosterior.of(target, result), result.history)

    def seconds_after(self, n_gradients: int, cost: Cost) -> float:
        """Of a run with as many gradients of each network as the trial took."""
        return self.sampler.n_particles * _particle_seconds(cost, n_gradients)

    def trial(self) -> Self:
        """Few particles."""
        n_particles = min(N_SEARCH, self.sampler.n_particles)
        return replace(self, sampler=replace(self.sampler, n_particles=n_particles))


@dataclass(frozen=True, kw_only=True)
class AnnealedOptions(Settings):
    """Settings of "annealed"; see `ais.AnnealedPMC`."""

    n_particles: int = 504
    ess_fraction: float = 0.5
    n_moves: int | None = 1
    max_correlation: float = 0.25
    max_moves: int = 4
    resample_below: float = 0.8

    may_be_zero = frozenset({"n_moves"})
    largest: ClassVar[Mapping[str, int]] = {"n_particles": MOST_PARTICLES}
    remedies = (
        "Move particles more: --option n_moves=3 --option ess_fraction=0.7.",
        "Or use a smaller network: --hidden with fewer units has fewer modes to lose.",
    )

    def summary(self, name: str) -> str:
        """What it is called in full."""
        return "annealed population Monte Carlo: the most trustworthy posterior, with evidence"

    def method(self, name: str) -> AnnealedMethod:
        """The method with these settings."""
        return AnnealedMethod(sampler=ais.AnnealedPMC(**vars(self)))

    def within(self, cost: Cost, seconds: float) -> dict[str, int]:
        """As many particles as fit."""
        each = _particle_seconds(cost, n_gradients(cost.n_rows))
        affordable = int((seconds - _search_seconds(cost)) / each)
        return {"n_particles": min(max(affordable // 8 * 8, LEAST_PARTICLES), MOST_PARTICLES)}

    def seconds(self, cost: Cost) -> float:
        """Of the run and of the search by the evidence."""
        each = _particle_seconds(cost, n_gradients(cost.n_rows))
        return _search_seconds(cost) + self.n_particles * each

    def longer(self) -> dict[str, int]:
        """Twice as many particles."""
        return {"n_particles": 2 * self.n_particles}


def n_gradients(n_rows: int) -> int:
    """About how many gradients of each network an annealed run takes.

    4 N, at least 500 and at most 2500; measured between 400 and 8000 (docs/estimators.md).
    """
    return min(max(500, 4 * n_rows), 2500)


def _particle_seconds(cost: Cost, n_gradients: int) -> float:
    return (cost.gradient(cost.n_rows) + cost.per_product) * n_gradients


def _search_seconds(cost: Cost) -> float:
    if not cost.searching:
        return 0.0
    n_rows = min(cost.n_rows, SEARCH_ROWS)
    trial = N_SEARCH * cost.gradient(n_rows) + cost.per_step
    return N_EVIDENCE_TRIALS * n_gradients(n_rows) * trial
