"""Gaussian noise whose standard deviation is known of each row, such as an error of measurement."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from torch import Tensor

from pmcnet.bnn.likelihoods.base import (
    LARGEST_SCALE,
    POSITIVE,
    Gradients,
    Likelihood,
    NoExtra,
    check_scale,
    no_extra_gradient,
)
from pmcnet.bnn.likelihoods.normal_noise import NormalNoise
from pmcnet.bnn.likelihoods.response import Response, Units
from pmcnet.errors import InputError
from pmcnet.io.schema import Form, number

MOST_NOISE = 1e8
"""In standard deviations of y, and its inverse the least: squares stay in single precision."""


@dataclass(frozen=True)
class KnownGaussian(NoExtra, NormalNoise):
    """y ~ N(output, sigma_n^2), where data (N, 2) hold y and sigma_n.

    Rows without a sigma of their own, those to predict and data (N,), have the typical one.

    Args:
        sigma: the root mean square of sigma_n of the training rows.
    """

    sigma: float

    stored_form: ClassVar[Mapping[str, Form]] = {"sigma": number(POSITIVE, LARGEST_SCALE)}

    def __post_init__(self) -> None:
        check_scale("sigma", self.sigma)

    @classmethod
    def for_response(cls, response: Response, units: Units) -> Likelihood:
        """With the typical noise of these rows."""
        sigma = cls.targets(response.y, units)[:, 1]
        if not (sigma.min() >= 1 / MOST_NOISE and sigma.max() <= MOST_NOISE):
            low, high = sigma.min() * units.scale, sigma.max() * units.scale
            raise InputError(
                f"noise must lie between {1 / MOST_NOISE:g} and {MOST_NOISE:g} times the scale of "
                f"y, here {units.scale:.3g}; it goes from {low:.3g} to {high:.3g}. Give it in "
                "units of y."
            )
        return cls(float(np.sqrt(np.average(np.square(sigma), weights=response.weight))))

    def log_prob(self, output: Tensor, y: Tensor, extra: Tensor) -> Tensor:
        """-(y - output)^2 / (2 sigma_n^2) - log(2 pi sigma_n^2) / 2."""
        y, sigma = self._split(y)
        residual = (y - output[..., 0]) / sigma
        return -0.5 * residual.square() - sigma.log() - 0.5 * math.log(2 * math.pi)

    def gradients(self, output: Tensor, y: Tensor, extra: Tensor) -> Gradients:
        """(y - output) / sigma_n^2."""
        log_prob = self.log_prob(output, y, extra)
        y, sigma = self._split(y)
        gradient = (y - output[..., 0]) / sigma / sigma
        return Gradients(log_prob, gradient[..., None], no_extra_gradient(log_prob))

    def noise_variance(self, extra: Tensor) -> Tensor:
        """sigma^2 of a typical row."""
        return extra.new_full(extra.shape[:-1], self.sigma**2)

    def of_rows(self, sigma: Tensor) -> "KnownGaussian":
        """The same, to draw y of rows that have these standard deviations (N,)."""
        return _OfRows(self.sigma, sigma)

    def _split(self, y: Tensor) -> tuple[Tensor, Tensor]:
        """Values and standard deviations (N,)."""
        if y.ndim == 1:
            return y, y.new_full(y.shape, self.sigma)
        return y[:, 0], y[:, 1]


@dataclass(frozen=True, eq=False)
class _OfRows(KnownGaussian):
    """`KnownGaussian` of rows whose standard deviations are known."""

    each: Tensor

    def deviation(self, output: Tensor, extra: Tensor) -> Tensor:
        """That of each row (1, N)."""
        return self.each.to(output)[None]
