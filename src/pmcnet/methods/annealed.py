"""Annealed population Monte Carlo as a method: islands from draws of the prior to the posterior."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from pmcnet import ais
from pmcnet.bnn import AnnealedPosterior, BayesianTarget, IslandPosterior
from pmcnet.methods.base import Fit, Method, Observer, PriorSearch, Rows
from pmcnet.methods.cost import N_EVIDENCE_TRIALS, Cost
from pmcnet.methods.evidence_islands import N_PARTICLES, allowance, comparing, particle_seconds
from pmcnet.methods.settings import Settings, Value

BATCH = 8
"""Islands that are annealed together, at most."""
_SIZES = ((8, 64), (4, 64), (4, 32))  # islands of a batch and particles of each, where they fit
_LEAST = (4, 16)
_FEWEST = 4  # particles of an island


@dataclass(frozen=True, kw_only=True)
class AnnealedMethod(Method):
    """Islands, or a single annealed population, on a network's posterior.

    It needs no starting networks and no validation rows.

    Args:
        sampler: the algorithm and its settings.
    """

    sampler: ais.Islands | ais.AnnealedPMC = ais.Islands()

    state_types: ClassVar[tuple[type[Any], ...]] = (ais.IslandsState, ais.AnnealedState)
    prior_search: ClassVar[PriorSearch] = "evidence"

    @property
    def work(self) -> str:
        """How many networks are annealed."""
        sampler = self.sampler
        if isinstance(sampler, ais.AnnealedPMC):
            return f"annealing {sampler.n_particles} networks"
        batch = sampler.annealing
        return f"annealing {batch.n_islands} islands of {batch.n_particles} networks at a time"

    def fit(
        self,
        target: BayesianTarget,
        *,
        seed: int,
        state: Any = None,
        observers: Iterable[Observer] = (),
        comm: ais.Communicator = ais.SERIAL,
        validation: Rows | None = None,
    ) -> Fit[Any]:
        """Run; the history of a run that goes on from a state begins there."""
        settings: dict[str, Any] = {"seed": seed, "observers": observers, "comm": comm}
        if isinstance(self.sampler, ais.AnnealedPMC):
            alone = self.sampler.run(target, state=state, **settings)
            return Fit(AnnealedPosterior.of(target, alone), alone.history)
        result = self.sampler.run(target, state=state, **settings)
        return Fit(IslandPosterior.of(target, result), result.history)

    def can_continue(self, state: Any) -> bool:
        """Whether a fit can go on from this state."""
        single = isinstance(self.sampler, ais.AnnealedPMC)
        return isinstance(state, ais.AnnealedState if single else ais.IslandsState)

    def after(self, seconds: float) -> Self:
        """The method with so much less time."""
        sampler = self.sampler
        if isinstance(sampler, ais.AnnealedPMC) or sampler.max_seconds is None:
            return self
        limit = sampler.max_seconds
        left = max(limit - seconds, limit - allowance(limit))
        return replace(self, sampler=replace(sampler, max_seconds=left))

    def trial(self) -> Self:
        """Four small islands, with their share of the time."""
        return replace(self, sampler=comparing(self._seconds, N_EVIDENCE_TRIALS))

    def comparing(self, seconds: float, n: int) -> ais.Islands:
        """Small islands; without a limit where the fit has none."""
        return comparing(None if self._seconds is None else seconds, n)

    def continuing(self, n_islands: int, n_draws: int) -> ais.Islands | None:
        """The same islands in one batch; they are near, so that a short polish suffices."""
        sampler = self.sampler
        if isinstance(sampler, ais.AnnealedPMC):
            return None
        n_particles = min(sampler.annealing.n_particles, max(_FEWEST, n_draws // 2 * 2))
        return replace(
            sampler,
            annealing=replace(sampler.annealing, n_islands=n_islands, n_particles=n_particles),
            n_islands=n_islands,
            n_tuning=0,
            n_rounds=2,
            n_draws=n_islands * n_draws,
        )

    @property
    def _seconds(self) -> float | None:
        return getattr(self.sampler, "max_seconds", None)


@dataclass(frozen=True, kw_only=True)
class AnnealedOptions(Settings):
    """Settings of "annealed"; see `ais.Islands` and `ais.AnnealedPMC`.

    `n_islands` are all islands, however long they take; None for as many as the budget has time for
    until predictions are known; 1 is a single population, as large as `n_particles` says.
    `n_particles` are those of each island, `n_networks` the draws that are kept in all.
    """

    n_islands: int | None = None
    n_particles: int = 64
    n_networks: int = 2048
    ess_fraction: float = 0.5
    n_moves: int | None = 1
    max_correlation: float = 0.25
    max_moves: int = 4
    max_leapfrog: int = 256
    resample_below: float = 0.8
    polish: float = 0.5
    batch: int = BATCH
    max_seconds: float | None = None

    may_be_zero = frozenset({"n_moves"})
    remedies = ("Or use a smaller network: fewer hidden units have fewer modes to find.",)

    def summary(self, name: str) -> str:
        """What it is called in full."""
        return "annealed populations on islands: the posterior whose error is known, with evidence"

    def method(self, name: str) -> AnnealedMethod:
        """The method with these settings."""
        batch, n = self._together, self.n_islands
        annealing = ais.AnnealedPMC(
            n_particles=self.n_particles,
            n_islands=batch,
            ess_fraction=self.ess_fraction,
            n_moves=self.n_moves,
            max_correlation=self.max_correlation,
            max_moves=self.max_moves,
            max_leapfrog=self.max_leapfrog,
            resample_below=self.resample_below,
        )
        if n == 1:
            return AnnealedMethod(sampler=annealing)
        sampler = ais.Islands(
            annealing=annealing,
            n_islands=batch if n is None and self.max_seconds is None else n,
            polish=self.polish,
            n_draws=max(self.n_networks, batch),
            max_seconds=self.max_seconds,
        )
        return AnnealedMethod(sampler=sampler)

    def within(self, cost: Cost, seconds: float) -> dict[str, Value]:
        """The largest islands that there is time for; the time, unless their number is given."""
        for batch, n_particles in _SIZES:
            if batch * n_particles * particle_seconds(cost) <= 0.5 * seconds:
                break
        else:
            batch, n_particles = _LEAST
        sizes: dict[str, Value] = {"batch": batch, "n_particles": n_particles}
        return sizes if self.n_islands else sizes | {"max_seconds": seconds}

    def seconds(self, cost: Cost) -> float:
        """Of the islands that are asked for, or one batch, and of the search by the evidence."""
        n_islands = self.n_islands or self._together
        polish = 0.0 if n_islands == 1 else self.polish
        search = N_PARTICLES * N_EVIDENCE_TRIALS
        n_particles = (1 + polish) * n_islands * self.n_particles
        return particle_seconds(cost) * (n_particles + search * cost.searching)

    @property
    def _together(self) -> int:
        """Islands of a batch: as many as divide those that are asked for."""
        n = self.n_islands
        if n is None:
            return self.batch
        return max((b for b in range(2, self.batch + 1) if n % b == 0), default=n)

    def longer(self) -> dict[str, Value]:
        """Twice as many islands."""
        return {"n_islands": 2 * (self.n_islands or self.batch)}
