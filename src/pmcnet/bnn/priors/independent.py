"""Priors on the flat parameter vector: independent coordinates, exact log-densities, sampling.

METHOD: i.i.d. N(0, sigma^2) on every weight and bias. Normalising constants are kept, since
evidences are compared.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol, Self

import torch
from torch import Tensor
from torch.nn import functional as F

from pmcnet.bnn.networks.mlp import Layout
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

    def sample(
        self, sources: Sequence[Stream], n_draws: int, layout: Layout, like: Tensor
    ) -> Tensor:
        """`n_draws` vectors from each stream: (len(sources), n_draws, D)."""
        ...


def _total(terms: Tensor) -> Tensor:
    """Their sum in float64: of millions in float32, rounding is a matter of nats."""
    return terms.sum(-1, dtype=torch.float64)


def _log_normal(theta: Tensor, sigma: Tensor | float, log_det: float) -> Tensor:
    return (
        -0.5 * _total((theta / sigma).square())
        - log_det
        - 0.5 * theta.shape[-1] * math.log(2 * math.pi)
    )


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

    def sample(
        self, sources: Sequence[Stream], n_draws: int, layout: Layout, like: Tensor
    ) -> Tensor:
        """sigma z."""
        return standard_normal(sources, (n_draws, layout.dim), like).mul_(self.sigma)

    def scale_slope(self, theta: Tensor, layout: Layout) -> Tensor:
        """|theta / sigma|^2 - D."""
        return _total((theta / self.sigma).square()) - theta.shape[-1]


@dataclass(frozen=True)
class LayerGaussianPrior(_Scaled):
    """N(0, sigma^2 / fan_in) on weights and N(0, sigma^2) on biases: outputs of every layer have a common scale."""

    def scales(self, layout: Layout, like: Tensor) -> Tensor:
        """The standard deviation of every coordinate (D,)."""
        return _layer_scales(self.sigma, layout, like.dtype, like.device)

    def log_prob(self, theta: Tensor, layout: Layout) -> Tensor:
        """Sum of the coordinates' normal log-densities."""
        log_det = sum(
            (p.stop - p.start) * math.log(self.sigma / math.sqrt(p.fan_in)) for p in layout
        )
        return _log_normal(theta, self.scales(layout, theta), log_det)

    def score(self, theta: Tensor, layout: Layout) -> Tensor:
        """-theta / scale^2."""
        scales = self.scales(layout, theta)
        return -(theta / scales) / scales

    def sample(
        self, sources: Sequence[Stream], n_draws: int, layout: Layout, like: Tensor
    ) -> Tensor:
        """scale z."""
        return standard_normal(sources, (n_draws, layout.dim), like).mul_(self.scales(layout, like))

    def scale_slope(self, theta: Tensor, layout: Layout) -> Tensor:
        """|theta / scale|^2 - D."""
        return _total((theta / self.scales(layout, theta)).square()) - theta.shape[-1]


