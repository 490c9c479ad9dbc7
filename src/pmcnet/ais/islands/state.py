"""What a step of a run of islands needs, and what it reports."""

import math
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor

from pmcnet.ais.agreement import Agreement
from pmcnet.ais.annealed.rejuvenation import Moves
from pmcnet.ais.annealed.state import AnnealedInfo, AnnealedState, islands_evidence_error
from pmcnet.ais.diagnostics import log_evidence as mean_log_evidence
from pmcnet.ais.hmc.adaptation import Tuning
from pmcnet.ais.path import Points
from pmcnet.io.state_checks import (
    DOUBLE,
    REAL,
    check_number,
    check_place,
    check_tensor,
    check_whole,
    require,
)


class Settling(NamedTuple):
    """What polished particles still show of where annealing left them.

    `correlation` is that of predictions now with those before polishing, `fit_correlation` that of
    the log-likelihood, both about the means of their islands. `fit_drift` is the least, and
    `most_fit_drift` the most, by which the mean log-likelihood changes from the first half of the
    rounds to the second, in its standard deviations.
    """

    correlation: float
    fit_correlation: float
    fit_drift: float
    most_fit_drift: float

    def worst(self, other: Self) -> Self:
        """The larger of each."""
        return type(self)(*map(max, self, other))

    def check(self) -> None:
        """Refuse what no run has."""
        check_number(self.correlation, "correlation", -1.01, 1.01)
        check_number(self.fit_correlation, "fit_correlation", -1.01, 1.01)
        check_number(self.fit_drift, "fit_drift", 0)
        check_number(self.most_fit_drift, "most_fit_drift", self.fit_drift)


UNKNOWN_DRIFT = 100.0
"""The most that a mean may drift where too few rounds tell."""
SETTLED = Settling(-1.0, -1.0, 0.0, 0.0)
"""Where nothing is left of annealing."""


class Polish(NamedTuple):
    """The trajectories at the posterior of a batch of n particles.

    `frozen` is where the particles were when the scales of the moves were learnt, `kept` (K, n, D)
    the populations that count so far, one after every `stride` rounds. `n_rounds` counts rounds,
    `n_tuned` those before them, `n_gradients` batches of gradients of all. `acceptance` is the
    mean over the rounds that count, `fit` (R, G) the mean log-likelihood of each island after each
    of them.
    """

    frozen: Points
    kept: Tensor
    stride: int
    n_tuned: int
    n_rounds: int
    n_gradients: int
    acceptance: float
    fit: Tensor
    settling: Settling

    @classmethod
    def begun(cls, points: Points, n_islands: int) -> Self:
        """Before the first trajectory."""
        none = points.theta.new_empty(0, *points.theta.shape)
        fit = points.log_likelihood.new_empty(0, n_islands)
        return cls(points, none, 1, 0, 0, 0, 0.0, fit, Settling(1.0, 1.0, 0.0, UNKNOWN_DRIFT))

    def check(self, n: int, dim: int, n_islands: int) -> None:
        """Refuse what no run of n particles has."""
        require(isinstance(self.frozen, Points), "frozen", "Points")
        self.frozen.check()
        _check_draws(self.kept, "kept", (n, dim))
        for name in ("n_tuned", "n_rounds", "n_gradients"):
            check_whole(getattr(self, name), name)
        check_whole(self.stride, "stride", 1)
        check_number(self.acceptance, "acceptance", 0, 1)
        fit = isinstance(self.fit, Tensor) and self.fit.dtype in DOUBLE
        require(fit and self.fit.shape == (self.n_rounds, n_islands), "fit", "means by island")
        require(isinstance(self.settling, Settling), "settling", "Settling")
        self.settling.check()


