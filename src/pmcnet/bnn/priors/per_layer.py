"""Gaussian priors whose scale depends on the layer."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from pmcnet.bnn.networks.base import Layout
from pmcnet.bnn.priors.base import Scaled, log_normal, total
from pmcnet.rng import Stream, standard_normal


@dataclass(frozen=True)
class LayerGaussianPrior(Scaled):
    """N(0, sigma^2 / fan_in) on weights and N(0, sigma^2) on biases: all layers have one scale."""

    def scales(self, layout: Layout, like: Tensor) -> Tensor:
        """The standard deviation of every coordinate (D,)."""
        return _layer_scales(self.sigma, layout, like.dtype, like.device)

    def log_prob(self, theta: Tensor, layout: Layout) -> Tensor:
        """Sum of the coordinates' normal log-densities."""
        log_det = sum(
            (p.stop - p.start) * math.log(self.sigma / math.sqrt(p.fan_in)) for p in layout
        )
        return log_normal(theta, self.scales(layout, theta), log_det)

    def score(self, theta: Tensor, layout: Layout) -> Tensor:
        """-theta / scale^2."""
        scales = self.scales(layout, theta)
        return -(theta / scales) / scales

    def sample(
        self, sources: Sequence[Stream], n_draws: int, layout: Layout, like: Tensor
    ) -> Tensor:
        """scale z."""
        return standard_normal(sources, (n_draws, layout.dim), like).mul_(self.scales(layout, like))

    def scale_gradient(self, theta: Tensor, layout: Layout) -> Tensor:
        """|theta / scale|^2 - D."""
        return total((theta / self.scales(layout, theta)).square()) - theta.shape[-1]


@lru_cache(maxsize=64)
def _layer_scales(sigma: float, layout: Layout, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Cached: every evaluation needs it, and it would be copied to the device each time."""
    parts = [
        torch.full((p.stop - p.start,), sigma / math.sqrt(p.fan_in), dtype=torch.float64)
        for p in layout
    ]
    return torch.cat(parts).to(device, dtype)
