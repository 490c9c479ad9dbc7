"""The paper's algorithm as a method: start, T steps, posterior of the last step's draws."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self, get_args

from pmcnet import ais
from pmcnet.ais.pmc.result import Keep
from pmcnet.bnn import BayesianTarget, ParticlePosterior
from pmcnet.bnn.overflow import refuse_diverged
from pmcnet.errors import InputError
from pmcnet.methods.base import Fit, Method, Observer, Rows
from pmcnet.methods.cost import Cost
from pmcnet.methods.settings import Settings, adam_batch, epochs
from pmcnet.methods.training.adam import Adam
from pmcnet.methods.training.starts import Given, Jitter, Restarts, Start
from pmcnet.methods.training.state import TrainingState

Weights = Literal["exact", "equal"]
REMEDY = "Scale the data, start with a smaller sigma or more epochs, or use the annealed method."
_SEARCH_STEPS = 5
_LIGHT_STEPS = 20


@dataclass(frozen=True, kw_only=True)
class PMCMethod(Method):
    """Population Monte Carlo on a network's posterior.

    Args:
        algorithm: one of `ais.VARIANTS` or any other `ais.PMC`.
        n_proposals: M.
        n_steps: T.
        sigma: standard deviation of the first proposals.
        start: where their means begin.
        weights: "exact", or "equal" to count every draw once. Where one draw has all the weight, as
            in most deep networks, exact weights make a single network; equal ones a population of
            good modes, which is no posterior either and says so.
        batch_rows: rows of a mini-batch of the moves, for `adapted`; None for all at once.
    """

    algorithm: ais.PMC = ais.pmcnet
    n_proposals: int = 50
    n_steps: int = 50
    sigma: float = 0.1
    start: Start = Restarts()
    weights: Weights = "exact"
    batch_rows: int | None = None

    state_types: ClassVar[tuple[type[Any], ...]] = (ais.PMCState, TrainingState)
    needs_validation: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.weights not in get_args(Weights):
            raise InputError(
                f"weights must be one of {', '.join(get_args(Weights))}; got {self.weights!r}."
            )

    @property
    def work(self) -> str:
        """Steps and proposals."""
        return f"{self.n_steps} steps of {self.n_proposals} proposals"

    def fit(
        self,
        target: BayesianTarget,
        *,
        seed: int,
        state: ais.PMCState | TrainingState | None = None,
        observers: Iterable[Observer] = (),
        comm: ais.Communicator = ais.SERIAL,
        validation: Rows | None = None,
    ) -> Fit[ais.PMCInfo]:
        """Start, run, return the posterior.

        Args:
            target: the posterior to sample.
            seed: decides everything random.
            state: where to go on from, of the start or before the last step; the history then
                begins there.
            observers: called with (state, info) after each epoch of the start and each step.
            comm: shares the proposals between processes.
            validation: rows by which starting networks keep their best epoch.
        """
        observers = tuple(observers)
        if not isinstance(state, ais.PMCState):
            loc = self.start(
                target,
                self.n_proposals,
                seed=seed,
                validation=validation,
                state=state,
                observers=observers,
                comm=comm,
            )
            state = self.algorithm.init(loc, sigma=self.sigma, seed=seed)
        result = ais.run(
            self.algorithm,
            target,
            state,
            n_steps=self.n_steps - state.step,
            observers=observers,
            comm=comm,
        )
        posterior = ParticlePosterior(
            target.network, target.likelihood, result.samples, target.memory
        )
        if self.weights == "equal":
            posterior = posterior.equally_weighted()
        refuse_diverged(target, posterior.theta[posterior.samples.weight.flatten() > 0], REMEDY)
        return Fit(posterior, result.history)

    def adapted(self, target: BayesianTarget) -> BayesianTarget:
        """In double precision."""
        return replace(
            target,
            x=target.x.double(),
            y=target.y.double(),
            weight=None if target.weight is None else target.weight.double(),
            n_batches=max(1, len(target.x) // self.batch_rows) if self.batch_rows else 1,
        )

    def prepared(
        self,
        target: BayesianTarget,
        *,
        seed: int,
        state: ais.PMCState | TrainingState | None = None,
        observers: Iterable[Observer] = (),
        comm: ais.Communicator = ais.SERIAL,
        validation: Rows | None = None,
    ) -> Self:
        """With its starting networks trained, unless it goes on from a step."""
        if isinstance(state, ais.PMCState):
            return self
        loc = self.start(
            target,
            self.n_proposals,
            seed=seed,
            validation=validation,
            state=state,
            observers=observers,
            comm=comm,
        )
        return replace(self, start=Given(loc))

    def trial(self) -> Self:
        """Few steps."""
        return replace(self, n_steps=min(_SEARCH_STEPS, self.n_steps))

    def can_continue(self, state: Any) -> bool:
        """Not after the last step, nor where draws of earlier steps are kept: no state has them."""
        if isinstance(state, ais.PMCState):
            return self.algorithm.keep == "last" and state.step < self.n_steps
        return isinstance(state, self.state_types)


@dataclass(frozen=True, kw_only=True)
class PMCOptions(Settings):
    """Settings of the paper's algorithm and its variants.

    See `PMCMethod`, `Adam`, `Restarts` and `Jitter`.
    """

    n_proposals: int = 50
    n_draws: int = 100
    n_steps: int = 50
    sigma: float = 0.1
    keep: Keep = "last"
    weights: Weights = "exact"
    start: Literal["restarts", "jitter"] = "restarts"
    jitter: float = 0.1
    n_epochs: int = 200
    batch_size: int = 10
    learning_rate: float = 1e-3

    may_be_zero = frozenset({"jitter"})
    batch_rows: ClassVar[int | None] = None

    def __post_init__(self) -> None:
        if self.start not in ("restarts", "jitter"):
            raise InputError(f'start must be "restarts" or "jitter"; got {self.start!r}.')

    def summary(self, name: str) -> str:
        """What distinguishes the variant."""
        return _SUMMARIES[name]

    def sized(self, n_rows: int) -> Self:
        """Starting networks are trained for about 10 000 steps."""
        batch_size = adam_batch(n_rows)
        n_epochs = epochs(batch_size, n_rows, most=500)
        return replace(self, batch_size=batch_size, n_epochs=n_epochs)

    def method(self, name: str) -> PMCMethod:
        """The variant of that name with these settings."""
        adam = Adam(
            n_epochs=self.n_epochs, batch_size=self.batch_size, learning_rate=self.learning_rate
        )
        return PMCMethod(
            algorithm=replace(ais.VARIANTS[name], n_draws=self.n_draws, keep=self.keep),
            n_proposals=self.n_proposals,
            n_steps=self.n_steps,
            sigma=self.sigma,
            weights=self.weights,
            start=Restarts(adam) if self.start == "restarts" else Jitter(self.jitter, adam),
            batch_rows=self.batch_rows,
        )


@dataclass(frozen=True, kw_only=True)
class LightOptions(PMCOptions):
    """Settings of "pmcnet-light", whose steps follow from the budget."""

    n_proposals: int = 20
    n_draws: int = 20
    n_steps: int = _LIGHT_STEPS

    batch_rows: ClassVar[int | None] = 500
    largest: ClassVar[Mapping[str, int]] = {"n_steps": _LIGHT_STEPS}

    def within(self, cost: Cost, seconds: float) -> dict[str, int]:
        """As many steps as fit.

        Each takes M K values, a third of a gradient, and some three gradients of M networks.
        """
        step = self.n_proposals * (self.n_draws / 3 + 3) * cost.gradient(cost.n_rows)
        return {"n_steps": min(max(1, int(seconds / cost.times / step)), _LIGHT_STEPS)}


_SUMMARIES = {
    "pmcnet": "the paper's algorithm: population Monte Carlo with gradients and covariances",
    "pmcnet-light": "pmcnet for deep networks: diagonal covariances, mini-batches",
    "gradfree": "pmcnet without gradients",
    "covfree": "pmcnet with fixed covariances",
    "dm-pmc": "pmcnet without gradients and with fixed covariances",
    "sl-pmc": "pmcnet with covariances from the Hessian",
}
