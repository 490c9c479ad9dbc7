"""Gaussian noise: of a given standard deviation, of one that is learned, or with one by row."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from pmcnet.bnn.kernels import fused_quantiles
from pmcnet.bnn.likelihoods.base import (
    LARGEST_SCALE,
    POSITIVE,
    Gradients,
    LearnedScale,
    Likelihood,
    NoExtra,
    check_scale,
    column,
    no_extra_gradient,
)
from pmcnet.bnn.likelihoods.location_scale import Regression
from pmcnet.bnn.likelihoods.response import Array, Response, Units
from pmcnet.bnn.likelihoods.row_scale import RowScale
from pmcnet.errors import InputError
from pmcnet.io.schema import Form, number

# In standard deviations of y, and its inverse the least: squares stay in single precision.
_MOST_NOISE = 1e8


class GaussianNoise(Regression):
    """Normal noise."""

    @classmethod
    def for_response(cls, response: Response, units: Units) -> Likelihood:
        """With the given noise, with a learned one, or with one that depends on the row."""
        if isinstance(response.noise, str):
            return RowGaussian() if response.noise == "by-row" else LearnedGaussian()
        sigma = float(response.noise) / units.scale
        if not 1 / _MOST_NOISE <= sigma <= _MOST_NOISE:
            raise InputError(
                f"noise must lie between {1 / _MOST_NOISE:g} and {_MOST_NOISE:g} times the scale "
                f"of y, here {units.scale:.3g}; got {response.noise:g}. Give it in units of y, or "
                "learn it."
            )
        return Gaussian(sigma)

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
        normal = type(self).cdf is GaussianNoise.cdf  # a subclass may have other tails
        if normal and fused_quantiles.applies(mean, deviation, levels):
            standard = self._standard_quantiles(levels)
            return fused_quantiles.normal_quantiles(mean, deviation, weight, levels, standard)
        return super().quantiles(output, extra, weight, levels)

    def standard_noise(self, source: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """Standard normal."""
        return source.standard_normal(shape)


@dataclass(frozen=True)
class Gaussian(NoExtra, GaussianNoise):
    """y ~ N(output, sigma^2) with a given standard deviation."""

    sigma: float

    stored_form: ClassVar[Mapping[str, Form]] = {"sigma": number(POSITIVE, LARGEST_SCALE)}

    def __post_init__(self) -> None:
        check_scale("sigma", self.sigma)

    def log_prob(self, output: Tensor, y: Tensor, extra: Tensor) -> Tensor:
        """-(y - output)^2 / (2 sigma^2) - log(2 pi sigma^2) / 2."""
        residual = (y - column(output, y)) / self.sigma
        return -0.5 * residual.square() - math.log(self.sigma) - 0.5 * math.log(2 * math.pi)

    def gradients(self, output: Tensor, y: Tensor, extra: Tensor) -> Gradients:
        """(y - output) / sigma^2."""
        log_prob = self.log_prob(output, y, extra)
        gradient = (y - column(output, y)) / self.sigma**2
        return Gradients(log_prob, gradient[..., None], no_extra_gradient(log_prob))

    def noise_variance(self, extra: Tensor) -> Tensor:
        """sigma^2."""
        return extra.new_full(extra.shape[:-1], self.sigma**2)


@dataclass(frozen=True)
class LearnedGaussian(LearnedScale, GaussianNoise):
    """y ~ N(output, sigma^2) with log sigma one more parameter, which has a normal prior."""

    def log_prob(self, output: Tensor, y: Tensor, extra: Tensor) -> Tensor:
        """-(y - output)^2 / (2 sigma^2) - log sigma - log(2 pi) / 2."""
        residual = (y - column(output, y)) * (-extra).exp()
        return -0.5 * residual.square() - extra - 0.5 * math.log(2 * math.pi)

    def gradients(self, output: Tensor, y: Tensor, extra: Tensor) -> Gradients:
        """(y - output) / sigma^2, and (y - output)^2 / sigma^2 - 1 by log sigma."""
        inverse = (-extra).exp()  # (P, 1)
        residual = (y - column(output, y)) * inverse  # (P, N)
        square = residual.square()
        log_prob = -0.5 * square - extra - 0.5 * math.log(2 * math.pi)
        return Gradients(log_prob, (residual * inverse)[..., None], (square - 1)[..., None])

    def noise_variance(self, extra: Tensor) -> Tensor:
        """exp(2 log sigma)."""
        return (2 * extra[..., 0]).exp()


@dataclass(frozen=True)
class RowGaussian(RowScale, GaussianNoise):
    """y ~ N(output_0, sigma^2) with sigma of each row from the network's second output."""

    def log_prob(self, output: Tensor, y: Tensor, extra: Tensor) -> Tensor:
        """-(y - output_0)^2 / (2 sigma^2) - log sigma - log(2 pi) / 2."""
        log_sigma = self.log_scale(output, extra)
        residual = (y - column(output, y)) * (-log_sigma).exp()
        return -0.5 * residual.square() - log_sigma - 0.5 * math.log(2 * math.pi)

    def gradients(self, output: Tensor, y: Tensor, extra: Tensor) -> Gradients:
        """(y - output_0) / sigma^2, and (y - output_0)^2 / sigma^2 - 1 by log sigma."""
        log_sigma = self.log_scale(output, extra)
        inverse = (-log_sigma).exp()
        residual = (y - column(output, y)) * inverse  # (P, N)
        square = residual.square()
        log_prob = -0.5 * square - log_sigma - 0.5 * math.log(2 * math.pi)
        return self.gradients_by(log_prob, residual * inverse, square - 1)

    def deviation(self, output: Tensor, extra: Tensor) -> Tensor:
        """sigma (P, N)."""
        return self.log_scale(output, extra).exp()

    def noise_variance(self, extra: Tensor) -> Tensor:
        """That of a row whose second output is 0 (P,)."""
        return (2 * extra[..., 0]).exp()

    def aleatoric(self, mean: Tensor, output: Tensor, extra: Tensor) -> Tensor:
        """sigma^2 (P, N)."""
        return (2 * self.log_scale(output, extra)).exp()
