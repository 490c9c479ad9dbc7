"""What parallel chains leave: draws, and whether they agree and have stopped drifting."""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from pmcnet.ais.hmc.state import ChainInfo, ChainState
from pmcnet.ais.samples import WeightedSamples
from pmcnet.ais.verdict import Verdict, chain_verdict
from pmcnet.ais.verdict.limits import MIN_CHAIN_DRAWS


@dataclass(frozen=True)
class ChainResult:
    """Draws of P chains.

    `theta` (K, P, D) are the draws, none where they were not kept; `log_density` (K, P) is log pi
    there, `monitors` (K, P, S) what they predict for a few rows, or the coordinates; `finished`
    says whether all trajectories were made, `acceptance` how many of those whose draws count were
    accepted on average, with those before a run was continued.
    """

    theta: Tensor
    log_density: Tensor
    monitors: Tensor
    history: tuple[ChainInfo, ...]
    finished: bool
    acceptance: float = 1.0

    @classmethod
    def of(
        cls, state: ChainState, history: tuple[ChainInfo, ...], *, finished: bool, share: float = 1
    ) -> Self:
        """What a state has kept, or the latest share of it."""
        n = math.ceil(share * len(state.log_density))
        theta, log_density, monitors = (
            part[max(0, len(part) - n) :]
            for part in (state.kept, state.log_density, state.monitors)
        )
        return cls(theta, log_density, monitors, history, finished, state.acceptance)

    @property
    def samples(self) -> WeightedSamples:
        """All draws of all chains, one chain after another, equally weighted."""
        theta = self.theta.transpose(0, 1).flatten(0, 1)
        return WeightedSamples(theta, theta.new_zeros(len(theta), dtype=torch.float64))

    @cached_property
    def rhat(self) -> float:
        """The largest rank-normalised split R-hat of the monitors (Vehtari et al., 2021).

        Infinite where it is unknown.
        """
        return self._worst("rhat", max, math.inf)

    @cached_property
    def separation(self) -> float:
        """The largest split R-hat without ranks, which hide how far apart chains are."""
        return self._worst("rhat", max, math.inf, method="split")

    @cached_property
    def ess(self) -> float:
        """The smallest bulk ESS of the monitors."""
        return self._worst("ess", min, 0.0)

    @cached_property
    def log_density_rhat(self) -> float:
        """R-hat of log pi, each chain about its mean: large where a chain drifts or moves slowly.

        A chain that drifts alone widens the errors of `drift`, by which it is then not seen.
        """
        return self._worst(
            "rhat", max, math.inf, of=(self.log_density - self.log_density.mean(0))[..., None]
        )

    @cached_property
    def drift(self) -> float:
        """Log pi of the last third of the draws minus the first, in standard errors.

        Errors are those over chains, so of one chain alone it is not known.
        """
        n = len(self.log_density) // 3
        if n == 0 or self.log_density.shape[1] < 2 or not self.log_density.isfinite().all():
            return math.inf
        change = self.log_density[-n:].mean(0) - self.log_density[:n].mean(0)  # (P,)
        error = float(change.std()) / math.sqrt(len(change))
        return float(change.mean()) / error if error > 0 else 0.0

    @property
    def drift_size(self) -> float:
        """What `drift` is in standard deviations of log pi over all draws."""
        n = len(self.log_density) // 3
        if n == 0 or not self.log_density.isfinite().all():
            return math.inf
        change = self.log_density[-n:].mean() - self.log_density[:n].mean()
        return abs(float(change / self.log_density.std()))

    @property
    def disagreement(self) -> tuple[float, float]:
        """Mean absolute difference of monitors between halves of each chain, and of the chains."""
        n, p = (size // 2 for size in self.monitors.shape[:2])
        if n == 0 or p == 0:
            return math.inf, math.inf
        within = (self.monitors[:n].mean(0) - self.monitors[-n:].mean(0)).abs().mean()
        between = (
            (self.monitors[:, :p].mean((0, 1)) - self.monitors[:, -p:].mean((0, 1))).abs().mean()
        )
        return float(within), float(between)

    @property
    def verdict(self) -> Verdict:
        """Whether the draws can stand for the target, and why."""
        return chain_verdict(self)

    def _worst(
        self,
        name: str,
        choose: Callable[..., float],
        unknown: float,
        of: Tensor | None = None,
        **options: Any,
    ) -> float:
        """The worst value of the monitors, or of other quantities (K, P, S)."""
        from arviz_stats.base import array_stats  # slow to import

        of = self.monitors if of is None else of
        if len(of) < MIN_CHAIN_DRAWS:
            return unknown
        values = of.permute(2, 1, 0).cpu().numpy()  # (S, P, K)
        varying = values[values.std((1, 2)) > 0]
        if len(varying) == 0:
            return unknown
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = getattr(array_stats, name)(varying, chain_axis=1, draw_axis=2, **options)
        # Infinite where chains stand still, each elsewhere; not a number where nothing can be said.
        known = [float(value) for value in np.ravel(found) if not math.isnan(value)]
        return choose(known) if known else unknown
