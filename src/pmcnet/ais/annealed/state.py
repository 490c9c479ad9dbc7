"""What a tempering step needs, and what it reports."""

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor

from pmcnet.ais import diagnostics
from pmcnet.ais.annealed import genealogy
from pmcnet.ais.hmc.adaptation import Tuning
from pmcnet.ais.path import Points
from pmcnet.ais.samples import WeightedSamples
from pmcnet.io.state_checks import (
    DOUBLE,
    check_number,
    check_place,
    check_tensor,
    check_whole,
    require,
)


class AnnealedState(NamedTuple):
    """What the next step needs, so that a run can be stopped and continued after any step.

    `points` are the particles of G islands one after another, n in all. `log_weight` (n,) are their
    normalised log-weights, with the same weight 1 / G for every island. `origin` (n,) is the
    ancestor of each in the first population, `beta` the inverse temperature.
    `island_log_evidence` (G,) is log Z of prior * likelihood^beta by each island,
    `ideal_variance` (G,) what its variance would be if the moves made particles independent,
    `least_ess` the smallest conditional ESS of all steps and islands, `first_island` the number of
    the first island among those of the seed, `stage` counts the waypoints that were reached; beta
    and the likelihood are those from the last one to the next.
    """

    points: Points
    log_weight: Tensor
    origin: Tensor
    beta: float
    island_log_evidence: Tensor
    ideal_variance: Tensor
    least_ess: float
    tuning: Tuning
    step: int
    seed: int
    first_island: int = 0
    stage: int = 0

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
    def n_islands(self) -> int:
        """G."""
        return len(self.island_log_evidence)

    @property
    def log_evidence(self) -> float:
        """Log Z, the mean of Z over the islands."""
        return float(diagnostics.log_evidence(self.island_log_evidence))

    @property
    def log_evidence_error(self) -> float:
        """Standard error of `log_evidence`: from the islands, or the genealogy of a single one."""
        if self.n_islands > 1:
            return islands_evidence_error(self.island_log_evidence)
        by_ancestors = genealogy.evidence_variance(self.weight, self.origin)
        return math.sqrt(max(float(self.ideal_variance), by_ancestors))

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
        check_tensor(self.island_log_evidence, "island_log_evidence", 1, None, DOUBLE)
        n_islands = self.n_islands
        require(n_islands > 0 and n % n_islands == 0, "island_log_evidence", "one for each island")
        check_tensor(self.ideal_variance, "ideal_variance", 1, (n_islands,), DOUBLE)
        require(bool((self.ideal_variance >= -1e-6).all()), "ideal_variance", "0 or more")
        check_whole(self.first_island, "first_island")
        check_whole(self.stage, "stage")
        if self.least_ess != math.inf:  # as it is before the first step
            check_number(self.least_ess, "least_ess", 0)
        require(isinstance(self.tuning, Tuning), "tuning", "Tuning")
        self.tuning.check()


def islands_evidence_error(log_evidence: Tensor) -> float:
    """Standard error of the log of the mean of Z over islands (G,), at least two.

    By the delta method, or from log Z itself where that varies more: where a few islands have
    nearly all of the sum, the delta method has lost sight of the others.
    """
    by_mean = float(diagnostics.log_evidence_error(log_evidence[:, None]))
    by_log = float(log_evidence.std()) / math.sqrt(len(log_evidence))
    return max(by_mean, by_log)


class AnnealedInfo(NamedTuple):
    """What a person wants to know about one tempering step.

    `beta` is the inverse temperature that was reached and `rise` how far it rose; with waypoints it
    goes from 0 to 1 over all stages, each of which has an equal part. `ess` and
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
