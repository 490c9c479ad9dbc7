"""What methods that train on mini-batches share: batches of an epoch, early stopping, history."""

import math
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
import torch
from torch import Tensor

from pmcnet.bnn import BayesianTarget
from pmcnet.bnn.batch import Batch
from pmcnet.errors import InputError
from pmcnet.methods.base import Method, Observer, Rows
from pmcnet.methods.settings import Settings
from pmcnet.methods.training.state import (
    EpochInfo,
    Stage,
    TrainingState,
    check_place,
    check_tensors,
)
from pmcnet.rng import stream

LARGEST_RATE = 1e6
"""Larger step sizes are refused: optimisers multiply them in the networks' precision."""
Schedule = Literal["constant", "cosine"]
_RISE = 0.05


def batches(target: BayesianTarget, batch_size: int, *, seed: int, epoch: int) -> Iterator[Batch]:
    """All rows once, in an order of (seed, epoch), with the target's augmentation."""
    order = torch.as_tensor(stream(seed, 1 + epoch, 0).host.permutation(len(target.x)))
    source = stream(seed, 1 + epoch, 1, target.device)
    for positions in torch.split(order.to(target.x.device), batch_size):
        yield target.batch(positions, source)


def check_rate(name: str, value: float) -> None:
    """Raise unless a step size is positive and no larger than any that a network survives."""
    if not 0 < value <= LARGEST_RATE:
        raise InputError(
            f"{name} must be positive and at most {LARGEST_RATE:g}; got {value}. Use 1e-3."
        )


def check_schedule(schedule: Schedule) -> None:
    """Raise unless the schedule is known."""
    if schedule not in get_args(Schedule):
        raise InputError(
            f"schedule must be one of {', '.join(get_args(Schedule))}; got {schedule!r}."
        )


def scheduled(rate: float, schedule: Schedule, done: float) -> float:
    """The step size when this share of the training is done.

    "cosine" rises over the first twentieth and then falls.
    """
    if schedule == "constant":
        return rate
    return rate * min(1.0, (done + 1e-3) / _RISE) * 0.5 * (1 + math.cos(math.pi * done))


def averages(optimiser: torch.optim.Optimizer, parameter: Tensor) -> dict[str, Tensor]:
    """Adam's two averages and the number of its steps, by name; zero before its first step."""
    fused = bool(optimiser.param_groups[0].get("fused"))
    found = optimiser.state[parameter]
    if not found:  # as Adam itself begins
        found["step"] = torch.zeros(
            (), dtype=torch.float32, device=parameter.device if fused else "cpu"
        )
        found["exp_avg"], found["exp_avg_sq"] = (
            torch.zeros_like(parameter),
            torch.zeros_like(parameter),
        )
    return {name: found[name] for name in ("step", "exp_avg", "exp_avg_sq")}


def set_rate(optimiser: torch.optim.Optimizer, rate: float) -> None:
    """Make the next step with this rate."""
    for group in optimiser.param_groups:
        group["lr"] = rate


@dataclass(frozen=True, kw_only=True)
class TrainedMethod(Settings, Method):
    """A method that trains on mini-batches. Its settings are its fields, so it is its own settings.

    Its validation rows choose the epoch that is kept; those that need none only record the loss.
    """

    state_types: ClassVar[tuple[type[Any], ...]] = (TrainingState,)
    needs_validation: ClassVar[bool] = True

    def method(self, name: str) -> Self:
        """Itself."""
        return self


