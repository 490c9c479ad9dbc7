"""Targets whose mean, covariance and evidence are known: for tests, examples and benchmarks."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from pmcnet.ais.target import FunctionTarget


class Analytic(NamedTuple):
    """A target with the truth about it: mean (D,), covariance (D, D), log Z."""

    target: FunctionTarget
    mean: Tensor
    covariance: Tensor
    log_evidence: float


def _log_normal(theta: Tensor, mean: Tensor, factor: Tensor) -> Tensor:
    """Log N(theta; mean, L L^T), (n, D) -> (n,), in the points' dtype and on their device."""
    mean, factor = mean.to(theta), factor.to(theta)
    white: Tensor = torch.linalg.solve_triangular(factor, (theta - mean).mT, upper=False)  # (D, n)
    log_det: Tensor = factor.diagonal().log().sum()
    return -0.5 * white.square().sum(0) - log_det - 0.5 * theta.shape[-1] * math.log(2 * math.pi)


def gaussian(mean: Tensor, covariance: Tensor, *, log_evidence: float = 0.0) -> Analytic:
    """exp(log_evidence) N(mean, covariance)."""
    factor = torch.linalg.cholesky(covariance)

    def log_density(theta: Tensor) -> Tensor:
        return _log_normal(theta, mean, factor) + log_evidence

    return Analytic(FunctionTarget(log_density, dim=len(mean)), mean, covariance, log_evidence)


def mixture(means: Tensor, covariances: Tensor, *, log_evidence: float = 0.0) -> Analytic:
    """exp(log_evidence) (1/C) sum_c N(mean_c, covariance_c), of shapes (C, D) and (C, D, D)."""
    factors = torch.linalg.cholesky(covariances)

    def log_density(theta: Tensor) -> Tensor:
        parts = [_log_normal(theta, m, f) for m, f in zip(means, factors, strict=True)]
        return torch.stack(parts).logsumexp(0) - math.log(len(means)) + log_evidence

    mean = means.mean(0)
    spread = means - mean
    covariance = covariances.mean(0) + spread.mT @ spread / len(means)
    return Analytic(FunctionTarget(log_density, dim=means.shape[1]), mean, covariance, log_evidence)


def five_modes() -> Analytic:
    """Five Gaussians in the plane (Elvira et al., Signal Processing 131, 2017)."""
    means = torch.tensor([[-10, -10], [0, 16], [13, 8], [-9, 7], [14, -14]], dtype=torch.float64)
    rows = [(2, 0.6, 1), (2, -0.4, 2), (2, 0.8, 2), (3, 0, 0.5), (2, -0.1, 2)]
    covariances = torch.tensor([[[a, b], [b, c]] for a, b, c in rows], dtype=torch.float64)
    return mixture(means, covariances)


def banana(dim: int, *, bend: float = 3.0) -> Analytic:
    """x_1 ~ N(0, 1), x_2 | x_1 ~ N(-bend (x_1^2 - 1), 1), the others N(0, 1); log Z = 0."""

    def log_density(theta: Tensor) -> Tensor:
        ridge = theta[:, 1] + bend * (theta[:, 0].square() - 1)
        rest = theta[:, 2:].square().sum(-1)
        return -0.5 * (theta[:, 0].square() + ridge.square() + rest + dim * math.log(2 * math.pi))

    covariance = torch.eye(dim, dtype=torch.float64)
    covariance[1, 1] += 2 * bend**2  # Var(x_1^2) = 2
    return Analytic(
        FunctionTarget(log_density, dim=dim), torch.zeros(dim, dtype=torch.float64), covariance, 0.0
    )
