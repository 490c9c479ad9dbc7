"""What a tempering step needs, and what it reports."""

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor

from pmcnet.ais.annealed import genealogy
from pmcnet.ais.hmc.adaptation import Tuning
from pmcnet.ais.path import Points
from pmcnet.ais.samples import WeightedSamples
from pmcnet.io.state_checks import DOUBLE, check_number, check_place, check_tensor, require


class AnnealedState(NamedTuple):
    """What the next step needs, so that a run can be stopped and continued after any step.

    `points` are the particles, `log_weight` (P,) their normalised log-weights, `origin` (P,) the
    ancestor of each in the first population, `beta` the inverse temperature. `log_evidence` is
    log Z of prior * likelihood^beta, `ideal_variance` what its variance would be if the moves made
    particles independent, `least_ess` the smallest conditional ESS of all steps.
    """

    points: Points
    log_weight: Tensor
    origin: Tensor
    beta: float
    log_evidence: float
    ideal_variance: float
    least_ess: float
    tuning: Tuning
    step: int
    seed: int

    @staticmethod
    def stored_types() -> tuple[type[Any], ...]:
        """What a state in a file is made of."""
        return (Points, Tuning)

    @property
    def weight(self) -> Tensor:
        """Normalised weights (P,)."""
        return self.log_weight.exp()

    @property
    def n_ancestors(self) -> float:
        """Effective number of ancestors in the first population."""
        return genealogy.n_ancestors(self.weight, self.origin)

    @property
    def log_evidence_error(self) -> float:
        """Standard error of `log_evidence` from the genealogy, and at least the ideal one."""
        by_ancestors = genealogy.evidence_variance(self.weight, self.origin)
        return math.sqrt(max(self.ideal_variance, by_ancestors))

    @property
    def samples(self) -> WeightedSamples:
        """The particles as weighted draws whose mean weight is Z."""
        log_weight = self.log_weight + self.log_evidence + math.log(len(self.log_weight))
        return WeightedSamples(self.points.theta, log_weight)

    def check(self) -> None:
        """Refuse a state that no run has written."""
        check_place(self.step, self.seed)
        require(isinstance(self.points, Points), "points", "Points")
        self.points.check()
        n = len(self.points.theta)
        check_tensor(self.log_weight, "log_weight", 1, (n,), DOUBLE, finite=False)
        total = float(self.log_weight.logsumexp(0))
        require(abs(total) < 1e-3, "log_weight", f"normalised; the log of their sum is {total:.3g}")
        check_tensor(self.origin, "origin", 1, (n,), (torch.int64,))
        known = bool(((self.origin >= 0) & (self.origin < n)).all())
        require(known, "origin", f"numbers of particles, below {n}")
        check_number(self.beta, "beta", 0, 1)
        check_number(self.log_evidence, "log_evidence", -math.inf)
        check_number(self.ideal_variance, "ideal_variance", -1e-6)
        if self.least_ess != math.inf:  # as it is before the first step
            check_number(self.least_ess, "least_ess", 0)
        require(isinstance(self.tuning, Tuning), "tuning", "Tuning")
        self.tuning.check()


class AnnealedInfo(NamedTuple):
    """What a person wants to know about one tempering step.

    `beta` is the inverse temperature that was reached and `rise` how far it rose. `ess` and
    `n_ancestors` are of the weights before resampling, `conditional_ess` of this step's increment.
    `n_gradients` counts batches, one gradient for each particle. `drift` is the largest significant
    shift of a monitored mean by the moves, in standard deviations. For `correlation` and `jump` see
    `rejuvenation.Moves`.
    """

    step: int
    beta: float
    rise: float
    ess: float
    conditional_ess: float
    n_ancestors: float
    resampled: bool
    log_evidence: float
    log_evidence_error: float
    acceptance: float
    step_size: float
    n_leapfrog: int
    n_moves: int
    n_gradients: int
    correlation: float
    jump: float
    drift: float
    n_divergences: int
    seconds: float = 0.0

    def line(self) -> dict[str, Any]:
        """The step as plain data; `temperature` is the public name of beta in histories."""
        fields = self._asdict()
        first = {"step": fields.pop("step"), "temperature": fields.pop("beta")}
        del fields["resampled"]
        return {**first, **fields}
