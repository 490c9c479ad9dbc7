"""What methods that train on mini-batches share: batches of an epoch, early stopping, history."""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, NamedTuple, Self, get_args

import torch
from torch import Tensor

from pmcnet.bnn import BayesianTarget
from pmcnet.bnn.target import Batch
from pmcnet.errors import InputError
from pmcnet.methods.fit import Fit
from pmcnet.rng import stream

Rows = tuple[Tensor, Tensor]
LARGEST_RATE = 1e6
"""Step sizes beyond this are refused: optimisers multiply them in the networks' precision, which overflows."""
Schedule = Literal["constant", "cosine"]
_RISE = 0.05
Progress = Callable[[int, int], None]
"""Called with the number of epochs done and the number in all."""


class EpochRecord(NamedTuple):
    """One line of a training's history: the loss per row on validation rows, or None without them."""

    epoch: int
    validation_loss: float | None
    seconds: float


def batches(target: BayesianTarget, batch_size: int, *, seed: int, epoch: int) -> Iterator[Batch]:
    """All rows once, in an order of (seed, epoch), their inputs changed by the target's augmentation."""
    order = torch.as_tensor(stream(seed, 1 + epoch, 0).host.permutation(len(target.x)))
    source = stream(seed, 1 + epoch, 1, target.device)
    for positions in torch.split(order.to(target.x.device), batch_size):
        yield target.batch(positions, source)


def check_rate(name: str, value: float) -> None:
    """Raise unless a step size is positive and no larger than any that a network survives."""
    if not 0 < value <= LARGEST_RATE:
        raise InputError(f"{name} must be positive and at most {LARGEST_RATE:g}; got {value}. Use 1e-3.")


def check_schedule(schedule: Schedule) -> None:
    """Raise unless the schedule is known."""
    if schedule not in get_args(Schedule):
        raise InputError(f"schedule must be one of {', '.join(get_args(Schedule))}; got {schedule!r}.")


def scheduled(rate: float, schedule: Schedule, done: float) -> float:
    """The step size when this share of the training is done; "cosine" rises over the first twentieth, then falls."""
    if schedule == "constant":
        return rate
    return rate * min(1.0, (done + 1e-3) / _RISE) * 0.5 * (1 + math.cos(math.pi * done))


def set_rate(optimiser: torch.optim.Optimizer, rate: float) -> None:
    """Make the next step with this rate."""
    for group in optimiser.param_groups:
        group["lr"] = rate


@dataclass(frozen=True, kw_only=True)
class Trained:
    """A method that trains on mini-batches. Its settings are its fields, so it is its own options."""

    needs_validation: ClassVar[bool] = True
    """Whether rows are held out for it: to stop early, or to choose the epoch that is kept."""

    @property
    def has_prior(self) -> bool:
        """Whether the prior has a say."""
        return True

    def method(self, name: str) -> Self:
        """The method with these settings: itself."""
        return self

    def fit(
        self, target: BayesianTarget, *, seed: int, validation: Rows | None = None, progress: Progress | None = None
    ) -> Fit[EpochRecord]:
        """Train.

        Args:
            target: the network, its likelihood and prior, and the training rows.
            seed: decides everything random.
            validation: rows by which the best epoch is kept.
            progress: told after each epoch.
        """
        raise NotImplementedError


@dataclass
class Watch:
    """Keeps each network's best epoch on validation rows, the last judged one without them, and the history.

    `best` (P, ...) is what is kept, `loss` (P,) its loss per row, `at` (P,) its epoch.

    Args:
        target: whose network and likelihood are trained.
        validation: rows by whose loss the best epoch is chosen.
        n_epochs: in all, for the progress.
        progress: told after each epoch.
    """

    best: Tensor = field(init=False, repr=False)
    loss: Tensor = field(init=False, repr=False)
    at: Tensor = field(init=False, repr=False)
    target: BayesianTarget
    validation: Rows | None
    n_epochs: int
    progress: Progress | None = None
    history: list[EpochRecord] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._held_out, self._start = self.target, time.monotonic()
        self._average: float | None = None
        if self.validation is not None:
            x, y = self.validation
            self._held_out = replace(self.target, x=x, y=y, weight=None, n_batches=1)

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
            self.best, self.loss = kept.detach().clone(), torch.full_like(loss, torch.inf)
            self.at = torch.zeros(len(loss), dtype=torch.long, device=loss.device)
        better = loss < self.loss if self.validation is not None else torch.ones_like(loss, dtype=torch.bool)
        shape = (-1, *(1 for _ in kept.shape[1:]))
        self.best = torch.where(better.reshape(shape), kept.detach(), self.best)
        self.loss = torch.where(better, loss, self.loss)
        self.at = torch.where(better, len(self.history) + 1, self.at)
        self._average = float(loss.mean()) if self.validation is not None else None

    def done(self) -> None:
        """One epoch is done."""
        self.history.append(EpochRecord(len(self.history) + 1, self._average, time.monotonic() - self._start))
        if self.progress is not None:
            self.progress(len(self.history), self.n_epochs)
