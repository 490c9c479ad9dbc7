"""Shapes of the noise of a logarithm, whose exponential has moments in closed form.

    log y = m + s z,  E[y] = e^m E[e^(s z)],  Var[y] / E[y]^2 = E[e^(2 s z)] / E[e^(s z)]^2 - 1.

Their scale is 1; the mean of the smallest extreme value is not 0. Scales s are float64.
"""

import math
from typing import Protocol

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from pmcnet.bnn.likelihoods.noise_shapes import Fixed, Quantiled, Shape
from pmcnet.bnn.likelihoods.response import Array

_ZETA_2, _ZETA_3, _ZETA_4 = math.pi**2 / 6, 1.2020569031595942, math.pi**4 / 90
_SMALL = 1e-3
"""Scales below it have relative variances from the first terms of their series."""
_LATE = 60.0
"""Where hazards stop growing, e^60: densities are 0 in any precision, derivatives stay finite."""


class LogShape(Shape, Protocol):
    """A shape that log y may have."""

    def log_mean(self, scale: Tensor) -> Tensor:
        """Log E[e^(s z)]."""
        ...

    def relative_variance(self, scale: Tensor) -> Tensor:
        """Var[e^(s z)] / E[e^(s z)]^2."""
        ...


class TimeShape(LogShape, Protocol):
    """A shape that the logarithm of a time may have, which may be known to be late only."""

    def log_survival(self, z: Tensor) -> Tensor:
        """Log P(Z > z)."""
        ...

    def hazard(self, z: Tensor) -> Tensor:
        """Minus the derivative of `log_survival`."""
        ...


class Normal(Fixed):
    """The normal distribution: y is log-normal."""

    def log_density(self, z: Tensor, own: Tensor) -> Tensor:
        """-z^2 / 2 - log(2 pi) / 2."""
        return -0.5 * z.square() - 0.5 * math.log(2 * math.pi)

    def gradients(self, z: Tensor, own: Tensor) -> tuple[Tensor, Tensor]:
        """-z."""
        return -z, z.new_empty((*z.shape, 0))

    def variance(self, own: Tensor) -> Tensor:
        """1."""
        return own.new_ones(len(own))

    def log_mean(self, scale: Tensor) -> Tensor:
        """s^2 / 2."""
        return 0.5 * scale.square()

    def relative_variance(self, scale: Tensor) -> Tensor:
        """exp(s^2) - 1."""
        return scale.square().expm1()

    def standard(self, own: Tensor) -> Quantiled:
        """The normal distribution."""
        return NormalStandard()

    def draws(self, source: np.random.Generator, shape: tuple[int, int], own: Array) -> Array:
        """By the library."""
        return source.standard_normal(shape)


class NormalStandard:
    """The standard normal distribution."""

    def cdf(self, z: Tensor) -> Tensor:
        """erfc(-z / sqrt(2)) / 2, which keeps the digits of small probabilities."""
        return 0.5 * torch.erfc(-math.sqrt(0.5) * z)

    def pdf(self, z: Tensor) -> Tensor:
        """exp(-z^2 / 2) / sqrt(2 pi)."""
        return (-0.5 * z.square()).exp() * (1 / math.sqrt(2 * math.pi))

    def quantile(self, level: float) -> Tensor:
        """The inverse of `cdf`."""
        found: Tensor = torch.special.ndtri(torch.tensor([[level]], dtype=torch.float64))
        return found


