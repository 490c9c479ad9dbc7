"""What goes along with a fit."""

from collections.abc import Sequence

from pmcnet import ais
from pmcnet.estimators.plan import Plan
from pmcnet.methods.checkpoint import AnyState
from pmcnet.methods.training.state import TrainingObserver


class Companion:
    """Goes along with a fit: is told how it goes on and may hand it a state to go on from. This one does nothing."""

    def stage(self, text: str) -> None:
        """A new part of the work begins."""

    def planned(self, plan: Plan) -> None:
        """The method is known, with its settings."""

    def resumed(self) -> AnyState | None:
        """The state to go on from, where there is one."""
        return None

    def settled(self, plan: Plan, prior_std: float) -> None:
        """The prior is known too, and sampling or training begins."""

    def annealed(self, state: ais.AnnealedState, record: ais.AnnealedRecord) -> None:
        """One temperature is done."""

    def chained(self, state: ais.ChainState, record: ais.ChainRecord) -> None:
        """One trajectory of every chain is done."""

    def stepped(self, state: ais.PMCState, info: ais.PMCInfo) -> None:
        """One step is done."""

    def epoch(self, done: int, total: int) -> None:
        """One epoch is done."""

    def observers(self) -> Sequence[TrainingObserver]:
        """Who is shown the state of a training after each epoch."""
        return ()
