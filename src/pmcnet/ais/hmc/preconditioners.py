"""The covariance that scales moves, learned from the population.

Under pi, E[score score^T] = -E[Hessian of log pi]: the second moment of the score is the average
local curvature, even where the population sits in many modes and its spread says nothing about any
of them.
"""

from dataclasses import dataclass
from typing import Literal, Protocol

import torch
from torch import Tensor

from pmcnet.ais.hmc.inverse_mass import Dense, InverseMass, LowRank
from pmcnet.ais.path import Path, Points
from pmcnet.ais.scale import Diagonal
from pmcnet.ais.tiling import in_groups
from pmcnet.errors import InputError
from pmcnet.rng import Stream, standard_normal

PROBE = 1e-3
"""Relative size of the random displacement by which curvature is first measured."""
MAX_DENSE = 1024
"""Dimensions up to which a dense matrix costs less than the gradients it saves."""
_PRIOR_CURVATURES = 3.0  # squared scores that the mean over coordinates counts for
_FLAT = 1e-20


class Preconditioner(Protocol):
    """A covariance for the moves of each group of particles, learnt from all the others.

    A matrix that a particle's own score has shaped would favour where the particle is: with D of
    the order of P that bias is large. So the population comes in G groups, and each is moved with
    what the others say.
    """

    def __call__(self, points: Points, weight: Tensor, beta: float) -> InverseMass:
        """G covariances, one for each P / G consecutive points."""
        ...


def n_groups(n_particles: int) -> int:
    """G: 8, or what divides an even number of particles."""
    return next(n for n in (8, 4, 2) if n_particles % n == 0)


def grouped(value: Tensor) -> Tensor:
    """(P, ...) -> (G, P / G, ...)."""
    return in_groups(value, n_groups(len(value)))


def _of_others(sums: Tensor) -> Tensor:
    """Sums over each group (G, ...) -> sums over all others, without cancellation."""
    others = 1 - torch.eye(len(sums), dtype=sums.dtype, device=sums.device)
    result: Tensor = torch.tensordot(others, sums, dims=1)
    return result


def _rows_of_others(value: Tensor) -> Tensor:
    """Rows of each group (G, K, D) -> rows of all others (G, (G - 1) K, D)."""
    n = len(value)
    return torch.stack([torch.cat([value[:g], value[g + 1 :]]).flatten(0, 1) for g in range(n)])


def _mean_of_others(value: Tensor, weight: Tensor) -> Tensor:
    """Weighted mean over the other groups: (G, P / G, D), (G, P / G) -> (G, D)."""
    return _of_others((weight[:, None] @ value)[:, 0]) / _of_others(weight.sum(-1))[:, None]


@dataclass(frozen=True)
class Score:
    """The inverse of the score's second moment.

    Args:
        structure: "dense", "diagonal", or "auto": dense up to 1024 dimensions.
        shrinkage: share of the dense matrix that is replaced by its diagonal, s; it grows towards 1
            as particles become few: s + (1 - s) D / (D + P).
    """

    structure: Literal["auto", "dense", "diagonal"] = "auto"
    shrinkage: float = 0.2

    def __post_init__(self) -> None:
        if self.structure not in ("auto", "dense", "diagonal"):
            raise InputError(
                f'structure must be "auto", "dense" or "diagonal"; got {self.structure!r}.'
            )
        if not 0 < self.shrinkage <= 1:
            raise InputError(f"shrinkage must lie in (0, 1]; got {self.shrinkage}.")

    def __call__(self, points: Points, weight: Tensor, beta: float) -> InverseMass:
        """(E[s s^T] shrunk)^-1, or its diagonal version."""
        score = grouped(points.score(beta))  # (G, P / G, D)
        n, dim = points.theta.shape
        weight = grouped(weight.to(score.dtype))
        diagonal = _mean_of_others(score.square(), weight)  # (G, D)
        flat = 1 / _variance(
            points, weight.flatten()
        )  # where the gradient is zero, the spread is the scale
        diagonal = torch.where(diagonal > 0, diagonal, flat)
        if self.structure == "diagonal" or (self.structure == "auto" and dim > MAX_DENSE):
            return Diagonal(diagonal.rsqrt())
        share = self.shrinkage + (1 - self.shrinkage) * dim / (dim + n)
        rooted = score * weight.sqrt()[..., None]
        total = _of_others(weight.sum(-1))  # (G,)
        few = n - score.shape[1]
        mass: InverseMass | None
        if few <= dim // 2:
            sigma = (share * diagonal).rsqrt()
            factor = ((1 - share) / total).sqrt()[:, None] * sigma
            mass = LowRank.of(sigma, _rows_of_others(rooted) * factor[:, None])
        else:
            precision = _of_others(rooted.mT @ rooted) / total[:, None, None]  # (G, D, D)
            precision.mul_(1 - share).diagonal(dim1=-2, dim2=-1).add_(share * diagonal)
            mass = Dense.of(precision)
        return mass or Diagonal(diagonal.rsqrt())


@dataclass(frozen=True)
class Spread:
    """The standard deviation of each coordinate in the population: right for a single mode."""

    def __call__(self, points: Points, weight: Tensor, beta: float) -> InverseMass:
        """sd(theta_d)."""
        return Diagonal(_variance(points, weight).sqrt())


@dataclass(frozen=True)
class Geometric:
    """The geometric mean of spread and score per coordinate: a compromise."""

    def __call__(self, points: Points, weight: Tensor, beta: float) -> InverseMass:
        """sqrt(sd(theta_d) / sqrt(E[s_d^2]))."""
        square = grouped(points.score(beta).square())
        curvature = _mean_of_others(square, grouped(weight.to(square.dtype)))
        return Diagonal((_variance(points, weight) / curvature).pow(0.25))


def _variance(points: Points, weight: Tensor) -> Tensor:
    """Weighted variance of each coordinate in the other groups (G, D), around the mean of all."""
    weight = weight.to(points.theta.dtype)
    square = (points.theta - weight @ points.theta).square()
    return _mean_of_others(grouped(square), grouped(weight))


def hessian_scale(path: Path, points: Points, source: Stream) -> Tensor:
    """1 / sqrt |H_d| (D,), the norm of each row of the Hessian, by a random displacement.

    E |s(theta + e z) - s(theta)|_d^2 = e^2 sum_j H_dj^2 for independent z of mean 0 and variance 1.
    At a mode the score itself says nothing.
    """
    spread = points.theta.square().mean().sqrt().clamp(min=PROBE)
    unit = standard_normal([source], tuple(points.theta.shape), like=points.theta)[0]
    before = points.score(1.0).clone()
    moved = path.at(points.theta + PROBE * spread * unit)
    change = (moved.score(1.0) - before) / (PROBE * spread)
    row = change.square().mean(0).sqrt()  # (D,)
    row = torch.where(row.isfinite() & (row > 0), row, 1.0)
    return (0.5 * (row + row.mean())).rsqrt()


def learned_scale(curvature: Tensor, n_seen: int) -> Tensor:
    """Standard deviations 1 / sqrt(mean squared score) of each coordinate (D,).

    They are shrunk to their geometric mean while few scores were seen.

    Args:
        curvature: mean squared score (D,).
        n_seen: scores that it is the mean of.
    """
    log = curvature.clamp(min=_FLAT).log()
    shrunk = (n_seen * log + _PRIOR_CURVATURES * log.mean()) / (n_seen + _PRIOR_CURVATURES)
    return torch.exp(-0.5 * shrunk)
