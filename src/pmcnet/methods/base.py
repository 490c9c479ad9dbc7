"""The contract of every method: what a fit is given, what it leaves, what callers may ask."""

from collections.abc import Callable, Iterable
from typing import Any, Generic, Literal, NamedTuple, Protocol, Self, TypeVar

from torch import Tensor

from pmcnet.ais.comm import SERIAL, Communicator
from pmcnet.ais.islands.algorithm import Islands
from pmcnet.bnn import BayesianTarget, ParticlePosterior

Record = TypeVar("Record", covariant=True)
Rows = tuple[Tensor, Tensor]
"""Inputs and targets of some rows."""
Observer = Callable[[Any, Any], None]
"""Called with (state, info) after each step; the state is None where a fit cannot go on from it."""
PriorSearch = Literal["evidence", "validation"]


class Fit(NamedTuple, Generic[Record]):
    """The posterior and the steps that led to it."""

    posterior: ParticlePosterior
    history: tuple[Record, ...]


class Method(Protocol):
    """A way to fit a network. Methods inherit from it what they do not define themselves.

    A state counts the `step` lines of the history that lead to it and that it does not hold itself.
    An info has `line()`, its line of the history.
    """

    @property
    def state_types(self) -> tuple[type[Any], ...]:
        """The types of the states that a fit can go on from."""
        return ()

    @property
    def prior_search(self) -> PriorSearch | None:
        """How the prior's scale is best found; None where the prior has no say."""
        return "validation"

    @property
    def needs_validation(self) -> bool:
        """Whether rows are held out for the fit, to choose the epoch that is kept."""
        return False

    @property
    def sampler(self) -> Any:
        """What runs it, where there is such; a search by the evidence runs it (`tune`)."""
        return None

    @property
    def work(self) -> str:
        """What a fit does, for its user to read."""
        return "training"

    def fit(
        self,
        target: BayesianTarget,
        *,
        seed: int,
        state: Any = None,
        observers: Iterable[Observer] = (),
        comm: Communicator = SERIAL,
        validation: Rows | None = None,
    ) -> Fit[Any]:
        """Fit.

        Args:
            target: the network, its likelihood and prior, and the training rows.
            seed: decides everything random.
            state: where to go on from.
            observers: called with (state, info) after each step. The tensors of a `TrainingState`
                are those of the training itself, which its next epoch changes.
            comm: shares the work between processes.
            validation: rows by which the best epoch is kept.
        """
        ...

    def adapted(self, target: BayesianTarget) -> BayesianTarget:
        """The target in the precision and with the mini-batches that the method needs."""
        return target

    def prepared(
        self,
        target: BayesianTarget,
        *,
        seed: int,
        state: Any = None,
        observers: Iterable[Observer] = (),
        comm: Communicator = SERIAL,
        validation: Rows | None = None,
    ) -> Self:
        """The method with what all trials of the prior and the fit share; see `fit`."""
        return self

    def trial(self) -> Self:
        """The shorter version that is fitted while the prior's scale is searched."""
        return self

    def comparing(self, seconds: float, n: int) -> Islands | None:
        """The islands by which `n` models are compared before a fit of so many seconds.

        None for methods that neither choose a model by the evidence nor sample the prior's scales
        with the weights.
        """
        return None

    def continuing(self, n_islands: int, n_draws: int) -> Islands | None:
        """The islands that take in more rows, from so many draws of each; None for other methods.

        Args:
            n_islands: of the fit.
            n_draws: that it left of each.
        """
        return None

    def after(self, seconds: float) -> Self:
        """The method with so much less time, which a search of the prior's scale has taken."""
        return self

    def can_continue(self, state: Any) -> bool:
        """Whether a fit can go on from this state."""
        return isinstance(state, self.state_types)
