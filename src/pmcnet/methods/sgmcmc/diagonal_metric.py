"""Metrics of stochastic gradient steps, learned from gradients of mini-batches.

C in v <- v + h C g + sqrt(h s C) z is the inverse of the prior's precision and of a share k of the
Fisher information that batches show: F = (N / n) E[g g'], the mean over recent batches. Noise of
independent batches would raise the temperature of a direction of information f by h N / (2 a n) *
f C, with friction a, and so, in units of the prior's variance, by at most h N / (2 a n k); where
rows count w times, by w times as much.
"""

from collections.abc import Mapping
from typing import Protocol

import torch
from torch import Tensor

from pmcnet.bnn import BayesianTarget

_FORGET = 0.99
_BATCHES_BETWEEN_RENEWALS = 100  # at most


class Metric(Protocol):
    """Directions and lengths of steps of P chains."""

    @property
    def n_lessons(self) -> int:
        """Batches to learn from before the first step."""
        ...

    @property
    def precision(self) -> Tensor:
        """Of the prior (D,)."""
        ...

    @property
    def square(self) -> Tensor:
        """Mean square (D,) of recent gradients, over batches and chains."""
        ...

    @property
    def parts(self) -> dict[str, Tensor]:
        """What a checkpoint needs, by name."""
        ...

    def learn(self, score: Tensor, n_before: int) -> None:
        """A batch's gradients (P, D), after so many others."""
        ...

    def renew(self) -> None:
        """From here on, what has been learned."""
        ...

    def restore(self) -> None:
        """What was used last, from the parts."""
        ...

    def reset(self, before: Mapping[str, Tensor], diverged: Tensor) -> None:
        """Know of these chains (P,) what the parts were before."""
        ...

    def accelerate(
        self,
        velocity: Tensor,
        gradient: Tensor,
        noise: Tensor,
        *,
        step: float,
        spread: float,
        count: float,
    ) -> None:
        """Add h C g + sqrt(h s C) z to velocities (P, D), with F `count` mean squares."""
        ...

    def curvature(self, count: float) -> Tensor:
        """The diagonal of 1 / C (D,), for all chains, likewise."""
        ...


class Diagonal:
    """1 / C = prior + k F, all chains alike.

    Args:
        precision: of the prior (D,).
        information: k; with 0 the metric is the prior's.
    """

    def __init__(self, precision: Tensor, information: float) -> None:
        self.precision, self._information = precision, information
        self._square = torch.zeros_like(precision)

    @property
    def n_lessons(self) -> int:
        """None: the first batch informs every parameter."""
        return 0

    @property
    def square(self) -> Tensor:
        """Mean square (D,) of recent gradients, over batches and chains."""
        return self._square

    @property
    def parts(self) -> dict[str, Tensor]:
        """The mean square."""
        return {"square": self.square}

    def learn(self, score: Tensor, n_before: int) -> None:
        """A batch's gradients (P, D), after so many others."""
        self._square.lerp_(score.square().mean(0), newest(n_before))

    def renew(self) -> None:
        """Nothing to do: what has been learned is used at once."""

    restore = renew

    def reset(self, before: Mapping[str, Tensor], diverged: Tensor) -> None:
        """Know what was known before, of all chains, which share it."""
        self._square.copy_(before["square"])

    def accelerate(
        self,
        velocity: Tensor,
        gradient: Tensor,
        noise: Tensor,
        *,
        step: float,
        spread: float,
        count: float,
    ) -> None:
        """Add h C g + sqrt(h s C) z to velocities (P, D)."""
        scale = step / self.curvature(count)  # h C, (D,)
        velocity.addcmul_(gradient, scale).addcmul_(noise, (spread * scale).sqrt())

    def curvature(self, count: float) -> Tensor:
        """1 / C (D,), where F is the mean square of gradients so many times."""
        return (
            self.precision + self._information * count * self.square
            if self._information
            else self.precision
        )


def newest(n_before: int, every: int = 1) -> float:
    """Weight of the newest batch in a mean that forgets, where one of so many is taken."""
    return every * max(1 - _FORGET, 1 / (n_before + 1))


def is_renewed(n_done: int) -> bool:
    """Whether a metric is renewed at this step: after 0, 1, 2, 4... and then every so many."""
    return n_done & (n_done - 1) == 0 or n_done % _BATCHES_BETWEEN_RENEWALS == 0


def squares_per_row(target: BayesianTarget) -> float:
    """sum w / sum w^2, by which squared gradients of rows that count w times are too large."""
    if target.weight is None or not bool(target.weight.any()):
        return 1.0
    weight = target.weight.double()
    return float(weight.sum() / weight.square().sum())
