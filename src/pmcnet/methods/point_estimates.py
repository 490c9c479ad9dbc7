"""ADAM-MLE, ADAM-MAP and deep ensembles: networks trained once each, as one batch."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from pmcnet.bnn import BayesianTarget, Population
from pmcnet.errors import InputError
from pmcnet.methods.base import Fit
from pmcnet.methods.training.adam import Adam, default_start
from pmcnet.methods.training.loop import EpochRecord, Progress, Rows, Schedule, Trained
from pmcnet.methods.training.state import TrainingObserver, TrainingState
from pmcnet.rng import stream

ONE = "one trained network is a point, not a posterior: it says nothing of what it does not know."
MANY = (
    "an ensemble of trained networks is not a posterior: their spread is that of optima, not of "
    "what the data allow. "
    "Use the annealed method for a posterior."
)


@dataclass(frozen=True, kw_only=True)
class AdamMethod(Trained):
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

    @property
    def has_prior(self) -> bool:
        """Only a maximum of the posterior knows the prior."""
        return self.objective == "map"

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
        validation: Rows | None = None,
        progress: Progress | None = None,
        state: TrainingState | None = None,
        observers: Iterable[TrainingObserver] = (),
    ) -> Fit[EpochRecord]:
        """Train."""
        start = default_start(target, [stream(seed, 0, block) for block in range(self.n_members)])
        held_out = validation if self.early_stopping else None
        found = self._adam().minimise(
            target,
            start,
            seed=seed,
            validation=held_out,
            progress=progress,
            state=state,
            observers=observers,
        )
        reason = ONE if self.n_members == 1 else MANY
        return Fit(Population.of(target, found.theta, reason), found.history)