class IslandsState(NamedTuple):
    """What the next step needs, so that a run can be stopped and continued after any step.

    `batch` are the islands at work, and `polish` their trajectories at the posterior. `finished`
    (F, k, D) are draws of the islands before, `finished_log_evidence` (F,) is log Z by each,
    `finished_acceptance` and `finished_settling` are the worst of those batches. `rise` is how
    far the last tempering step of the batch went, `n_gradients` what its annealing took so far in
    gradients of the target,
    `seconds` the computing time of the run, `batch_seconds` that of the batch. `agreement` is that
    of all islands whose draws count, when it was last known.
    """

    batch: AnnealedState
    polish: Polish
    finished: Tensor
    finished_log_evidence: Tensor
    finished_acceptance: float
    finished_settling: Settling
    rise: float
    n_gradients: int
    seconds: float
    batch_seconds: float
    agreement: Agreement
    ended: bool
    step: int
    seed: int

    @staticmethod
    def stored_types() -> tuple[type[Any], ...]:
        """What a state in a file is made of."""
        return (AnnealedState, Polish, Settling, Agreement, Points, Tuning)

    @property
    def n_finished(self) -> int:
        """F."""
        return len(self.finished)

    @property
    def annealed(self) -> bool:
        """Whether the islands at work have reached the posterior."""
        return self.batch.beta >= 1

    @property
    def log_evidences(self) -> Tensor:
        """Log Z by each island that has reached the posterior (G,)."""
        own = self.batch.island_log_evidence
        parts = [self.finished_log_evidence, own] if self.annealed else [self.finished_log_evidence]
        return torch.cat(parts)

    @property
    def acceptance(self) -> float:
        """The smallest mean acceptance of a batch's trajectories that count."""
        own = self.polish.acceptance if self.polish.n_rounds else 1.0
        return min(self.finished_acceptance, own)

    @property
    def settling(self) -> Settling:
        """What the batch that shows most still shows of its annealing."""
        own = self.polish.settling if self.polish.n_rounds else SETTLED
        return self.finished_settling.worst(own)

    @property
    def n_islands(self) -> int:
        """Islands whose draws count: those before, and those of this batch once it is polished."""
        return self.n_finished + (self.batch.n_islands if len(self.polish.kept) else 0)

    def check(self) -> None:
        """Refuse a state that no run has written."""
        check_place(self.step, self.seed)
        for name, kind in (("batch", AnnealedState), ("polish", Polish)):
            require(isinstance(getattr(self, name), kind), name, kind.__name__)
        self.batch.check()
        n, dim = self.batch.points.theta.shape
        self.polish.check(n, dim, self.batch.n_islands)
        require(self.finished.ndim == 3 and self.finished.shape[2] == dim, "finished", "draws")
        _check_draws(self.finished, "finished", tuple(self.finished.shape[1:]))
        if self.n_finished:
            shape = (self.n_finished,)
            check_tensor(self.finished_log_evidence, "finished_log_evidence", 1, shape, DOUBLE)
        require(isinstance(self.agreement, Agreement), "agreement", "an Agreement")
        self.agreement.check()
        check_whole(self.n_gradients, "n_gradients")
        check_number(self.rise, "rise", 0, 1)
        check_number(self.finished_acceptance, "finished_acceptance", 0, 1)
        require(isinstance(self.finished_settling, Settling), "finished_settling", "Settling")
        self.finished_settling.check()
        for name in ("seconds", "batch_seconds"):
            check_number(getattr(self, name), name, 0)
        require(type(self.ended) is bool, "ended", "true or false")


class IslandsInfo(NamedTuple):
    """What a person wants to know about one step of a run of islands.

    `polishing` says whether islands were polished, or annealed. `n_islands` counts those whose
    draws count, `error` and `error_upper` are the errors of what they predict at the median row and
    at the 90th percentile, and `rhat` the largest nested R-hat, infinite before draws count. `left`
    is about how many seconds the run still takes. For the others see `AnnealedInfo`; `correlation`
    of polishing is that of predictions with those before it.
    """

    polishing: bool
    step: int
    beta: float
    ess: float
    log_evidence: float
    log_evidence_error: float
    acceptance: float
    step_size: float
    n_leapfrog: int
    n_gradients: int
    correlation: float
    n_divergences: int
    n_islands: int
    error: float = math.inf
    error_upper: float = math.inf
    rhat: float = math.inf
    left: float = math.nan
    seconds: float = 0.0

    @classmethod
    def of_annealing(cls, found: AnnealedInfo, n_islands: int) -> Self:
        """One tempering step."""
        own = found._asdict()
        known = {name: own[name] for name in cls._fields if name in own}
        return cls(polishing=False, n_islands=n_islands, **known)

    @classmethod
    def of_polishing(cls, state: IslandsState, moves: Moves) -> Self:
        """One round of trajectories."""
        agreement = state.agreement
        return cls(
            polishing=True,
            step=state.step,
            beta=1.0,
            ess=agreement.ess if state.n_islands else float(len(state.batch.points.theta)),
            log_evidence=float(mean_log_evidence(state.log_evidences)),
            log_evidence_error=islands_evidence_error(state.log_evidences),
            acceptance=moves.acceptance,
            step_size=moves.tuning.step_size,
            n_leapfrog=moves.tuning.n_leapfrog,
            n_gradients=moves.n_gradients,
            correlation=state.polish.settling.correlation,
            n_divergences=moves.n_divergences,
            n_islands=state.n_islands,
            error=agreement.median,
            error_upper=agreement.upper,
            rhat=agreement.rhat,
        )

    def line(self) -> dict[str, Any]:
        """The step as plain data; `temperature` is the public name of beta in histories."""
        fields = self._asdict()
        first = {"step": fields.pop("step"), "temperature": fields.pop("beta")}
        del fields["left"]  # a forecast
        return {**first, **fields}


def _check_draws(value: Any, name: str, shape: tuple[int, ...]) -> None:
    fine = isinstance(value, Tensor) and value.dtype in REAL and value.ndim == 3
    require(fine and tuple(value.shape[1:]) == shape, name, f"draws (K, {shape[0]}, {shape[1]})")
    require(bool(torch.isfinite(value).all()), name, "finite")
