"""How long each direction is, learnt from the population: the covariance that moves are scaled with.

Under pi, E[score score^T] = -E[Hessian of log pi]: the second moment of the score is the average local curvature, even
where the population sits in many modes and its spread says nothing about any of them.
"""

from dataclasses import dataclass
from typing import Literal, Protocol

import torch
from torch import Tensor

from pmcnet.ais.path import Points
from pmcnet.ais.scale import Diagonal, Full, Scale
from pmcnet.errors import InputError

MAX_DENSE = 1024
"""Dimensions up to which a dense matrix costs less than the gradients it saves."""


class Preconditioner(Protocol):
    """A covariance for the moves of each group of particles, learnt from the others.

    A matrix that a particle's own score has shaped would favour where the particle is: with D of the order of P that
    bias is large. So the population comes in two halves, and each is moved with what the other one says.
    """

    def __call__(self, points: Points, weight: Tensor, temperature: float) -> Scale:
        """P points with weights (P,) -> the square roots of two covariances (M = 2), for the first and second half."""
        ...


def swapped(value: Tensor) -> Tensor:
    """Values (P, ...) of the two halves, exchanged: (2, P / 2, ...)."""
    return value.reshape(2, -1, *value.shape[1:]).flip(0)


def _normalised(weight: Tensor, like: Tensor) -> Tensor:
    """Weights of each half, exchanged, that sum to 1 in each: (2, P / 2)."""
    other = swapped(weight)
    return (other / other.sum(-1, keepdim=True)).to(like.dtype)


def _second_moment(score: Tensor, weight: Tensor) -> Tensor:
    """Weighted mean of the squared score, coordinate by coordinate: (2, P / 2, D) -> (2, D)."""
    return (weight[:, None] @ score.square())[:, 0]


@dataclass(frozen=True)
class Score:
    """The inverse of the score's second moment.

    Args:
        structure: "dense", "diagonal", or "auto": dense up to 1024 dimensions.
        shrinkage: share of the dense matrix that is replaced by its diagonal; it grows towards 1 as particles become
            few: shrinkage + (1 - shrinkage) D / (D + P).
    """

    structure: Literal["auto", "dense", "diagonal"] = "auto"
    shrinkage: float = 0.1

    def __post_init__(self) -> None:
        if self.structure not in ("auto", "dense", "diagonal"):
            raise InputError(f'structure must be "auto", "dense" or "diagonal"; got {self.structure!r}.')
        if not 0 < self.shrinkage <= 1:
            raise InputError(f"shrinkage must lie in (0, 1]; got {self.shrinkage}.")

    def __call__(self, points: Points, weight: Tensor, temperature: float) -> Scale:
        """(E[s s^T] shrunk)^-1, or its diagonal version."""
        score = swapped(points.score(temperature))  # (2, P / 2, D)
        n, dim = points.theta.shape
        weight = _normalised(weight, score)
        diagonal = _second_moment(score, weight)  # (2, D)
        if self.structure == "diagonal" or (self.structure == "auto" and dim > MAX_DENSE):
            return Diagonal(diagonal.rsqrt())
        share = self.shrinkage + (1 - self.shrinkage) * dim / (dim + n)
        rooted = score * weight.sqrt()[..., None]
        precision = (1 - share) * (rooted.mT @ rooted)  # (2, D, D)
        precision.diagonal(dim1=-2, dim2=-1).add_(share * diagonal)
        scale, valid = Full.from_covariance(torch.linalg.inv(precision))
        return scale if bool(valid.all()) else Diagonal(diagonal.rsqrt())


@dataclass(frozen=True)
class Spread:
    """The standard deviation of each coordinate in the population: right where there is one mode."""

    def __call__(self, points: Points, weight: Tensor, temperature: float) -> Scale:
        """sd(theta_d)."""
        return Diagonal(_variance(points, weight).sqrt())


@dataclass(frozen=True)
class Geometric:
    """The geometric mean of spread and score, coordinate by coordinate: a middle where neither is right."""

    def __call__(self, points: Points, weight: Tensor, temperature: float) -> Scale:
        """sqrt(sd(theta_d) / sqrt(E[s_d^2]))."""
        score = swapped(points.score(temperature))
        curvature = _second_moment(score, _normalised(weight, score))
        return Diagonal((_variance(points, weight) / curvature).pow(0.25))


def _variance(points: Points, weight: Tensor) -> Tensor:
    """Weighted variance of each coordinate in the other half (2, D)."""
    theta = swapped(points.theta)
    return Diagonal.scatter(theta, _normalised(weight, theta))
