"""Likelihoods with other tails than the Gaussian's: Student's t and Laplace noise.

    y = output_0 + sigma z,  z from a shape of `noise_shapes`,  log sigma learned or by row.

With f the shape's density, log p = log f(z) - log sigma. Its derivatives are -(log f)'(z) / sigma
by the output and -z (log f)'(z) - 1 by log sigma.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor

from pmcnet.bnn.likelihoods.base import Gradients, LearnedScale, Likelihood, column
from pmcnet.bnn.likelihoods.location_scale import Regression
from pmcnet.bnn.likelihoods.mixture_quantiles import mixture_quantile
from pmcnet.bnn.likelihoods.noise_shapes import Laplace, Shape, Student
from pmcnet.bnn.likelihoods.response import Array, Response, Units
from pmcnet.bnn.likelihoods.row_scale import RowScale, rounding_floor
from pmcnet.errors import InputError
from pmcnet.rng import Stream


class ShapedNoise(LearnedScale, Regression):
    """What the members share. Own parameters are log sigma and then the shape's."""

    shape: ClassVar[Shape]
    by_row: ClassVar[bool] = True

    @property
    def extra_names(self) -> tuple[str, ...]:  # type: ignore[override]
        """log sigma, and the shape's."""
        return (*LearnedScale.extra_names, *self.shape.names)

    @property
    def extra_prior(self) -> tuple[tuple[float, float], ...]:
        """Of log sigma, and of the shape's parameters."""
        return (*super().extra_prior, *self.shape.prior)

    def log_scale(self, output: Tensor, extra: Tensor) -> Tensor:
        """Log sigma: (P, 1)."""
        return extra[:, :1]

    def gradients_by(
        self, output: Tensor, extra: Tensor, log_prob: Tensor, by_mean: Tensor, by_log_scale: Tensor
    ) -> Gradients:
        """From the derivatives of each row by the mean and by log sigma (P, N)."""
        return Gradients(log_prob, by_mean[..., None], by_log_scale[..., None])

    def log_prob(self, output: Tensor, y: Tensor, extra: Tensor) -> Tensor:
        """Log f(z) - log sigma."""
        log_sigma, own = self.log_scale(output, extra), extra[:, 1:]
        z = (y - column(output, y)) * (-log_sigma).exp()
        return self.shape.log_density(z, own) - log_sigma

    def gradients(self, output: Tensor, y: Tensor, extra: Tensor) -> Gradients:
        """Those at the top of this file."""
        log_sigma, own = self.log_scale(output, extra), extra[:, 1:]
        inverse = (-log_sigma).exp()
        z = (y - column(output, y)) * inverse  # (P, N)
        by_z, by_own = self.shape.gradients(z, own)
        log_prob = self.shape.log_density(z, own) - log_sigma
        found = self.gradients_by(output, extra, log_prob, -by_z * inverse, -z * by_z - 1)
        return found._replace(extra=torch.cat([found.extra, by_own], -1))

    def noise_variance(self, extra: Tensor) -> Tensor:
        """sigma^2 times the variance of the shape; by row that of a typical one."""
        typical = extra.new_zeros(len(extra), 1, self.n_outputs)
        return self.deviation(typical, extra)[:, 0].square()

    def deviation(self, output: Tensor, extra: Tensor) -> Tensor:
        """Standard deviation of the noise."""
        scale = self.log_scale(output, extra).exp()
        return scale * self.shape.variance(extra[:, 1:]).sqrt()[:, None]

    def aleatoric(self, mean: Tensor, output: Tensor, extra: Tensor) -> Tensor:
        """The noise variance."""
        return self.deviation(output, extra).square()

    def cumulative(self, output: Tensor, y: Tensor, extra: Tensor) -> Tensor:
        """P(Y <= y | output): (P, N)."""
        z = (y - output[..., 0]) / self.log_scale(output, extra).exp()
        return self.shape.standard(extra[:, 1:]).cdf(z)

    def sample(self, output: Tensor, extra: Tensor, source: Stream) -> Tensor:
        """The output plus noise."""
        mean = output[..., 0].double()
        own = extra[:, 1:].double().cpu().numpy()
        z = torch.as_tensor(self.shape.draws(source.host, (mean.shape[0], mean.shape[1]), own))
        return mean + self.log_scale(output, extra).double().exp() * z.to(mean.device)

    def quantiles(
        self, output: Tensor, extra: Tensor, weight: Tensor, levels: Sequence[float]
    ) -> Tensor:
        """Those of the mixture of shifted and scaled shapes."""
        standard = self.shape.standard(extra[:, 1:])
        scale = self.log_scale(output, extra).exp()
        parts = (output[..., 0], scale, weight.to(output.dtype))
        found = [
            mixture_quantile(*parts, level, standard.quantile(level), standard) for level in levels
        ]
        return torch.stack(found, dim=-1)

    @classmethod
    def _chosen(
        cls, response: Response, z: Array, common: Likelihood, by_row: RowScale
    ) -> Likelihood:
        """The member for a response: with one scale or, where it is asked for, one by row.

        Args:
            response: says which.
            z: what the network predicts, in its units.
            common: the member with one scale.
            by_row: the other one, before it has a floor.
        """
        if response.noise not in ("learn", "by-row"):
            raise InputError(
                f"{cls.__name__} learns its scale: noise must be learn or by-row; got "
                f"{response.noise!r:.60}. Give noise with likelihood gaussian."
            )
        if response.noise != "by-row":
            return common
        floored: Any = replace(by_row, floor=rounding_floor(z))
        found: Likelihood = floored
        return found


@dataclass(frozen=True)
class StudentT(ShapedNoise):
    """y = output + sigma t, with log sigma and the degrees of freedom learned."""

    shape: ClassVar[Shape] = Student()

    @classmethod
    def for_response(cls, response: Response, units: Units) -> Likelihood:
        """With one scale, or with one by row."""
        return cls._chosen(response, units.to_network(response.y), StudentT(), RowStudentT())


@dataclass(frozen=True)
class RowStudentT(RowScale, StudentT):
    """`StudentT` with sigma of each row from the network's second output."""


@dataclass(frozen=True)
class LaplaceNoise(ShapedNoise):
    """y = output + sigma z with density exp(-|z|) / 2: the output is the median's best guess."""

    shape: ClassVar[Shape] = Laplace()

    @classmethod
    def for_response(cls, response: Response, units: Units) -> Likelihood:
        """With one scale, or with one by row."""
        return cls._chosen(
            response, units.to_network(response.y), LaplaceNoise(), RowLaplaceNoise()
        )


@dataclass(frozen=True)
class RowLaplaceNoise(RowScale, LaplaceNoise):
    """`LaplaceNoise` with sigma of each row from the network's second output."""
