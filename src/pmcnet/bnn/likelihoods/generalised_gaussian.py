"""Noise with tails between a Gaussian's and far heavier ones."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from pmcnet.bnn.likelihoods.base import (
    LARGEST_SCALE,
    POSITIVE,
    Gradients,
    NoExtra,
    check_scale,
    column,
    no_extra_gradient,
)
from pmcnet.bnn.likelihoods.location_scale import Regression
from pmcnet.bnn.likelihoods.response import Array
from pmcnet.errors import InputError
from pmcnet.io.schema import Form, number


@dataclass(frozen=True)
class GeneralisedGaussian(NoExtra, Regression):
    """p(y) proportional to exp(-(|y - output| / alpha)^rho).

    rho = 2 is Gaussian, rho = 1 Laplace; the smaller it is, the less outliers count.
    """

    alpha: float
    rho: float = 1.0

    stored_form: ClassVar[Mapping[str, Form]] = {
        "alpha": number(POSITIVE, LARGEST_SCALE),
        "rho": number(POSITIVE, 2),
    }

    def __post_init__(self) -> None:
        check_scale("alpha", self.alpha)
        if not 0 < self.rho <= 2:
            raise InputError(f"rho must lie in (0, 2]; got {self.rho}.")

    def log_prob(self, output: Tensor, y: Tensor, extra: Tensor) -> Tensor:
        """-(|y - output| / alpha)^rho + log rho - log(2 alpha Gamma(1 / rho))."""
        constant = math.log(self.rho) - math.log(2 * self.alpha) - math.lgamma(1 / self.rho)
        return constant - ((y - column(output, y)).abs() / self.alpha).pow(self.rho)

    def gradients(self, output: Tensor, y: Tensor, extra: Tensor) -> Gradients:
        """rho |r|^(rho - 1) sign(r) / alpha^rho with r = y - output; 0 where r is."""
        residual = (y - column(output, y)) / self.alpha
        size = residual.abs()
        gradient = torch.where(
            size > 0, self.rho / self.alpha * size.pow(self.rho - 1) * residual.sign(), 0.0
        )
        log_prob = self.log_prob(output, y, extra)
        return Gradients(log_prob, gradient[..., None], no_extra_gradient(log_prob))

    @property
    def _variance(self) -> float:
        return self.alpha**2 * math.exp(math.lgamma(3 / self.rho) - math.lgamma(1 / self.rho))

    def noise_variance(self, extra: Tensor) -> Tensor:
        """alpha^2 Gamma(3 / rho) / Gamma(1 / rho)."""
        return extra.new_full(extra.shape[:-1], self._variance)

    def cdf(self, z: Tensor) -> Tensor:
        """1/2 + sign(z) P(1 / rho, (|z| std / alpha)^rho) / 2, P the incomplete gamma function."""
        power = (z.abs() * (math.sqrt(self._variance) / self.alpha)).pow(self.rho)
        within: Tensor = torch.special.gammainc(torch.full_like(z, 1 / self.rho), power)
        return 0.5 + 0.5 * z.sign() * within

    def pdf(self, z: Tensor) -> Tensor:
        """rho k / (2 Gamma(1 / rho)) exp(-(k |z|)^rho), k = std / alpha."""
        k = math.sqrt(self._variance) / self.alpha
        constant = self.rho * k / (2 * math.gamma(1 / self.rho))
        return (-(k * z.abs()).pow(self.rho)).exp() * constant

    def standard_noise(self, source: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """+-g^(1 / rho) alpha / std with g from a gamma distribution of shape 1 / rho."""
        size = source.standard_gamma(1 / self.rho, shape) ** (1 / self.rho)
        sign = np.where(source.random(shape) < 0.5, -1.0, 1.0)
        return np.asarray(sign * size * (self.alpha / math.sqrt(self._variance)))
