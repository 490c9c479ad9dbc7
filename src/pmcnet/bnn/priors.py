"""Priors on the flat parameter vector: independent coordinates, exact log-densities, sampling.

METHOD: i.i.d. N(0, sigma^2) on every weight and bias. Normalising constants are kept, since evidences are compared.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol, Self

import torch
from torch import Tensor

from pmcnet.bnn.network import Layout
from pmcnet.errors import InputError
from pmcnet.rng import Stream, standard_normal, uniform


def _positive(name: str, value: float) -> None:
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

    def scale_slope(self, theta: Tensor, layout: Layout) -> Tensor:
        """d log p(theta) / d log sigma, (..., D) -> (...): its posterior mean is the slope of log Z."""
        ...

    def log_prob(self, theta: Tensor, layout: Layout) -> Tensor:
        """Log-density of vectors (..., D) -> (...)."""
        ...

    def score(self, theta: Tensor, layout: Layout) -> Tensor:
        """The gradient of `log_prob` (..., D) -> (..., D)."""
        ...

    def sample(self, sources: Sequence[Stream], n_draws: int, layout: Layout, like: Tensor) -> Tensor:
        """`n_draws` vectors from each stream: (len(sources), n_draws, D)."""
        ...


def _log_normal(theta: Tensor, sigma: Tensor | float, log_det: float) -> Tensor:
    return -0.5 * (theta / sigma).square().sum(-1) - log_det - 0.5 * theta.shape[-1] * math.log(2 * math.pi)


@dataclass(frozen=True)
class _Scaled:
    """A prior whose only setting is its scale."""

    sigma: float = 1.0

    def __post_init__(self) -> None:
        _positive("sigma", self.sigma)

    def rescaled(self, sigma: float) -> Self:
        """The same prior with another scale."""
        return replace(self, sigma=sigma)


@dataclass(frozen=True)
class GaussianPrior(_Scaled):
    """N(0, sigma^2) on every weight and bias."""

    def log_prob(self, theta: Tensor, layout: Layout) -> Tensor:
        """-|theta|^2 / (2 sigma^2) - D log(sigma) - (D / 2) log(2 pi)."""
        return _log_normal(theta, self.sigma, theta.shape[-1] * math.log(self.sigma))

    def score(self, theta: Tensor, layout: Layout) -> Tensor:
        """-theta / sigma^2."""
        return -(theta / self.sigma) / self.sigma

    def sample(self, sources: Sequence[Stream], n_draws: int, layout: Layout, like: Tensor) -> Tensor:
        """sigma z."""
        return standard_normal(sources, (n_draws, layout.dim), like).mul_(self.sigma)

    def scale_slope(self, theta: Tensor, layout: Layout) -> Tensor:
        """|theta / sigma|^2 - D."""
        return (theta / self.sigma).square().sum(-1) - theta.shape[-1]


@dataclass(frozen=True)
class LayerGaussianPrior(_Scaled):
    """N(0, sigma^2 / fan_in) on weights and N(0, sigma^2) on biases: outputs of every layer have a common scale."""

    def scales(self, layout: Layout, like: Tensor) -> Tensor:
        """The standard deviation of every coordinate (D,)."""
        return _layer_scales(self.sigma, layout, like.dtype, like.device)

    def log_prob(self, theta: Tensor, layout: Layout) -> Tensor:
        """Sum of the coordinates' normal log-densities."""
        log_det = sum((p.stop - p.start) * math.log(self.sigma / math.sqrt(p.fan_in)) for p in layout)
        return _log_normal(theta, self.scales(layout, theta), log_det)

    def score(self, theta: Tensor, layout: Layout) -> Tensor:
        """-theta / scale^2."""
        scales = self.scales(layout, theta)
        return -(theta / scales) / scales

    def sample(self, sources: Sequence[Stream], n_draws: int, layout: Layout, like: Tensor) -> Tensor:
        """scale z."""
        return standard_normal(sources, (n_draws, layout.dim), like).mul_(self.scales(layout, like))

    def scale_slope(self, theta: Tensor, layout: Layout) -> Tensor:
        """|theta / scale|^2 - D."""
        return (theta / self.scales(layout, theta)).square().sum(-1) - theta.shape[-1]


@lru_cache(maxsize=64)
def _layer_scales(sigma: float, layout: Layout, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Kept, since it is asked for at every evaluation and would be copied to the device each time."""
    parts = [torch.full((p.stop - p.start,), sigma / math.sqrt(p.fan_in), dtype=torch.float64) for p in layout]
    return torch.cat(parts).to(device, dtype)


@dataclass(frozen=True)
class LaplacePrior(_Scaled):
    """exp(-|theta_i| / b) / (2 b) on every weight and bias, with b chosen so that sigma is the standard deviation."""

    @property
    def scale(self) -> float:
        """b = sigma / sqrt(2)."""
        return self.sigma / math.sqrt(2)

    def log_prob(self, theta: Tensor, layout: Layout) -> Tensor:
        """-|theta|_1 / b - D log(2 b)."""
        return -theta.abs().sum(-1) / self.scale - theta.shape[-1] * math.log(2 * self.scale)

    def score(self, theta: Tensor, layout: Layout) -> Tensor:
        """-sign(theta) / b."""
        return -theta.sign() / self.scale

    def sample(self, sources: Sequence[Stream], n_draws: int, layout: Layout, like: Tensor) -> Tensor:
        """By inversion: -b sign(v) log(1 - 2 |v|), v uniform on [-1/2, 1/2)."""
        centred = uniform(sources, n_draws * layout.dim, like) - 0.5
        draws = -self.scale * centred.sign() * torch.log1p(-2 * centred.abs().clamp(max=0.5 - 2**-54))
        return draws.reshape(len(sources), n_draws, layout.dim).to(like.dtype)

    def scale_slope(self, theta: Tensor, layout: Layout) -> Tensor:
        """|theta|_1 / b - D."""
        return theta.abs().sum(-1) / self.scale - theta.shape[-1]
