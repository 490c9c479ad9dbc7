"""The ladder of inverse temperatures: as far as the particles can follow, or as given."""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from pmcnet.ais import diagnostics
from pmcnet.errors import InputError

RESOLUTION = 60
"""Halvings of the bracket: the next beta is found to the last digit."""


class Tempering(Protocol):
    """The next inverse temperature."""

    def __call__(self, beta: float, log_likelihood: Tensor, log_weight: Tensor) -> float:
        """From the present beta, log-likelihoods (G, P) and log-weights, normalised by island."""
        ...


@dataclass(frozen=True)
class AdaptiveTempering:
    """The beta at which the conditional ESS of the increment is `ess_fraction` of P.

    That is its mean over the islands: they rise together.
    """

    ess_fraction: float

    def __post_init__(self) -> None:
        if not 0 < self.ess_fraction < 1:
            raise InputError(f"ess_fraction must lie between 0 and 1; got {self.ess_fraction}.")

    def __call__(self, beta: float, log_likelihood: Tensor, log_weight: Tensor) -> float:
        """By bisection: the conditional ESS falls as beta rises."""
        # particles of zero likelihood are lost at any beta; the others decide
        alive = log_likelihood > -torch.inf
        share = alive.double().mean(-1).cpu()  # (G,)
        log_weight = torch.where(alive, log_weight, -torch.inf).log_softmax(-1).cpu()
        log_likelihood = torch.where(alive, log_likelihood, 0.0).cpu()
        least = self.ess_fraction * float(alive.sum())

        def enough(following: float) -> bool:
            increment = (following - beta) * log_likelihood
            return (
                float((diagnostics.conditional_ess(log_weight, increment) * share).sum()) >= least
            )

        if enough(1.0):
            return 1.0
        low, high = beta, 1.0
        for _ in range(RESOLUTION):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if enough(middle) else (low, middle)
        return high


@dataclass(frozen=True)
class FixedTempering:
    """A given ladder, ending at 1."""

    ladder: tuple[float, ...]

    def __post_init__(self) -> None:
        rising = all(a < b for a, b in zip((0.0, *self.ladder), self.ladder, strict=False))
        if not self.ladder or not rising or self.ladder[-1] != 1:
            raise InputError(f"a ladder must rise from above 0 to 1; got {self.ladder}.")

    def __call__(self, beta: float, log_likelihood: Tensor, log_weight: Tensor) -> float:
        """The first rung above."""
        return next(rung for rung in self.ladder if rung > beta)
