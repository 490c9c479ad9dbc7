"""Normal noise: its distribution function, and responses with a known noise in a second column."""

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from pmcnet.bnn.kernels import fused_quantiles
from pmcnet.bnn.likelihoods.location_scale import Regression
from pmcnet.bnn.likelihoods.response import Array, Response, Units, standardised
from pmcnet.errors import InputError


class NormalNoise(Regression):
    """y = output + normal noise. A response (N, 2) is y and its known standard deviation."""

    @classmethod
    def units(cls, response: Response) -> Units:
        """Those in which y has mean 0 and standard deviation 1."""
        y = response.y if response.y.ndim == 1 else response.y[:, 0]
        return standardised(y, response.weight)

    @classmethod
    def targets(cls, y: Array, units: Units) -> Array:
        """In the network's units; standard deviations are scaled only."""
        if y.ndim == 1:
            return units.to_network(y)
        sigma = y[:, 1]
        good = np.isfinite(sigma) & (sigma > 0)
        if not good.all():
            row = int(good.argmin())
            raise InputError(
                "noise must hold positive finite numbers, the standard deviation of each y in "
                f"units of y; got {sigma[row]:g} in row {row + 1}. Drop rows that say nothing."
            )
        return np.column_stack([units.to_network(y[:, 0]), sigma / units.scale])

    @classmethod
    def responses(cls, targets: Array, units: Units) -> Array:
        """In units of y; standard deviations are scaled only."""
        if targets.ndim == 1:
            return units.values(targets)
        return np.column_stack([units.values(targets[:, 0]), targets[:, 1] * units.scale])

    def cdf(self, z: Tensor) -> Tensor:
        """The normal distribution function."""
        probability: Tensor = torch.special.ndtr(z)
        return probability

    def pdf(self, z: Tensor) -> Tensor:
        """The normal density."""
        return (-0.5 * z.square()).exp() * (1 / math.sqrt(2 * math.pi))

    def quantiles(
        self, output: Tensor, extra: Tensor, weight: Tensor, levels: Sequence[float]
    ) -> Tensor:
        """Those of the mixture of normal distributions, by a compiled search where that pays."""
        mean, deviation = output[..., 0], self.deviation(output, extra)
        normal = type(self).cdf is NormalNoise.cdf  # a subclass may have other tails
        if normal and fused_quantiles.applies(mean, deviation, levels):
            standard = self._standard_quantiles(levels)
            return fused_quantiles.normal_quantiles(mean, deviation, weight, levels, standard)
        return super().quantiles(output, extra, weight, levels)

    def standard_noise(self, source: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """Standard normal."""
        return source.standard_normal(shape)
