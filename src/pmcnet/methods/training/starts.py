"""Where the proposals of a sampler begin: M trained networks, or one with noise around it.

The paper starts from the ADAM-MLE solution and does not say how M means come from it; both ways are
offered.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from torch import Tensor

from pmcnet.ais.comm import SERIAL, Communicator, shared
from pmcnet.bnn import BayesianTarget
from pmcnet.errors import InputError
from pmcnet.methods.base import Observer, Rows
from pmcnet.methods.training.adam import Adam, default_start
from pmcnet.methods.training.state import TrainingState
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
        state: TrainingState | None = None,
        observers: Iterable[Observer] = (),
        comm: Communicator = SERIAL,
    ) -> Tensor:
        """Points (n, D) for the target, the same in all processes.

        Training goes on from the state, and reports to observers after each epoch.
        """
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
        state: TrainingState | None = None,
        observers: Iterable[Observer] = (),
        comm: Communicator = SERIAL,
    ) -> Tensor:
        """The optimum of each run."""
        start = default_start(target, [stream(seed, 0, block) for block in range(n)])
        trained = partial(
            self.adam.minimise, target, seed=seed, validation=validation, stage="start"
        )
        if comm.size > 1 and target.network.n_together == 1:  # trained one after another anyway
            alone = [_without_state(observer) for observer in observers]
            return shared(comm, n, lambda own: [trained(start[own], observers=alone).theta])[0]
        return comm.agreed(trained(start, state=state, observers=observers).theta)


def _without_state(observer: Observer) -> Observer:
    """For a training of some of the networks, from which the whole cannot go on."""
    return lambda state, info: observer(None, info)


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
        state: TrainingState | None = None,
        observers: Iterable[Observer] = (),
        comm: Communicator = SERIAL,
    ) -> Tensor:
        """The optimum of one run with n different noises."""
        solution = self.solution
        if solution is None:
            (solution,) = Restarts(self.adam)(
                target,
                1,
                seed=seed,
                validation=validation,
                state=state,
                observers=observers,
            )
            solution = comm.agreed(solution)
        noise = standard_normal(
            [stream(seed, 0, block) for block in range(1, n + 1)], (target.dim,), like=target.like
        )
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
        state: TrainingState | None = None,
        observers: Iterable[Observer] = (),
        comm: Communicator = SERIAL,
    ) -> Tensor:
        """The points themselves."""
        if self.points.shape != (n, target.dim):
            raise InputError(
                f"the start must be (n_proposals={n}, dim={target.dim}); got "
                f"{tuple(self.points.shape)}."
            )
        return self.points
