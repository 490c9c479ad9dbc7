"""Positive responses: the logarithm of y is the network's output plus noise.

    log(y / g) = spread (output_0 + sigma z),  z from a shape of `log_shapes`,

with g the scale of the units and log sigma learned or by row. Data are log(y / g), as `targets`
gives them; densities are those of y / g. Means and variances of y are exact for each network. Over
all networks they are averages of exponentials: with few rows, where the posterior of log sigma is
wide, they depend on its tail, and quantiles say more.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from torch import Tensor

from pmcnet.bnn.likelihoods.base import (
    LARGEST_SCALE,
    POSITIVE,
    Gradients,
    LearnedScale,
    Likelihood,
    check_scale,
)
from pmcnet.bnn.likelihoods.log_shapes import LogShape, Normal
from pmcnet.bnn.likelihoods.response import Array, Response, Units
from pmcnet.bnn.likelihoods.row_scale import RowScale
from pmcnet.bnn.likelihoods.shaped_noise import ShapedNoise
from pmcnet.bnn.likelihoods.support import Support
from pmcnet.errors import InputError
from pmcnet.io.schema import Form, number
from pmcnet.rng import Stream

WIDEST_SPREAD = 10.0
"""Largest standard deviation of log y: with it y goes from e^-20 to e^20, and its mean is its top.
"""


@dataclass(frozen=True)
class LogNoise(ShapedNoise):
    """What the members share."""

    spread: float = 1.0

    shape: ClassVar[LogShape]
    support: ClassVar[Support] = Support(least=0)
    stored_form: ClassVar[Mapping[str, Form]] = {
        **LearnedScale.stored_form,
        "spread": number(POSITIVE, LARGEST_SCALE),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        check_scale("spread", self.spread)

    @classmethod
    def units(cls, response: Response) -> Units:
        """The geometric mean of y."""
        return Units(0.0, math.exp(np.average(logarithms(response.y), weights=response.weight)))

    @classmethod
    def targets(cls, y: Array, units: Units) -> Array:
        """Logarithms in the network's units."""
        return logarithms(y) - math.log(units.scale)

    @classmethod
    def responses(cls, targets: Array, units: Units) -> Array:
        """Exponentials in units of y."""
        return np.asarray(np.exp(targets) * units.scale)

    def log_prob(self, output: Tensor, y: Tensor, extra: Tensor) -> Tensor:
        """Log f((y / spread - output) / sigma) - log sigma - log spread - y, where y is a log."""
        found = super().log_prob(output, y / self.spread, extra)
        return found - (y + math.log(self.spread))

    def gradients(self, output: Tensor, y: Tensor, extra: Tensor) -> Gradients:
        """Those of the noise."""
        found = super().gradients(output, y / self.spread, extra)
        return found._replace(log_prob=found.log_prob - (y + math.log(self.spread)))

    def scale_of_log(self, output: Tensor, extra: Tensor) -> Tensor:
        """s, the scale of the noise of log y: (P, 1) or (P, N), float64."""
        return self.spread * self.log_scale(output, extra).double().exp()

    def usable(self, extra: Tensor) -> Tensor:
        """Whether y of a typical row has a finite variance, and not 0."""
        typical = extra.new_zeros(len(extra), 1, self.n_outputs)
        variance = self.shape.relative_variance(self.scale_of_log(typical, extra))[:, 0]
        return variance.isfinite() & (variance > 0)

    def mean(self, output: Tensor, extra: Tensor) -> Tensor:
        """exp(spread output_0) E[e^(s z)]: (P, N, 1), float64."""
        log_mean = self.shape.log_mean(self.scale_of_log(output, extra))
        return (self.spread * output[..., 0].double() + log_mean).exp()[..., None]

    def aleatoric(self, mean: Tensor, output: Tensor, extra: Tensor) -> Tensor:
        """The squared mean times the relative variance: (P, N), float64."""
        relative = self.shape.relative_variance(self.scale_of_log(output, extra))
        return mean[..., 0].double().square() * relative

    def cumulative(self, output: Tensor, y: Tensor, extra: Tensor) -> Tensor:
        """P(log Y <= y | output): (P, N)."""
        return super().cumulative(output, y / self.spread, extra)

    def sample(self, output: Tensor, extra: Tensor, source: Stream) -> Tensor:
        """The exponential of draws of the logarithm."""
        return (self.spread * super().sample(output, extra, source)).exp()

    def quantiles(
        self, output: Tensor, extra: Tensor, weight: Tensor, levels: Sequence[float]
    ) -> Tensor:
        """The exponential of those of the logarithm, of which it is an increasing function."""
        return (self.spread * super().quantiles(output, extra, weight, levels).double()).exp()


@dataclass(frozen=True)
class LogNormal(LogNoise):
    """log(y / g) ~ N(spread output, (spread sigma)^2), with log sigma learned."""

    shape: ClassVar[LogShape] = Normal()

    @classmethod
    def for_response(cls, response: Response, units: Units) -> Likelihood:
        """With one scale, or with one by row."""
        z = cls.targets(response.y, units)
        spread = _spread(z, response.weight)
        return cls._chosen(
            response, z / spread, LogNormal(spread=spread), RowLogNormal(spread=spread)
        )


@dataclass(frozen=True)
class RowLogNormal(RowScale, LogNormal):
    """`LogNormal` with sigma of each row from the network's second output."""

    stored_form: ClassVar[Mapping[str, Form]] = {**LogNoise.stored_form, **RowScale.stored_form}


def logarithms(
    y: Array,
    what: str = "y",
    remedy: str = "Use likelihood gaussian, or where y is never negative add a small amount to it",
) -> Array:
    """log y (N,), refused where there is none."""
    if not (y > 0).all():
        row = int((y > 0).argmin())
        raise InputError(f"{what} must be positive; got {y[row]:g} in row {row + 1}. {remedy}.")
    if y.max() > LARGEST_SCALE or y.min() < 1 / LARGEST_SCALE:
        raise InputError(
            f"{what} must lie between {1 / LARGEST_SCALE:g} and {LARGEST_SCALE:g}; it goes from "
            f"{y.min():g} to {y.max():g}. Give it in other units."
        )
    return np.asarray(np.log(y))


def checked_spread(spread: float) -> float:
    """The same, if it is not too wide."""
    if spread > WIDEST_SPREAD:
        raise InputError(
            f"the logarithm of y has standard deviation {spread:.3g}; it must be at most "
            f"{WIDEST_SPREAD:g}. Fit log(y) with likelihood gaussian."
        )
    return spread


def _spread(log_y: Array, weight: Array) -> float:
    """Standard deviation of values with mean 0; 1 where they are all the same."""
    if log_y.min() == log_y.max():
        return 1.0
    return checked_spread(float(np.sqrt(np.average(np.square(log_y), weights=weight))))
