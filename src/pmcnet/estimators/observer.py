"""What a fit reports while it goes on."""

from typing import Any, Protocol

from pmcnet.estimators.formulation import Formulation
from pmcnet.estimators.plan import Plan


class FitObserver(Protocol):
    """Watches a fit: a progress display, or what keeps the history and the checkpoints of a run."""

    def stage(self, text: str) -> None:
        """A new part of the work begins."""
        ...

    def planned(self, plan: Plan, formulation: Formulation | None) -> None:
        """The method is chosen, and once more with all else that was open when that is settled."""
        ...

    def __call__(self, state: Any, info: Any) -> None:
        """One step is done; the state is None where a fit cannot go on from it."""
        ...