@dataclass
class Watch:
    """Keeps each network's best epoch and the history of a training, and reports its state.

    `best` (P, ...) is what is kept, `loss` (P,) its loss per row, `at` (P,) its epoch.

    Args:
        target: whose network and likelihood are trained.
        validation: rows by whose loss the best epoch is chosen; without them the last is kept.
        n_epochs: in all.
        seed: of the training.
        state: where it goes on from; see `restore`.
        observers: called with (state, info) after each epoch.
        stage: what is trained.
    """

    best: Tensor = field(init=False, repr=False)
    loss: Tensor = field(init=False, repr=False)
    at: Tensor = field(init=False, repr=False)
    target: BayesianTarget
    validation: Rows | None
    n_epochs: int
    seed: int = 0
    state: TrainingState | None = None
    observers: Iterable[Observer] = ()
    stage: Stage = "fit"
    history: list[EpochInfo] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self._held_out, self._start = self.target, time.monotonic()
        self._average: float | None = None
        self._observers = tuple(self.observers)
        self._lines = np.empty((self.n_epochs if self._observers else 0, 2))
        if self.validation is not None:
            x, y = self.validation
            self._held_out = replace(self.target, x=x, y=y, weight=None, n_batches=1)
        if self.state is not None:
            check_place(self.state, n_epochs=self.n_epochs, seed=self.seed, stage=self.stage)

    @property
    def first(self) -> int:
        """The epoch to begin with, from 0."""
        return 0 if self.state is None else self.state.epoch

    def restore(self, parts: Mapping[str, Tensor], kept: Tensor) -> None:
        """Copy the tensors of the state, where there is one, into those of the training.

        Args:
            parts: what the next epoch needs, by name and as it is after `first` epochs, but for the
                numbers.
            kept: of the shape of what is judged.
        """
        if self.state is None:
            return
        if self.validation is not None and self.first:
            self._begin(kept)
        history = torch.empty(self.first, 2, dtype=torch.float64)
        everything = {**self._tensors(parts), "history": history}
        check_tensors(self.state, everything)
        with torch.no_grad():
            for name, part in everything.items():
                part.copy_(self.state.tensors[name])
        lines = enumerate(history.tolist(), start=1)
        self.history = [
            self._info(i, None if math.isnan(loss) else loss, seconds)
            for i, (loss, seconds) in lines
        ]
        self._lines[: len(history)] = history[: len(self._lines)]
        self._start -= self.history[-1].seconds if self.history else 0.0

    def judge(self, kept: Tensor, theta: Tensor | None = None) -> None:
        """Keep what this epoch has made, where it is better.

        Args:
            kept: what is to be kept (P, ...).
            theta: the networks (P, D) that are judged, where they are not what is kept.
        """
        judged = (kept if theta is None else theta).detach()
        with torch.no_grad():
            loss = -self._held_out.log_likelihood(judged) / len(self._held_out.x)  # (P,)
        loss = torch.where(loss.isnan(), torch.inf, loss)
        if not hasattr(self, "best"):
            self._begin(kept)
        better = (
            loss < self.loss
            if self.validation is not None
            else torch.ones_like(loss, dtype=torch.bool)
        )
        shape = (-1, *(1 for _ in kept.shape[1:]))
        self.best = torch.where(better.reshape(shape), kept.detach(), self.best)
        self.loss = torch.where(better, loss, self.loss)
        self.at = torch.where(better, min(len(self.history) + 1, self.n_epochs), self.at)
        self._average = float(loss.mean()) if self.validation is not None else None

    def done(self, parts: Mapping[str, Tensor] | None = None) -> None:
        """One epoch is done.

        Args:
            parts: what the next one needs, by name; None where a training cannot be continued.
        """
        self.history.append(
            self._info(len(self.history) + 1, self._average, time.monotonic() - self._start)
        )
        if self._observers:
            state = None if parts is None else self._state_of(parts)
            self._report(state, self.history[-1])

    def complete(self) -> None:
        """The epochs that are left are not needed."""
        if len(self.history) < self.n_epochs:
            self._report(None, self.history[-1]._replace(epoch=self.n_epochs))

    def settle(self, kept: Tensor, theta: Tensor | None = None) -> None:
        """All epochs are done: without validation rows the last is kept; see `judge`."""
        if self.validation is None:
            self.judge(kept, theta)

    def _begin(self, kept: Tensor) -> None:
        """Nothing has been judged yet."""
        self.best = kept.detach().clone()
        self.loss = torch.full((len(kept),), torch.inf, dtype=torch.float64, device=kept.device)
        self.at = torch.zeros(len(kept), dtype=torch.long, device=kept.device)

    def _info(self, epoch: int, loss: float | None, seconds: float) -> EpochInfo:
        return EpochInfo(epoch, self.n_epochs, self.stage, loss, seconds)

    def _report(self, state: TrainingState | None, info: EpochInfo) -> None:
        for observer in self._observers:
            observer(state, info)

    def _state_of(self, parts: Mapping[str, Tensor]) -> TrainingState:
        n, last = len(self.history), self.history[-1]
        loss = math.nan if last.validation_loss is None else last.validation_loss
        self._lines[n - 1] = loss, last.seconds
        tensors = self._tensors(parts) | {"history": torch.from_numpy(self._lines[:n])}
        return TrainingState(
            {name: tensor.detach() for name, tensor in tensors.items()}, n, self.seed, self.stage
        )

    def _tensors(self, parts: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """What the next epoch needs, and what has been kept so far."""
        judged = (
            {"best": self.best, "loss": self.loss, "at": self.at} if hasattr(self, "best") else {}
        )
        return {**parts, **judged}
