"""What parallel chains leave: draws, and whether they agree with each other and have stopped drifting."""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from scipy.special import stdtrit  # type: ignore[import-untyped]
from torch import Tensor

from pmcnet.ais.diagnostics import Verdict
from pmcnet.ais.samples import WeightedSamples

MAX_RHAT = 1.05
"""R-hat in function space from which chains do not agree."""
DRIFT_LEVEL = 1e-3
"""Probability with which chains that do not drift are said to: of 16, those that move by 4.1 standard errors."""
MIN_ACCEPTANCE = 0.2
MIN_ESS = 100.0
MORE = "Run longer: more warm-up, more draws."


class ChainRecord(NamedTuple):
    """One line of a run's history: a trajectory of every chain.

    `warming` says whether it was one of the warm-up; `log_density` and `acceptance` are means over
    the chains; `seconds` the time since the run began.
    """

    step: int
    warming: bool
    log_density: float
    acceptance: float
    step_size: float
    n_leapfrog: int
    n_divergences: int
    seconds: float


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
    history: tuple[ChainRecord, ...]
    finished: bool
    acceptance: float = 1.0

    @property
    def samples(self) -> WeightedSamples:
        """All draws of all chains, equally weighted."""
        theta = self.theta.flatten(0, 1)
        return WeightedSamples(theta, theta.new_zeros(len(theta), dtype=torch.float64))

    @cached_property
    def rhat(self) -> float:
        """The largest R-hat of the monitors (rank-normalised, split; Vehtari et al., 2021); infinite where unknown."""
        return self._worst("rhat", max, math.inf)

    @cached_property
    def ess(self) -> float:
        """The smallest bulk ESS of the monitors."""
        return self._worst("ess", min, 0.0)

    @cached_property
    def unrest(self) -> float:
        """R-hat of log pi, each chain about its own mean: large where some chains, or all, drift or move slowly.

        A chain that drifts alone widens the errors of `drift`, by which it is then not seen.
        """
        return self._worst(
            "rhat", max, math.inf, of=(self.log_density - self.log_density.mean(0))[..., None]
        )

    @cached_property
    def drift(self) -> float:
        """Log pi of the last third of the draws less that of the first, in standard errors; infinite where unknown.

        Errors are those over chains, so of one chain alone it is not known.
        """
        n = len(self.log_density) // 3
        if n == 0 or self.log_density.shape[1] < 2 or not self.log_density.isfinite().all():
            return math.inf
        change = self.log_density[-n:].mean(0) - self.log_density[:n].mean(0)  # (P,)
        error = float(change.std()) / math.sqrt(len(change))
        return float(change.mean()) / error if error > 0 else 0.0

    @property
    def disagreement(self) -> tuple[float, float]:
        """Mean absolute difference of monitors between halves of the same chains, and between halves of all chains."""
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
        if len(self.log_density) < 4:
            return Verdict(
                "degenerate",
                f"there are {len(self.log_density)} draws of each chain, too few to judge. {MORE}",
            )
        if not self.acceptance > MIN_ACCEPTANCE:
            return Verdict(
                "doubtful", f"only {self.acceptance:.0%} of the trajectories were accepted. {MORE}"
            )
        if abs(self.drift) > most_drift(self.log_density.shape[1]):
            moved = f"log pi still drifts, by {self.drift:.1f} standard errors over the draws"
            return Verdict(
                "doubtful", f"{moved}: the chains had not arrived when the draws began. {MORE}"
            )
        if not self.unrest < MAX_RHAT:
            known = f"R-hat {self.unrest:.3f} about their means, which should be below {MAX_RHAT}"
            some = f"log pi of single chains has not settled ({known})"
            return Verdict("doubtful", f"{some}: they still drift, or move too slowly. {MORE}")
        if not self.rhat < MAX_RHAT:
            apart = f"chains differ in what they predict (R-hat {self.rhat:.3f}, which should be below {MAX_RHAT})"
            return Verdict("doubtful", f"{apart}, so each knows a part of the posterior. {MORE}")
        if self.ess < MIN_ESS:
            return Verdict(
                "doubtful", f"{self.ess:.0f} draws are effective; {MIN_ESS:.0f} are needed. {MORE}"
            )
        known = f"R-hat of the predictions is {self.rhat:.3f}, {self.ess:.0f} draws are effective"
        return Verdict("trustworthy", f"{known}, and log pi does not drift.")

    def _worst(
        self, name: str, choose: Callable[..., float], unknown: float, of: Tensor | None = None
    ) -> float:
        """The worst value of the monitors, or of other quantities (K, P, S)."""
        from arviz_stats.base import array_stats  # slow to import

        of = self.monitors if of is None else of
        if len(of) < 4:
            return unknown
        values = of.permute(2, 1, 0).cpu().numpy()  # (S, P, K)
        varying = values[values.std((1, 2)) > 0]
        if len(varying) == 0:
            return unknown
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = getattr(array_stats, name)(varying, chain_axis=1, draw_axis=2)
        # Infinite where chains stand still, each elsewhere; not a number where nothing can be said.
        known = [float(value) for value in np.ravel(found) if not math.isnan(value)]
        return choose(known) if known else unknown


def most_drift(n_chains: int) -> float:
    """Standard errors, known from so many chains, by which log pi may differ: Student's quantile."""
    return float(stdtrit(n_chains - 1, 1 - DRIFT_LEVEL / 2)) if n_chains > 1 else math.inf