class Logistic(Fixed):
    """e^z / (1 + e^z)^2: y is log-logistic, with a mean for s < 1 and a variance for s < 1/2."""

    def log_density(self, z: Tensor, own: Tensor) -> Tensor:
        """Log S(z) + log S(-z), with S(z) = 1 / (1 + e^z) the survival function."""
        return F.logsigmoid(z) + F.logsigmoid(-z)

    def gradients(self, z: Tensor, own: Tensor) -> tuple[Tensor, Tensor]:
        """-tanh(z / 2)."""
        return -(0.5 * z).tanh(), z.new_empty((*z.shape, 0))

    def variance(self, own: Tensor) -> Tensor:
        """pi^2 / 3."""
        return own.new_full((len(own),), math.pi**2 / 3)

    def log_mean(self, scale: Tensor) -> Tensor:
        """Log(pi s / sin(pi s)), infinite from s = 1."""
        angle = math.pi * scale
        return torch.where(scale < 1, (angle / angle.sin()).log(), torch.inf)

    def relative_variance(self, scale: Tensor) -> Tensor:
        """tan(pi s) / (pi s) - 1, infinite from s = 1/2."""
        angle = math.pi * scale
        series = angle.square() / 3 + 2 / 15 * angle**4
        found = torch.where(scale < _SMALL, series, angle.tan() / angle - 1)
        return torch.where(scale < 0.5, found, torch.inf)

    def log_survival(self, z: Tensor) -> Tensor:
        """-log(1 + e^z)."""
        return F.logsigmoid(-z)

    def hazard(self, z: Tensor) -> Tensor:
        """1 / (1 + e^-z)."""
        return z.sigmoid()

    def standard(self, own: Tensor) -> Quantiled:
        """The logistic distribution."""
        return LogisticStandard()

    def draws(self, source: np.random.Generator, shape: tuple[int, int], own: Array) -> Array:
        """By the library."""
        return source.logistic(size=shape)


class LogisticStandard:
    """The logistic distribution with scale 1."""

    def cdf(self, z: Tensor) -> Tensor:
        """1 / (1 + e^-z)."""
        return z.sigmoid()

    def pdf(self, z: Tensor) -> Tensor:
        """Its derivative."""
        return z.sigmoid() * (-z).sigmoid()

    def quantile(self, level: float) -> Tensor:
        """log(p / (1 - p))."""
        return torch.tensor([[math.log(level) - math.log1p(-level)]], dtype=torch.float64)


class SmallestExtreme(Fixed):
    """exp(z - e^z), Gumbel's distribution of minima: y is Weibull, with exponent 1 / s."""

    def log_density(self, z: Tensor, own: Tensor) -> Tensor:
        """Z - e^z."""
        return z + self.log_survival(z)

    def gradients(self, z: Tensor, own: Tensor) -> tuple[Tensor, Tensor]:
        """1 - e^z."""
        return 1 - self.hazard(z), z.new_empty((*z.shape, 0))

    def variance(self, own: Tensor) -> Tensor:
        """pi^2 / 6."""
        return own.new_full((len(own),), _ZETA_2)

    def log_mean(self, scale: Tensor) -> Tensor:
        """Log Gamma(1 + s)."""
        return (1 + scale).lgamma()

    def relative_variance(self, scale: Tensor) -> Tensor:
        """Gamma(1 + 2 s) / Gamma(1 + s)^2 - 1."""
        series = scale.square() * (_ZETA_2 - 2 * _ZETA_3 * scale + 3.5 * _ZETA_4 * scale.square())
        exact = (1 + 2 * scale).lgamma() - 2 * (1 + scale).lgamma()
        return torch.where(scale < _SMALL, series, exact).expm1()

    def log_survival(self, z: Tensor) -> Tensor:
        """-e^z, and beyond `_LATE` its tangent."""
        return -self.hazard(z) * (1 + (z - _LATE).clamp(min=0))

    def hazard(self, z: Tensor) -> Tensor:
        """e^z, constant beyond `_LATE`."""
        return z.clamp(max=_LATE).exp()

    def standard(self, own: Tensor) -> Quantiled:
        """The distribution of minima."""
        return SmallestExtremeStandard()

    def draws(self, source: np.random.Generator, shape: tuple[int, int], own: Array) -> Array:
        """Minima are maxima of the other sign."""
        return -source.gumbel(size=shape)


class SmallestExtremeStandard:
    """Gumbel's distribution of minima with location 0 and scale 1."""

    def cdf(self, z: Tensor) -> Tensor:
        """1 - exp(-e^z)."""
        return -torch.expm1(-z.exp())

    def pdf(self, z: Tensor) -> Tensor:
        """exp(z - e^z)."""
        return (z - z.exp()).exp()

    def quantile(self, level: float) -> Tensor:
        """log(-log(1 - p))."""
        return torch.tensor([[math.log(-math.log1p(-level))]], dtype=torch.float64)
