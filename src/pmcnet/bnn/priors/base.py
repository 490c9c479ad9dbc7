"""What a prior is: a density on flat parameter vectors, with its constant, and one overall scale.

Normalising constants are kept, since evidences are compared.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, Self

import torch
from torch import Tensor

from pmcnet.bnn.networks.base import Layout
from pmcnet.errors import InputError
from pmcnet.rng import Stream


def check_positive(name: str, value: float) -> None:
    """Raise unless a setting is a positive finite number."""
    if not 0 < value < math.inf:
        raise InputError(f"{name} must be a positive finite number; got {value}.")


class Prior(Protocol):
    """A density on parameter vectors of a given layout, with one overall scale."""

    @property
    def sigma(self) -> float:
        """The scale: a standard deviation."""
        ...

    def rescaled(self, sigma: float) -> Self:
        """The same kind of prior with another scale."""
        ...

    def scale_gradient(self, theta: Tensor, layout: Layout) -> Tensor:
        """d log p(theta) / d log sigma, (..., D) -> (...).

        Its posterior mean is d log Z / d log sigma.
        """
        ...

    def log_prob(self, theta: Tensor, layout: Layout) -> Tensor:
        """Log-density of vectors (..., D) -> (...)."""
        ...

    def score(self, theta: Tensor, layout: Layout) -> Tensor:
        """The gradient of `log_prob` (..., D) -> (..., D)."""
        ...

    def sample(
        self, sources: Sequence[Stream], n_draws: int, layout: Layout, like: Tensor
    ) -> Tensor:
        """`n_draws` vectors from each stream: (len(sources), n_draws, D)."""
        ...


_FEW = 4096


def total(terms: Tensor) -> Tensor:
    """The sum, in float64 where there are many: one of millions in float32 is off by nats."""
    if terms.shape[-1] <= _FEW:  # off by a few units in the last place, and three times faster
        return terms.sum(-1).double()
    return terms.sum(-1, dtype=torch.float64)


def log_normal(theta: Tensor, sigma: Tensor | float, log_det: float) -> Tensor:
    """log N(theta; 0, diag(sigma^2)) with log_det = sum_i log sigma_i: (..., D) -> (...)."""
    scaled = theta / sigma
    return -0.5 * total(scaled * scaled) - log_det - 0.5 * theta.shape[-1] * math.log(2 * math.pi)


@dataclass(frozen=True)
class Scaled:
    """A prior whose only setting is its scale."""

    sigma: float = 1.0

    def __post_init__(self) -> None:
        check_positive("sigma", self.sigma)

    def rescaled(self, sigma: float) -> Self:
        """The same prior with another scale."""
        return replace(self, sigma=sigma)
