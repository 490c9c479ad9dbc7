"""ADAM-MLE, ADAM-MAP and deep ensembles: networks trained once each, as one batch."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, Self

from pmcnet.ais.comm import SERIAL, Communicator
from pmcnet.bnn import BayesianTarget, Population
from pmcnet.errors import InputError
from pmcnet.methods.base import Fit, Observer, PriorSearch, Rows
from pmcnet.methods.settings import PRIORS, Choice, adam_batch, choices, epochs
from pmcnet.methods.training.adam import Adam, default_start
from pmcnet.methods.training.loop import Schedule, TrainedMethod
from pmcnet.methods.training.state import EpochInfo, TrainingState
from pmcnet.rng import stream

ONE = "one trained network is a point, not a posterior: it says nothing of what it does not know."
MANY = (
    "an ensemble of trained networks is not a posterior: their spread is that of optima, not of "
    "what the data allow. "
    "Use the annealed method for a posterior."
)


@dataclass(frozen=True, kw_only=True)
class AdamMethod(TrainedMethod):
    """Minimises -log p(y | theta), or -log pi(theta) for "map", from random starts.

    Args:
        objective: "mle" or "map".
        n_members: networks; more than one make a deep ensemble (Lakshminarayanan et al., 2017).
        learning_rate: Adam's step.
        batch_size: rows per step.
        n_epochs: passes over the rows.
        schedule: "constant", or "cosine": the step rises over the first twentieth and then falls to
            zero.
        weight_decay: share of every parameter, times the step, that is taken off at each step
            (AdamW).
        early_stopping: with validation rows each network keeps its best epoch; otherwise its last.
    """

    objective: Literal["mle", "map"] = "mle"
    n_members: int = 1
    learning_rate: float = 1e-3
    batch_size: int = 10
    n_epochs: int = 500
    schedule: Schedule = "constant"
    weight_decay: float = 0.0
    early_stopping: bool = True

    may_be_zero = frozenset({"weight_decay"})

    @property
    def prior_search(self) -> PriorSearch | None:
        """Only a maximum of the posterior depends on the prior."""
        return "validation" if self.objective == "map" else None

    @property
    def grid(self) -> tuple[Choice, ...]:
        """Early stopping, and the prior or, where it has no say, the rate."""
        stopping = (True, False)
        if self.objective == "map":
            return choices(early_stopping=stopping, learning_rate=(1e-2,), prior_std=PRIORS)
        rates = (1e-3, 3e-3, 1e-2)
        return choices(early_stopping=stopping, learning_rate=rates, prior_std=(1.0,))

    def summary(self, name: str) -> str:
        """What is trained."""
        if self.n_members > 1:
            return "deep ensemble of networks trained with the prior as penalty"
        if self.objective == "map":
            return "one network trained by Adam with the prior as penalty"
        return "one network trained by Adam, without a prior"

    def sized(self, n_rows: int) -> Self:
        """Batches that grow with the rows, and about 10 000 steps."""
        batch_size = adam_batch(n_rows)
        n_epochs = epochs(batch_size, n_rows, most=500)
        return replace(self, batch_size=batch_size, n_epochs=n_epochs)

    def __post_init__(self) -> None:
        if self.n_members < 1:
            raise InputError(f"n_members must be at least 1; got {self.n_members}.")
        self._adam()

    def _adam(self) -> Adam:
        return Adam(
            objective=self.objective,
            learning_rate=self.learning_rate,
            batch_size=self.batch_size,
            n_epochs=self.n_epochs,
            schedule=self.schedule,
            weight_decay=self.weight_decay,
        )

    def fit(
        self,
        target: BayesianTarget,
        *,
        seed: int,
        state: TrainingState | None = None,
        observers: Iterable[Observer] = (),
        comm: Communicator = SERIAL,
        validation: Rows | None = None,
    ) -> Fit[EpochInfo]:
        """Train."""
        start = default_start(target, [stream(seed, 0, block) for block in range(self.n_members)])
        held_out = validation if self.early_stopping else None
        found = self._adam().minimise(
            target,
            start,
            seed=seed,
            validation=held_out,
            state=state,
            observers=observers,
        )
        reason = ONE if self.n_members == 1 else MANY
        return Fit(Population.of(target, found.theta, reason), found.history)
