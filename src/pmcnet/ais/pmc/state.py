"""What a step of population Monte Carlo needs, and what it reports."""

import math
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from pmcnet.ais import diagnostics
from pmcnet.ais.pmc.proposals import Proposals
from pmcnet.ais.samples import WeightedSamples
from pmcnet.ais.scale import Diagonal, Full
from pmcnet.ais.timing import Phases
from pmcnet.io.state_checks import check_number, check_place, require


class Estimate(NamedTuple):
    """Evidence and effective number of the draws of one step, or of several steps together."""

    log_evidence: float = -math.inf
    ess: float = 0.0

    @classmethod
    def of(cls, log_weight: Tensor) -> "Estimate":
        """From the weights of one step (M, K)."""
        return cls(
            float(diagnostics.log_evidence(log_weight)),
            float(diagnostics.ess(log_weight.flatten())),
        )

    def pooled(self, before: "Estimate", n_before: int, n_draws: int) -> "Estimate":
        """This step together with the steps before, each of `n_draws` draws.

        The sums of w and of w^2 over the steps before follow from their evidence and ESS.
        """
        if n_before == 0:
            return self
        log_n = math.log(n_draws)
        log_sum = self.log_evidence + log_n
        log_sum_before = before.log_evidence + log_n + math.log(n_before)
        log_squares = 2 * log_sum - math.log(self.ess)
        log_squares_before = 2 * log_sum_before - math.log(before.ess)
        log_sum_all = np.logaddexp(log_sum, log_sum_before)
        ess = np.exp(2 * log_sum_all - np.logaddexp(log_squares, log_squares_before))
        return Estimate(float(log_sum_all - log_n - math.log(n_before + 1)), float(ess))


class PMCState(NamedTuple):
    """What the next step needs: proposals, steps done, seed, and the estimates so far.

    `last` is of the draws of the last step; `pooled` of all steps, each weighted by its own
    proposals.
    """

    proposals: Proposals
    step: int
    seed: int
    last: Estimate = Estimate()
    pooled: Estimate = Estimate()

    @staticmethod
    def stored_types() -> tuple[type[Any], ...]:
        """What a state in a file is made of."""
        return (Proposals, Full, Diagonal, Estimate)

    def check(self) -> None:
        """Refuse a state that no run has written."""
        check_place(self.step, self.seed)
        require(isinstance(self.proposals, Proposals), "proposals", "Proposals")
        self.proposals.check()
        for estimate in (self.last, self.pooled):
            require(isinstance(estimate, Estimate), "last and pooled", "Estimate")
            if self.step:
                check_number(estimate.log_evidence, "log_evidence", -math.inf)
                check_number(estimate.ess, "ess", 0)


class PMCInfo(NamedTuple):
    """What a person wants to know about one step.

    `proposals` are those that the step drew from and `samples` its draws (M, K, D) with weights
    (M, K), of several processes each one's own; the history drops both where they are not kept;
    `log_weight` (M, K) the weights of all; `ancestors` (M,) the flat index of the draw that each
    new mean came from, -1 for a proposal that had none; `step_size` (M,), or (M, B) for incremental
    steps, the accepted gamma, 0 for none; `rejected_scale` (M,) whether the previous covariance had
    to be kept; `phases` where the time went; `last` and `pooled` as in the state.
    """

    step: int
    proposals: Proposals | None
    samples: WeightedSamples | None
    log_weight: Tensor
    ancestors: Tensor
    step_size: Tensor
    rejected_scale: Tensor
    phases: Phases
    last: Estimate
    pooled: Estimate
    seconds: float = 0.0

    @property
    def ess(self) -> float:
        """Effective number of all draws of the step."""
        return self.last.ess

    def line(self) -> dict[str, Any]:
        """The step as plain data."""
        return {
            "step": self.step,
            "ess": self.last.ess,
            "max_weight": float(diagnostics.max_weight(self.log_weight.flatten())),
            "log_evidence": self.last.log_evidence,
            "pooled_ess": self.pooled.ess,
            "pooled_log_evidence": self.pooled.log_evidence,
            "step_size": float(self.step_size.mean()),
            "n_rejected_scale": int(self.rejected_scale.sum()),
            "n_starved": int((self.ancestors < 0).sum()),
            "seconds": self.seconds,
            "seconds_proposals": self.phases.proposals,
            "seconds_target": self.phases.target,
            "seconds_moves": self.phases.moves,
            "memory": self.phases.memory,
        }
