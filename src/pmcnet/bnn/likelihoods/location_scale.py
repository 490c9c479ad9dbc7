"""What likelihoods of a number share: y is the network's output plus noise of one shape."""

from collections.abc import Sequence
from functools import lru_cache
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from pmcnet.bnn.likelihoods.base import Stored, Task
from pmcnet.bnn.likelihoods.mixture_quantiles import Standard, mixture_quantile, standard_quantiles
from pmcnet.bnn.likelihoods.response import Array, Response, Units, standardised
from pmcnet.rng import Stream


class Regression(Stored):
    """y = output + noise. Uncertainty is variance.

    A family gives the noise's variance, and of the noise divided by its standard deviation the
    distribution function, the density and draws. Noise is the same for every row, unless the family
    says otherwise (`deviation`).
    """

    task: ClassVar[Task] = "regression"
    n_outputs = 1
    n_classes = 0

    def noise_variance(self, extra: Tensor) -> Tensor:
        """Variance of y around the output, for each network (P,)."""
        raise NotImplementedError

    def cdf(self, z: Tensor) -> Tensor:
        """P(y <= output + z standard deviations)."""
        raise NotImplementedError

    def pdf(self, z: Tensor) -> Tensor:
        """The derivative of `cdf`."""
        raise NotImplementedError

    def standard_noise(self, source: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """Draws of the noise, in standard deviations."""
        raise NotImplementedError

    @classmethod
    def units(cls, response: Response) -> Units:
        """Those in which y has mean 0 and standard deviation 1."""
        return standardised(response.y, response.weight)

    def usable(self, extra: Tensor) -> Tensor:
        """Whether the noise has a finite variance, and not 0."""
        variance = self.noise_variance(extra)
        return variance.isfinite() & (variance > 0)

    def deviation(self, output: Tensor, extra: Tensor) -> Tensor:
        """Standard deviation of the noise: (P, 1), or (P, N) where it depends on the row."""
        return self.noise_variance(extra).sqrt()[:, None]

    def mean(self, output: Tensor, extra: Tensor) -> Tensor:
        """The output."""
        return output[..., :1]

    def aleatoric(self, mean: Tensor, output: Tensor, extra: Tensor) -> Tensor:
        """The noise variance (P, 1)."""
        return self.noise_variance(extra)[:, None]

    def total(self, mean: Tensor, aleatoric: Tensor, variance: Tensor) -> Tensor:
        """Average noise variance plus variance of the mean: the law of total variance."""
        return aleatoric + variance[..., 0]

    def cumulative(self, output: Tensor, y: Tensor, extra: Tensor) -> Tensor:
        """P(Y <= y | output): (P, N)."""
        return self.cdf((y - output[..., 0]) / self.deviation(output, extra))

    def sample(self, output: Tensor, extra: Tensor, source: Stream) -> Tensor:
        """The output plus noise."""
        mean = output[..., 0].double()
        noise = torch.as_tensor(self.standard_noise(source.host, tuple(mean.shape)))
        return mean + self.deviation(output, extra).double() * noise.to(mean.device)

    def quantiles(
        self, output: Tensor, extra: Tensor, weight: Tensor, levels: Sequence[float]
    ) -> Tensor:
        """Those of the mixture of shifted and scaled noises."""
        mean, deviation, weight = (
            output[..., 0],
            self.deviation(output, extra),
            weight.to(output.dtype),
        )
        standard = self._standard_quantiles(levels)
        found = [
            mixture_quantile(mean, deviation, weight, level, z, self)
            for level, z in zip(levels, standard, strict=True)
        ]
        return torch.stack(found, dim=-1)

    def _standard_quantiles(self, levels: Sequence[float]) -> list[float]:
        """Those of the noise in standard deviations."""
        return _standard_quantiles(tuple(levels), self)


@lru_cache(maxsize=64)
def _standard_quantiles(levels: tuple[float, ...], standard: Standard) -> list[float]:
    """Cached: every chunk of rows needs the same."""
    return standard_quantiles(levels, standard)
