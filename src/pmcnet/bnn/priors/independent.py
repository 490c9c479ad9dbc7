"""Priors of independent coordinates, each N(0, sigma^2) or another density with that scale."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor
from torch.nn import functional as F

from pmcnet.bnn.networks.base import Layout
from pmcnet.bnn.priors.base import Scaled, check_positive, log_normal, total
from pmcnet.errors import InputError
from pmcnet.rng import Stream, standard_normal, uniform


@dataclass(frozen=True)
class GaussianPrior(Scaled):
    """N(0, sigma^2) on every weight and bias."""

    def log_prob(self, theta: Tensor, layout: Layout) -> Tensor:
        """-|theta|^2 / (2 sigma^2) - D log(sigma) - (D / 2) log(2 pi)."""
        return log_normal(theta, self.sigma, theta.shape[-1] * math.log(self.sigma))

    def score(self, theta: Tensor, layout: Layout) -> Tensor:
        """-theta / sigma^2."""
        return theta * (-1 / self.sigma / self.sigma)

    def sample(
        self, sources: Sequence[Stream], n_draws: int, layout: Layout, like: Tensor
    ) -> Tensor:
        """sigma z."""
        return standard_normal(sources, (n_draws, layout.dim), like).mul_(self.sigma)

    def scale_gradient(self, theta: Tensor, layout: Layout) -> Tensor:
        """|theta / sigma|^2 - D."""
        return total((theta / self.sigma).square()) - theta.shape[-1]


@dataclass(frozen=True)
class LaplacePrior(Scaled):
    """exp(-|theta_i| / b) / (2 b) on every weight and bias; sigma is its standard deviation."""

    @property
    def scale(self) -> float:
        """b = sigma / sqrt(2)."""
        return self.sigma / math.sqrt(2)

    def log_prob(self, theta: Tensor, layout: Layout) -> Tensor:
        """-|theta|_1 / b - D log(2 b)."""
        return -total(theta.abs()) / self.scale - theta.shape[-1] * math.log(2 * self.scale)

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

    def scale_gradient(self, theta: Tensor, layout: Layout) -> Tensor:
        """|theta|_1 / b - D."""
        return total(theta.abs()) / self.scale - theta.shape[-1]


@dataclass(frozen=True)
class ScaleMixturePrior(Scaled):
    """share N(0, wide^2) + (1 - share) N(0, narrow^2) on every weight (Blundell et al., 2015).

    Most weights and biases are near zero, some far from it. sigma is the standard deviation of the
    mixture, sigma^2 = share wide^2 + (1 - share) narrow^2; another sigma scales both components.

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
        check_positive("wide", wide)
        check_positive("narrow", narrow)
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
        wide = log_normal(theta, self.wide, theta.shape[-1] * math.log(self.wide / self.share))
        return wide - total(F.logsigmoid(self._log_odds(theta)))

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

    def scale_gradient(self, theta: Tensor, layout: Layout) -> Tensor:
        """-theta . score - D, as for every density whose coordinates are in units of sigma."""
        return -total(theta * self.score(theta, layout)) - theta.shape[-1]

    def _log_odds(self, theta: Tensor) -> Tensor:
        """log P(wide | theta_i) - log P(narrow | theta_i), least where theta_i is 0."""
        at_zero = math.log(self.share) - math.log1p(-self.share) + math.log(self.ratio)
        return at_zero + (0.5 * (1 - self.ratio**2)) * (theta / self.narrow).square()
