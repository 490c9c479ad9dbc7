"""Resampling of particles: P equally weighted ones for P weighted ones.

Each rule gives particle i on average P w_i copies; they differ in how much that number varies.
Inversion of the weights' distribution function at P points: independent ones (multinomial), one in
each stratum of width 1/P (stratified), one common shift of a regular grid (systematic), or whole
copies first and the remainders by chance (residual).
"""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from pmcnet.ais.inverse_cdf import categorical
from pmcnet.rng import Stream, uniform


class Selection(Protocol):
    """Chooses P survivors among P weighted particles."""

    def __call__(self, log_weight: Tensor, source: Stream) -> Tensor:
        """Log-weights (P,), at least one finite -> indices (P,) in ascending order."""
        ...


def _grid(offset: Tensor, n: int) -> Tensor:
    """(i + offset_i) / n for i = 0 ... n - 1."""
    return (torch.arange(n, dtype=torch.float64, device=offset.device) + offset) / n


@dataclass(frozen=True)
class Systematic:
    """A regular grid with one common shift: the least noise in practice."""

    def __call__(self, log_weight: Tensor, source: Stream) -> Tensor:
        """Inversion at (i + u) / P."""
        return categorical(
            log_weight, _grid(uniform([source], 1, like=log_weight)[0], len(log_weight))
        )


@dataclass(frozen=True)
class Stratified:
    """One point in each stratum: never more variance than multinomial."""

    def __call__(self, log_weight: Tensor, source: Stream) -> Tensor:
        """Inversion at (i + u_i) / P."""
        n = len(log_weight)
        return categorical(log_weight, _grid(uniform([source], n, like=log_weight)[0], n))


@dataclass(frozen=True)
class Multinomial:
    """P independent choices: the rule that theory knows best."""

    def __call__(self, log_weight: Tensor, source: Stream) -> Tensor:
        """Inversion at u_i."""
        return (
            categorical(log_weight, uniform([source], len(log_weight), like=log_weight)[0])
            .sort()
            .values
        )


@dataclass(frozen=True)
class Residual:
    """floor(P w_i) copies for certain, the rest drawn from the remainders."""

    def __call__(self, log_weight: Tensor, source: Stream) -> Tensor:
        """Whole copies, then multinomial choices."""
        n = len(log_weight)
        expected = n * log_weight.softmax(0)
        copies = expected.floor()
        n_left = n - int(copies.sum())
        index = torch.arange(n, device=log_weight.device).repeat_interleave(copies.long())
        if n_left <= 0:  # rounding may give one copy too many where all are whole
            return index[:n]
        uniforms = uniform([source], n_left, like=log_weight)[0]
        rest = categorical((expected - copies).log(), uniforms)
        return torch.cat([index, rest]).sort().values
