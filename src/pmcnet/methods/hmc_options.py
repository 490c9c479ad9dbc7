"""Settings of "hmc", and the sizes that follow from a budget."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from pmcnet import ais
from pmcnet.ais.hmc.kept_draws import LEAST_KEPT
from pmcnet.methods.cost import (
    N_VALIDATION_TRIALS,
    PER_STEP_OF_ADAM,
    PER_STEP_OF_BATCHES,
    Cost,
)
from pmcnet.methods.hmc import HMCMethod
from pmcnet.methods.settings import Settings, Value, adam_batch, epochs
from pmcnet.methods.sgmcmc.sghmc import SGHMC
from pmcnet.methods.training.adam import Adam
from pmcnet.methods.training.starts import Restarts

LEAST_TRAJECTORIES = 40
LEAST_CHAINS = 8
DRAWS = 100
"""Of each chain where neither their number nor a time is given."""
MOST_DRAWS = 4000
"""Trajectories of each chain that count, where the time limits them."""
MOST_WARMUP = 50
_CHAINS = (128, 64, 32, 16, LEAST_CHAINS)  # the first for which there is time
_ENOUGH = 120  # trajectories
_GRADIENTS_PER_TRAJECTORY = 60
_KEPT = 4096  # draws of all chains together that are kept, about
_MANY_ROWS = 5000  # from which chains have a burn-in on mini-batches
_BATCHES = 10  # rows of a mini-batch of the burn-in, in batches of Adam
_FEW_STEPS = 0.25  # of those that networks are trained for by default, where chains follow
_LEAST_BATCH = 32


@dataclass(frozen=True, kw_only=True)
class HMCOptions(Settings):
    """Settings of "hmc"; see `HMCMethod`, `ais.HMCPopulation`, `Adam` and `SGHMC`.

    `n_epochs`, `batch_size` and `learning_rate` are of the starting networks, `walk_epochs` and
    `walk_step` of the burn-in on mini-batches, which 0 epochs leave out. `n_draws` are those of
    each chain, however long they take; None for as many as `max_seconds` has time for until
    predictions are known.
    """

    n_chains: int = 16
    n_warmup: int = 100
    n_draws: int | None = None
    thin: int = 1
    max_leapfrog: int = 64
    n_epochs: int = 200
    batch_size: int = 32
    learning_rate: float = 1e-2
    walk_epochs: int = 0
    walk_step: float = 1e-2
    max_seconds: float | None = None

    may_be_zero = frozenset({"walk_epochs"})
    largest: ClassVar[Mapping[str, int]] = {"n_warmup": MOST_WARMUP}
    remedies = ("Where rows are few, method annealed finds modes that chains do not reach.",)

    def summary(self, name: str) -> str:
        """What it does."""
        return "parallel Hamiltonian chains from independent modes, for larger networks"

    def sized(self, n_rows: int) -> Self:
        """Starting networks are trained briefly; many rows need a burn-in."""
        batch_size, n_epochs = adam_batch(n_rows), 0
        if n_rows < _MANY_ROWS:
            batch_size = max(_LEAST_BATCH, batch_size)
            n_epochs = math.ceil(_FEW_STEPS * epochs(batch_size, n_rows, most=400))
        return replace(
            self,
            batch_size=batch_size,
            n_epochs=n_epochs or epochs(batch_size, n_rows, most=200),
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
        open_ended = self.n_draws is None and self.max_seconds is not None
        sampler = ais.HMCPopulation(
            n_warmup=self.n_warmup,
            n_draws=MOST_DRAWS if open_ended else self._n_draws,
            thin=self.thin,
            max_leapfrog=self.max_leapfrog,
            most_kept=max(LEAST_KEPT, _KEPT // self.n_chains),
            until_known=open_ended,
            max_seconds=self.max_seconds,
        )
        return HMCMethod(
            n_chains=self.n_chains,
            sampler=sampler,
            start=Restarts(adam),
            burn_in=burn_in if self.walk_epochs else None,
        )

    def within(self, cost: Cost, seconds: float) -> dict[str, Value]:
        """As many chains as fit, and their warm-up; the time, unless their draws are given."""
        cost = cost.by_comparison

        def trajectories(sizes: HMCOptions) -> float:
            left = max(0.0, seconds - sizes._start_seconds(cost))
            return left / (cost.times * sizes.trajectory_seconds(cost))

        sized = (replace(self, n_chains=n) for n in _CHAINS)
        found = {each.n_chains: trajectories(each) for each in sized}
        n_chains = next((n for n in _CHAINS if found[n] >= _ENOUGH), _CHAINS[-1])
        n_warmup = min(max(int(found[n_chains]) // 4, LEAST_TRAJECTORIES // 2), MOST_WARMUP)
        sizes: dict[str, Value] = {"n_chains": n_chains, "n_warmup": n_warmup}
        return sizes if self.n_draws else sizes | {"max_seconds": seconds}

    def seconds(self, cost: Cost) -> float:
        """Of the start, the burn-in and all trajectories, or as many as the clock allows."""
        cost = cost.by_comparison
        each, start = cost.times * self.trajectory_seconds(cost), self._start_seconds(cost)
        if self.n_draws is None and self.max_seconds is not None:
            return max(start + each * LEAST_TRAJECTORIES, self.max_seconds)
        return start + each * (self.n_warmup + self.thin * self._n_draws)

    @property
    def _n_draws(self) -> int:
        return self.n_draws or DRAWS

    def longer(self) -> dict[str, Value]:
        """Twice as many trajectories."""
        return {"n_warmup": 2 * self.n_warmup, "n_draws": 2 * self._n_draws}

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
