"""What a fit reports while it goes on."""

from typing import Any, NamedTuple, Protocol, Self

from pmcnet.estimators.formulation import Formulation, PriorStd
from pmcnet.estimators.plan import Plan
from pmcnet.tune import Comparison


class Settled(NamedTuple):
    """What was chosen, the comparisons, and the choice in a sentence, "" where none was made.

    `scale` is how the prior's standard deviation is still to be searched, or what is settled.
    `information` is what the rows say of the network, in nats: log Z less the log-density of the
    same rows under one normal distribution, a guess where nothing was compared, 0 of classes.
    """

    formulation: Formulation
    comparisons: list[Comparison]
    reason: str
    scale: PriorStd
    information: float

    def with_prior(self, sigma: float) -> Self:
        """The same with the standard deviation that was found."""
        return self._replace(formulation=self.formulation._replace(prior_std=sigma), scale=sigma)


class FitObserver(Protocol):
    """Watches a fit: a progress display, or what keeps the history and the checkpoints of a run."""

    def stage(self, text: str) -> None:
        """A new part of the work begins."""
        ...

    def planned(self, plan: Plan, settled: Settled | None) -> None:
        """The method is chosen, and once more with all else that was open when that is settled."""
        ...

    def __call__(self, state: Any, info: Any) -> None:
        """One step is done; the state is None where a fit cannot go on from it."""
        ...
