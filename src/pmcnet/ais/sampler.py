"""The contract of every sampler, and the one loop that runs them.

state = sampler.init(...)
state, info = sampler.step(state, target)
result = ais.run(sampler, target, state)
"""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, Self, TypeVar

from pmcnet.ais.comm import SERIAL, Communicator, agreed
from pmcnet.errors import InputError
from pmcnet.threads import coarse


class Info(Protocol):
    """What a person wants to know about one step: a NamedTuple."""

    @property
    def seconds(self) -> float:
        """Since the run began."""
        ...

    def line(self) -> dict[str, Any]:
        """The step as plain data, one line of the history."""
        ...

    def _replace(self, *args: Any, **kwargs: Any) -> Self: ...


T = TypeVar("T")
S = TypeVar("S")
I = TypeVar("I", bound=Info)  # noqa: E741
R = TypeVar("R", covariant=True)

Observer = Callable[[S, I], None]
"""Called with (state, info) after each step."""


class Sampler(Protocol[T, S, I, R]):
    """An algorithm as a pure step: PMC, annealed and HMC alike.

    `init` starts a run; its arguments are the sampler's own.
    """

    @property
    def default_steps(self) -> int | None:
        """Steps of a run that does not say how many; None to go on until it is done."""
        ...

    def prepared(self, target: T) -> T:
        """The target with what all steps share, such as a captured graph of its operations."""
        ...

    def step(self, state: S, target: T, comm: Communicator = SERIAL) -> tuple[S, I]:
        """One step, shared between processes by `comm`."""
        ...

    def done(self, state: S) -> bool:
        """Whether nothing is left to do."""
        ...

    def compact(self, info: I) -> I:
        """What the history keeps of a step that is not the last."""
        ...

    def result(self, state: S, history: Sequence[I], target: T, comm: Communicator = SERIAL) -> R:
        """Draws, evidence where there is one, and a verdict."""
        ...


def run(
    sampler: Sampler[T, S, I, R],
    target: T,
    state: S,
    *,
    n_steps: int | None = None,
    max_seconds: float | None = None,
    observers: Iterable[Observer[S, I]] = (),
    comm: Communicator = SERIAL,
) -> R:
    """Run a sampler on a target.

    Args:
        sampler: e.g. `ais.pmcnet`, `ais.AnnealedPMC()` or `ais.HMCPopulation()`.
        target: what to sample.
        state: from `sampler.init(...)`, or from an earlier run to continue it.
        n_steps: the most steps that are made; the sampler's default when absent.
        max_seconds: stop after the first step that ends past this time.
        observers: called with (state, info) after each step.
        comm: shares the work between processes, each of which calls this function.
    """
    _check_limits(n_steps, max_seconds)
    most = sampler.default_steps if n_steps is None else n_steps
    target, observers, start = sampler.prepared(target), tuple(observers), time.monotonic()
    history: list[I] = []
    while not sampler.done(state) and (most is None or len(history) < most):
        with coarse(getattr(target, "least_piece", None) is not None):
            state, info = sampler.step(state, target, comm)
        info = info._replace(seconds=agreed(comm, time.monotonic() - start))
        if history:
            history[-1] = sampler.compact(history[-1])
        history.append(info)
        for observer in observers:
            observer(state, info)
        if max_seconds is not None and info.seconds >= max_seconds:
            break
    return sampler.result(state, history, target, comm)


def _check_limits(n_steps: int | None, max_seconds: float | None) -> None:
    if n_steps is not None and (type(n_steps) is not int or n_steps < 1):
        raise InputError(f"n_steps must be a whole number, at least 1; got {n_steps!r}.")
    if max_seconds is not None and not max_seconds > 0:
        raise InputError(f"max_seconds must be positive, or None for no limit; got {max_seconds}.")
