"""Where the proposals of a sampler begin: M trained networks, or one with noise around it.

The paper starts from the ADAM-MLE solution and does not say how M means come from it; both ways are offered.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from pmcnet.bnn import BayesianTarget
from pmcnet.errors import InputError
from pmcnet.methods.adam import Adam, default_start
from pmcnet.methods.training import Progress, Rows
from pmcnet.methods.training_state import TrainingObserver, TrainingState
from pmcnet.rng import standard_normal, stream


class Start(Protocol):
    """M starting points."""

    def __call__(
        self,
        target: BayesianTarget,
        n: int,
        *,
        seed: int,
        validation: Rows | None = None,
        progress: Progress | None = None,
        state: TrainingState | None = None,
        observers: Iterable[TrainingObserver] = (),
    ) -> Tensor:
        """Points (n, D) for the target; training goes on from the state, and tells observers after each epoch."""
        ...


@dataclass(frozen=True)
class Restarts:
    """M runs of Adam from M random starts, as one batch."""

    adam: Adam = Adam()

    def __call__(
        self,
        target: BayesianTarget,
        n: int,
        *,
        seed: int,
        validation: Rows | None = None,
        progress: Progress | None = None,
        state: TrainingState | None = None,
        observers: Iterable[TrainingObserver] = (),
    ) -> Tensor:
        """The optimum of each run."""
        start = default_start(target, [stream(seed, 0, block) for block in range(n)])
        found = self.adam.minimise(
            target,
            start,
            seed=seed,
            validation=validation,
            progress=progress,
            state=state,
            observers=observers,
            stage="start",
        )
        return found.theta


@dataclass(frozen=True)
class Jitter:
    """One run of Adam, or the solution given, plus scale * N(0, I)."""

    scale: float = 0.1
    adam: Adam = Adam()
    solution: Tensor | None = None

    def __post_init__(self) -> None:
        if not self.scale >= 0:
            raise InputError(f"scale must not be negative; got {self.scale}.")

    def __call__(
        self,
        target: BayesianTarget,
        n: int,
        *,
        seed: int,
        validation: Rows | None = None,
        progress: Progress | None = None,
        state: TrainingState | None = None,
        observers: Iterable[TrainingObserver] = (),
    ) -> Tensor:
        """The optimum of one run with n different noises."""
        solution = self.solution
        if solution is None:
            (solution,) = Restarts(self.adam)(
                target, 1, seed=seed, validation=validation, progress=progress, state=state, observers=observers
            )
        noise = standard_normal([stream(seed, 0, block) for block in range(1, n + 1)], (target.dim,), like=target.like)
        return solution.to(target.like) + self.scale * noise


@dataclass(frozen=True)
class Given:
    """Points found before, e.g. by another start; there must be as many as are asked for."""

    points: Tensor

    def __call__(
        self,
        target: BayesianTarget,
        n: int,
        *,
        seed: int,
        validation: Rows | None = None,
        progress: Progress | None = None,
        state: TrainingState | None = None,
        observers: Iterable[TrainingObserver] = (),
    ) -> Tensor:
        """The points themselves."""
        if self.points.shape != (n, target.dim):
            raise InputError(f"the start must be (n_proposals={n}, dim={target.dim}); got {tuple(self.points.shape)}.")
        return self.points
