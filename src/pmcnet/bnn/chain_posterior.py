"""The draws of parallel chains as a posterior."""

import math
from dataclasses import dataclass, field
from typing import Self

from torch import Tensor

from pmcnet.ais.hmc.result import ChainResult
from pmcnet.bnn.overflow import refuse_diverged
from pmcnet.bnn.posterior import Population
from pmcnet.bnn.target import BayesianTarget


@dataclass(frozen=True, eq=False)
class ChainPosterior(Population):
    """Draws of all chains, each counting once, judged by whether the chains agree and have arrived.

    `energy_error` is what rounding adds to an energy difference, in nats.
    """

    result: ChainResult = field(kw_only=True)
    energy_error: float = field(kw_only=True, default=math.nan)

    @classmethod
    def of(cls, target: BayesianTarget, result: ChainResult, energy_error: float) -> Self:  # type: ignore[override]
        """The posterior of a target, from the run that sampled it."""
        samples = result.samples
        refuse_diverged(target, samples.theta)
        status, reason, _ = result.verdict
        return cls(
            target.network,
            target.likelihood,
            samples,
            target.memory,
            reason=reason,
            status=status,
            known_ess=result.ess,
            result=result,
            energy_error=energy_error,
        )

    def by_chain(self, n: int) -> Tensor:
        """The last draws of all chains (P, K, D) that are no more than `n`."""
        kept = self.result.theta  # (K, P, D)
        return kept[-max(1, n // kept.shape[1]) :].transpose(0, 1)
