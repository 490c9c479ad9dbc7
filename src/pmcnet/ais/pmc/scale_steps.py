"""Adaptation of covariances: `FixedScale`, `RobustCovariance` or `InverseHessian`.

The covariance half of step 2(d) of Algorithm 1. Each returns the new scale and, for every proposal,
whether its new covariance was rejected (not positive definite, or no draw with weight) and the
previous one kept.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Protocol

import torch
from torch import Tensor

from pmcnet.ais.evaluation import Evaluation
from pmcnet.ais.pmc.schedules import Constant, Harmonic, Schedule
from pmcnet.ais.samples import WeightedSamples
from pmcnet.ais.scale import Diagonal, Full, Scale
from pmcnet.ais.tiling import tile_bytes, tiles


class ScaleStep(Protocol):
    """Adapts M covariances."""

    @property
    def structure(self) -> type[Scale]:
        """`Full` or `Diagonal`: how the proposals' covariances are held."""
        ...

    @property
    def min_draws(self) -> int:
        """The smallest K that this step can work with."""
        ...

    def __call__(
        self,
        scale: Scale,
        samples: WeightedSamples,
        survivors: Tensor,
        target: Evaluation,
        step: int,
    ) -> tuple[Scale, Tensor]:
        """The new scale, and which covariances (M,) were rejected; step t counts from 1."""
        ...


@dataclass(frozen=True)
class FixedScale:
    """Sigma_m = sigma^2 I throughout."""

    structure: type[Scale] = Diagonal
    min_draws = 1

    def __call__(
        self,
        scale: Scale,
        samples: WeightedSamples,
        survivors: Tensor,
        target: Evaluation,
        step: int,
    ) -> tuple[Scale, Tensor]:
        """The previous scale."""
        return scale, torch.zeros(len(survivors), dtype=torch.bool, device=survivors.device)


def clipped(log_weight: Tensor) -> Tensor:
    """Log-weights (M, K) whose ceil(sqrt(K)) largest are cut down to the next largest value.

    The value is the one at index ceil(sqrt(K)) of the descending order, from 0; where fewer weights
    than that are positive, the smallest positive one.
    """
    descending = log_weight.sort(-1, descending=True).values
    n_positive = (log_weight > -torch.inf).sum(-1, keepdim=True)  # (M, 1)
    index = (n_positive - 1).clamp(min=0, max=math.ceil(math.sqrt(log_weight.shape[-1])))
    return log_weight.minimum(descending.gather(-1, index))


@dataclass(frozen=True)
class RobustCovariance:
    """Weighted covariance of each proposal's own draws, blended with one from clipped weights.

    Sigma_m <- (1 - beta_t) Sigma_m + beta_t (1 - eta_t) Sigma^_m + beta_t eta_t Sigma~_m, Eq.
    (13), and Eq. (15) with `structure=Diagonal`. Sigma^ uses the weights as they are,
    Sigma~ the clipped ones.
    """

    structure: type[Scale] = Full
    beta: Schedule = Constant(0.5)
    eta: Schedule = Harmonic()
    min_draws = 2

    def __call__(
        self,
        scale: Scale,
        samples: WeightedSamples,
        survivors: Tensor,
        target: Evaluation,
        step: int,
    ) -> tuple[Scale, Tensor]:
        """A group of proposals at a time, so that temporaries stay within the target's memory."""
        theta, log_weight = samples
        n_proposals, n_draws, dim = theta.shape
        bytes_each = theta.element_size() * (2 * n_draws * dim + 5 * scale.numbers_per_block)
        adapted, rejected = scale.clone(), []
        for group in tiles(n_proposals, bytes_each, tile_bytes(theta.device, target.memory)):
            values, valid = self._blend(scale.take(group), theta[group], log_weight[group], step)
            adapted.put_(group, values, valid)
            rejected.append(~valid)
        return adapted, torch.cat(rejected)

    def _blend(
        self, scale: Scale, theta: Tensor, log_weight: Tensor, step: int
    ) -> tuple[Scale, Tensor]:
        beta, eta = self.beta(step), self.eta(step)
        weight = log_weight.softmax(-1).to(
            theta.dtype
        )  # (M, K); NaN where no draw has weight, which is not valid
        robust = clipped(log_weight).softmax(-1).to(theta.dtype)
        covariance = scale.covariance.mul_(1 - beta)
        covariance.add_(scale.scatter(theta, weight), alpha=beta * (1 - eta))
        covariance.add_(scale.scatter(theta, robust), alpha=beta * eta)
        return scale.from_covariance(covariance)


@dataclass(frozen=True)
class InverseHessian:
    """Sigma_m <- (-H)^-1, H the Hessian of log pi at the survivor: SL-PMC."""

    structure: ClassVar[type[Scale]] = Full
    min_draws = 1

    def __call__(
        self,
        scale: Scale,
        samples: WeightedSamples,
        survivors: Tensor,
        target: Evaluation,
        step: int,
    ) -> tuple[Scale, Tensor]:
        """The previous scale is kept where -H is not positive definite."""
        negative = -target.hessian(survivors)  # (M, D, D)
        precision, regular = Full.from_covariance(0.5 * (negative + negative.mT))
        invertible = Full.isotropic(
            1.0, survivors
        )  # the identity, so that one failure stops no other
        invertible.put_(slice(None), precision, regular)
        values, valid = scale.from_covariance(torch.cholesky_inverse(invertible.factor))
        adapted = scale.clone()
        adapted.put_(slice(None), values, valid & regular)
        return adapted, ~(valid & regular)