@lru_cache(maxsize=64)
def _layer_scales(sigma: float, layout: Layout, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Kept, since it is asked for at every evaluation and would be copied to the device each time."""
    parts = [
        torch.full((p.stop - p.start,), sigma / math.sqrt(p.fan_in), dtype=torch.float64)
        for p in layout
    ]
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
        return -_total(theta.abs()) / self.scale - theta.shape[-1] * math.log(2 * self.scale)

    def score(self, theta: Tensor, layout: Layout) -> Tensor:
        """-sign(theta) / b."""
        return -theta.sign() / self.scale

    def sample(
        self, sources: Sequence[Stream], n_draws: int, layout: Layout, like: Tensor
    ) -> Tensor:
        """By inversion: -b sign(v) log(1 - 2 |v|), v uniform on [-1/2, 1/2)."""
        centred = uniform(sources, n_draws * layout.dim, like) - 0.5
        draws = (
            -self.scale * centred.sign() * torch.log1p(-2 * centred.abs().clamp(max=0.5 - 2**-54))
        )
        return draws.reshape(len(sources), n_draws, layout.dim).to(like.dtype)

    def scale_slope(self, theta: Tensor, layout: Layout) -> Tensor:
        """|theta|_1 / b - D."""
        return _total(theta.abs()) / self.scale - theta.shape[-1]


@dataclass(frozen=True)
class ScaleMixturePrior(_Scaled):
    """share N(0, wide^2) + (1 - share) N(0, narrow^2) on every weight and bias (Blundell et al., 2015).

    Most weights near zero, some far from it. Given by its own standard deviation, as the other
    priors are: sigma^2 = share wide^2 + (1 - share) narrow^2. Another sigma scales both components.

    Args:
        sigma: the standard deviation of the mixture.
        share: the wide component's.
        ratio: narrow / wide.
    """

    share: float = 0.5
    ratio: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.share < 1:
            raise InputError(
                f"share must lie strictly between 0 and 1; got {self.share}. Use GaussianPrior for "
                "one."
            )
        if not 0 < self.ratio <= 1:
            raise InputError(
                f"ratio, of the narrow scale to the wide one, must lie in (0, 1]; got {self.ratio}."
            )

    @classmethod
    def of(cls, wide: float, narrow: float, share: float = 0.5) -> Self:
        """The mixture with these components' standard deviations."""
        _positive("wide", wide)
        _positive("narrow", narrow)
        own = cls(1.0, share, narrow / wide)
        return own.rescaled(wide / own.wide)

    @property
    def wide(self) -> float:
        """sigma / sqrt(share + (1 - share) ratio^2)."""
        return self.sigma / math.sqrt(self.share + (1 - self.share) * self.ratio**2)

    @property
    def narrow(self) -> float:
        """ratio wide."""
        return self.ratio * self.wide

    def log_prob(self, theta: Tensor, layout: Layout) -> Tensor:
        """sum_i log[share N(theta_i; 0, wide^2) + (1 - share) N(theta_i; 0, narrow^2)].

        As log share + log N(wide) - log P(wide | theta_i), which is the logarithm of a sum of
        exponentials from the odds of the two and stays finite where the narrow density underflows.
        """
        wide = _log_normal(theta, self.wide, theta.shape[-1] * math.log(self.wide / self.share))
        return wide - _total(F.logsigmoid(self._log_odds(theta)))

    def score(self, theta: Tensor, layout: Layout) -> Tensor:
        """-theta / wide^2 - P(narrow | theta) (1 - ratio^2) theta / narrow^2."""
        share = (-self._log_odds(theta)).sigmoid()  # 0 where theta / narrow^2 may overflow
        return -(theta / self.wide) / self.wide - share * (theta / self.narrow) * (
            (1 - self.ratio**2) / self.narrow
        )

    def sample(
        self, sources: Sequence[Stream], n_draws: int, layout: Layout, like: Tensor
    ) -> Tensor:
        """wide z with probability share, else narrow z."""
        is_wide = (uniform(sources, n_draws * layout.dim, like) < self.share).to(like.dtype)
        scales = is_wide.mul_(self.wide - self.narrow).add_(self.narrow)
        return standard_normal(sources, (n_draws, layout.dim), like).mul_(
            scales.reshape(-1, n_draws, layout.dim)
        )

    def scale_slope(self, theta: Tensor, layout: Layout) -> Tensor:
        """-theta . score - D, as for every density whose coordinates are in units of sigma."""
        return -_total(theta * self.score(theta, layout)) - theta.shape[-1]

    def _log_odds(self, theta: Tensor) -> Tensor:
        """log P(wide | theta_i) - log P(narrow | theta_i), least where theta_i is 0."""
        at_zero = math.log(self.share) - math.log1p(-self.share) + math.log(self.ratio)
        return at_zero + (0.5 * (1 - self.ratio**2)) * (theta / self.narrow).square()
