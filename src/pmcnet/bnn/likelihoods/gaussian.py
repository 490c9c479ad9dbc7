"""Gaussian noise: of a given standard deviation, of one that is learned, or with one by row."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

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
from pmcnet.bnn.likelihoods.known_noise import MOST_NOISE, KnownGaussian
from pmcnet.bnn.likelihoods.normal_noise import NormalNoise
from pmcnet.bnn.likelihoods.response import Response, Units
from pmcnet.bnn.likelihoods.row_scale import RowScale, rounding_floor
from pmcnet.errors import InputError
from pmcnet.io.schema import Form, number


class GaussianNoise(NormalNoise):
    """Normal noise."""

    by_row: ClassVar[bool] = True

    @classmethod
    def for_response(cls, response: Response, units: Units) -> Likelihood:
        """With noise that is known, given, learned, or dependent on the row."""
        if response.y.ndim == 2:
            return KnownGaussian.for_response(response, units)
        if isinstance(response.noise, str):
            if response.noise == "by-row":
                return RowGaussian(floor=rounding_floor(units.to_network(response.y)))
            return LearnedGaussian()
        sigma = float(response.noise) / units.scale
        if not 1 / MOST_NOISE <= sigma <= MOST_NOISE:
            raise InputError(
                f"noise must lie between {1 / MOST_NOISE:g} and {MOST_NOISE:g} times the scale "
                f"of y, here {units.scale:.3g}; got {response.noise:g}. Give it in units of y, or "
                "learn it."
            )
        return Gaussian(sigma)


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
        return self.gradients_by(output, extra, log_prob, residual * inverse, square - 1)

    def deviation(self, output: Tensor, extra: Tensor) -> Tensor:
        """sigma (P, N)."""
        return self.log_scale(output, extra).exp()

    def noise_variance(self, extra: Tensor) -> Tensor:
        """That of a row whose second output is 0 (P,)."""
        return (self.floor + extra[..., 0].exp()).square()

    def aleatoric(self, mean: Tensor, output: Tensor, extra: Tensor) -> Tensor:
        """sigma^2 (P, N)."""
        return (2 * self.log_scale(output, extra)).exp()
