"""Shapes of noise: distributions with mean 0 and scale 1, of which a response has shifted copies.

A shape may have parameters of its own, `own` (P, S), such as degrees of freedom. Standardised
noise is z = (y - output) / scale, (P, N).
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
import torch
from scipy.special import stdtr, stdtrit  # type: ignore[import-untyped]
from torch import Tensor

from pmcnet.bnn.likelihoods.mixture_quantiles import Standard
from pmcnet.bnn.likelihoods.response import Array


class Quantiled(Standard, Protocol):
    """A standard distribution that knows its quantiles."""

    def quantile(self, level: float) -> Tensor:
        """The inverse of `cdf`: (1, 1), or (J, 1) where components differ."""
        ...


class Shape(Protocol):
    """A distribution with mean 0 and scale 1."""

    names: ClassVar[tuple[str, ...]]
    """Of its own parameters."""
    prior: ClassVar[tuple[tuple[float, float], ...]]
    """Mean and standard deviation of the normal prior of each."""

    def log_density(self, z: Tensor, own: Tensor) -> Tensor:
        """Log f(z): (P, N)."""
        ...

    def gradients(self, z: Tensor, own: Tensor) -> tuple[Tensor, Tensor]:
        """Derivatives of `log_density` by z (P, N), and by own parameters (P, N, S)."""
        ...

    def variance(self, own: Tensor) -> Tensor:
        """Of the shape with scale 1: (P,)."""
        ...

    def standard(self, own: Tensor) -> Quantiled:
        """Distribution function, density and quantiles for these parameters."""
        ...

    def draws(self, source: np.random.Generator, shape: tuple[int, int], own: Array) -> Array:
        """Random numbers (P, N)."""
        ...


class Fixed:
    """A shape without parameters."""

    names: ClassVar[tuple[str, ...]] = ()
    prior: ClassVar[tuple[tuple[float, float], ...]] = ()


class Laplace(Fixed):
    """exp(-|z|) / 2."""

    def log_density(self, z: Tensor, own: Tensor) -> Tensor:
        """-|z| - log 2."""
        return -z.abs() - math.log(2)

    def gradients(self, z: Tensor, own: Tensor) -> tuple[Tensor, Tensor]:
        """-sign(z)."""
        return -z.sign(), z.new_empty((*z.shape, 0))

    def variance(self, own: Tensor) -> Tensor:
        """2."""
        return own.new_full((len(own),), 2.0)

    def standard(self, own: Tensor) -> Quantiled:
        """The Laplace distribution."""
        return LaplaceStandard()

    def draws(self, source: np.random.Generator, shape: tuple[int, int], own: Array) -> Array:
        """By the library."""
        return source.laplace(size=shape)


class LaplaceStandard:
    """The Laplace distribution with scale 1."""

    def cdf(self, z: Tensor) -> Tensor:
        """exp(-|z|) / 2 below 0, 1 minus that above."""
        tail = 0.5 * (-z.abs()).exp()
        return torch.where(z < 0, tail, 1 - tail)

    def pdf(self, z: Tensor) -> Tensor:
        """exp(-|z|) / 2."""
        return 0.5 * (-z.abs()).exp()

    def quantile(self, level: float) -> Tensor:
        """log(2 p) below 1/2, -log(2 - 2 p) above."""
        z = math.log(2 * level) if level < 0.5 else -math.log(2 * (1 - level))
        return torch.tensor([[z]], dtype=torch.float64)


LEAST_FREEDOM = 2.0
"""Degrees of freedom lie above it, where the variance is finite."""


class Student:
    """Student's distribution with nu = 2 + exp(own) degrees of freedom.

    The prior has nu at 9.4 in the median, and between 3 and 54 with probability .95: tails from
    heavy to nearly normal.
    """

    names: ClassVar[tuple[str, ...]] = ("log_freedom",)
    prior: ClassVar[tuple[tuple[float, float], ...]] = ((2.0, 1.0),)

    def log_density(self, z: Tensor, own: Tensor) -> Tensor:
        """lgamma((nu + 1) / 2) - lgamma(nu / 2) - log(nu pi) / 2 - (nu + 1) / 2 log1p(z^2 / nu)."""
        nu = _freedom(own)  # (P, 1)
        constant = (0.5 * (nu + 1)).lgamma() - (0.5 * nu).lgamma() - 0.5 * (nu * math.pi).log()
        return constant - 0.5 * (nu + 1) * (z.square() / nu).log1p()

    def gradients(self, z: Tensor, own: Tensor) -> tuple[Tensor, Tensor]:
        """-(nu + 1) z / (nu + z^2), and by nu times d nu / d own = nu - 2."""
        nu, square = _freedom(own), z.square()
        constant = (0.5 * (nu + 1)).digamma() - (0.5 * nu).digamma() - 1 / nu
        by_freedom = 0.5 * (
            constant - (square / nu).log1p() + (nu + 1) / nu * (square / (nu + square))
        )
        return -(nu + 1) * z / (nu + square), ((nu - LEAST_FREEDOM) * by_freedom)[..., None]

    def variance(self, own: Tensor) -> Tensor:
        """nu / (nu - 2)."""
        return 1 + 2 * (-own[:, 0]).exp()

    def standard(self, own: Tensor) -> Quantiled:
        """Student's distribution, another one for each network."""
        return StudentStandard(_freedom(own).double().cpu().numpy())

    def draws(self, source: np.random.Generator, shape: tuple[int, int], own: Array) -> Array:
        """By the library."""
        return source.standard_t(LEAST_FREEDOM + np.exp(own), shape)


def _freedom(own: Tensor) -> Tensor:
    return LEAST_FREEDOM + own[:, :1].exp()


@dataclass(frozen=True, eq=False)
class StudentStandard:
    """Student's distributions with degrees of freedom (J, 1), by SciPy."""

    freedom: Array

    def cdf(self, z: Tensor) -> Tensor:
        """P(T <= z) of each network (J, N)."""
        found = stdtr(self.freedom, z.double().cpu().numpy())
        return torch.as_tensor(found).to(z)

    def pdf(self, z: Tensor) -> Tensor:
        """Density (J, N)."""
        nu = torch.as_tensor(self.freedom).to(z)
        constant = (0.5 * (nu + 1)).lgamma() - (0.5 * nu).lgamma() - 0.5 * (nu * math.pi).log()
        return (constant - 0.5 * (nu + 1) * (z.square() / nu).log1p()).exp()

    def quantile(self, level: float) -> Tensor:
        """The inverse of `cdf` (J, 1)."""
        return torch.as_tensor(stdtrit(self.freedom, level))
