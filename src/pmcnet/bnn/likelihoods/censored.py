"""Times until an event, of which some are known to be late only: right-censored times.

    log T = centre + spread (output + sigma z),  z from a shape of `log_shapes`,

an accelerated failure time model with log sigma learned. A response is (N, 2): the time, and 1
where the event was observed then or 0 where it came later; times (N,) were all observed. Data are
as `targets` gives them: log times, and the second column. An observed row adds the log-density of T
and a censored one log P(T > time), so times keep their units: a density has some, and a probability
has none.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from pmcnet.bnn.likelihoods.base import Gradients, Likelihood
from pmcnet.bnn.likelihoods.log_shapes import Logistic, SmallestExtreme, TimeShape
from pmcnet.bnn.likelihoods.positive import LogNoise, checked_spread, logarithms
from pmcnet.bnn.likelihoods.response import Array, Response, Units
from pmcnet.bnn.likelihoods.typical_time import typical_time
from pmcnet.errors import InputError
from pmcnet.io.schema import Form, number
from pmcnet.rng import Stream

_FARTHEST = 500.0
"""Of the centre from 0: exponentials stay in double precision."""


@dataclass(frozen=True)
class CensoredTimes(LogNoise):
    """What the members share."""

    centre: float = 0.0

    shape: ClassVar[TimeShape]
    by_row: ClassVar[bool] = False
    stored_form: ClassVar[Mapping[str, Form]] = {
        **LogNoise.stored_form,
        "centre": number(-_FARTHEST, _FARTHEST),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if not abs(self.centre) <= _FARTHEST:
            raise InputError(
                f"centre must lie within +-{_FARTHEST:g}; got {self.centre}. Give times in other "
                "units."
            )

    @classmethod
    def units(cls, response: Response) -> Units:
        """Times keep their units."""
        return Units()

    @classmethod
    def targets(cls, y: Array, units: Units) -> Array:
        """Logarithms of times, and the second column if there is one."""
        remedy = "Drop it, or count time from an earlier start"
        if y.ndim == 1:
            return logarithms(y, "time", remedy)
        log_time, event = logarithms(y[:, 0], "time", remedy), y[:, 1]
        known = (event == 0) | (event == 1)
        if not known.all():
            row = int(known.argmin())
            raise InputError(
                "event must be 1 where it was observed, or 0 where the row is censored; got "
                f"{event[row]:g} in row {row + 1}. Give y as two columns, time and event."
            )
        return np.column_stack([log_time, event])

    @classmethod
    def responses(cls, targets: Array, units: Units) -> Array:
        """Times, and the second column if there is one."""
        if targets.ndim == 1:
            return np.asarray(np.exp(targets))
        return np.column_stack([np.exp(targets[:, 0]), targets[:, 1]])

    @classmethod
    def for_response(cls, response: Response, units: Units) -> Likelihood:
        """With the centre and the spread of times that are typical, whatever the inputs."""
        if response.noise != "learn":
            raise InputError(
                f"{cls.__name__} learns one scale: noise must be learn; got "
                f"{response.noise!r:.60}. Leave noise out."
            )
        data = cls.targets(response.y, units)
        if data.ndim == 2 and not data[:, 1].any():
            raise InputError(
                "no event was observed: every row is censored. Give rows with event 1."
            )
        centre, scale = typical_time(cls(log_sigma_mean=0.0, log_sigma_std=1.0), data, response)
        deviation = float(cls.shape.variance(torch.zeros(1, 0, dtype=torch.float64))[0]) ** 0.5
        return cls(spread=checked_spread(scale * deviation), centre=centre)

    def log_prob(self, output: Tensor, y: Tensor, extra: Tensor) -> Tensor:
        """Log-density of T (see `LogNoise`), or log S(z) of rows that are censored."""
        log_time = y if y.ndim == 1 else y[:, 0]
        density = super().log_prob(output, log_time - self.centre, extra) - self.centre
        if y.ndim == 1:
            return density
        late = self.shape.log_survival(self._z(output, log_time, extra))
        return torch.where(y[:, 1] > 0, density, late)

    def gradients(self, output: Tensor, y: Tensor, extra: Tensor) -> Gradients:
        """Of censored rows h(z) / sigma by the output and z h(z) by log sigma, h the hazard."""
        log_time = y if y.ndim == 1 else y[:, 0]
        found = super().gradients(output, log_time - self.centre, extra)
        found = found._replace(log_prob=found.log_prob - self.centre)
        if y.ndim == 1:
            return found
        observed, z = y[:, 1] > 0, self._z(output, log_time, extra)
        hazard = self.shape.hazard(z)
        by_mean = hazard * (-self.log_scale(output, extra)).exp()
        late = self.gradients_by(output, extra, self.shape.log_survival(z), by_mean, z * hazard)
        return Gradients(
            torch.where(observed, found.log_prob, late.log_prob),
            torch.where(observed[:, None], found.output, late.output),
            torch.where(observed[:, None], found.extra, late.extra),
        )

    def mean(self, output: Tensor, extra: Tensor) -> Tensor:
        """exp(centre + spread output) E[e^(s z)]: (P, N, 1), float64."""
        return math.exp(self.centre) * super().mean(output, extra)

    def cumulative(self, output: Tensor, y: Tensor, extra: Tensor) -> Tensor:
        """P(log T <= y | output): (P, N)."""
        return super().cumulative(output, y - self.centre, extra)

    def sample(self, output: Tensor, extra: Tensor, source: Stream) -> Tensor:
        """Times of events, none censored."""
        return math.exp(self.centre) * super().sample(output, extra, source)

    def quantiles(
        self, output: Tensor, extra: Tensor, weight: Tensor, levels: Sequence[float]
    ) -> Tensor:
        """Of times of events."""
        return math.exp(self.centre) * super().quantiles(output, extra, weight, levels)

    def _z(self, output: Tensor, log_time: Tensor, extra: Tensor) -> Tensor:
        """Standardised logarithms of times (P, N)."""
        residual = (log_time - self.centre) / self.spread - output[..., 0]
        return residual * (-self.log_scale(output, extra)).exp()


@dataclass(frozen=True)
class CensoredWeibull(CensoredTimes):
    """T is Weibull with scale exp(centre + spread output) and exponent 1 / (spread sigma)."""

    shape: ClassVar[TimeShape] = SmallestExtreme()


LARGEST_LOGISTIC = 0.5
"""Scale of log T from which log-logistic times have no variance."""


@dataclass(frozen=True)
class CensoredLogLogistic(CensoredTimes):
    """T is log-logistic with median exp(centre + spread output) and exponent 1 / (spread sigma).

    The scale of log T is kept below 1/2, where T has a variance. With u the own parameter

        spread sigma = x / (1 + 2 x),  x = spread e^u.

    The noise of log T then has a standard deviation below 0.91, a factor of 2.5. Where times vary
    more, `CensoredWeibull` fits: it has all moments and no bound.
    """

    shape: ClassVar[TimeShape] = Logistic()

    def log_scale(self, output: Tensor, extra: Tensor) -> Tensor:
        """Log sigma = u - log(1 + 2 x): (P, 1)."""
        return extra[:, :1] + F.logsigmoid(-self._log_ratio(extra))

    def gradients(self, output: Tensor, y: Tensor, extra: Tensor) -> Gradients:
        """Those by u are 1 / (1 + 2 x), d log sigma / du, times those by log sigma."""
        found = super().gradients(output, y, extra)
        by_own = (-self._log_ratio(extra)).sigmoid()  # (P, 1)
        return found._replace(extra=found.extra * by_own[:, :, None])

    def _log_ratio(self, extra: Tensor) -> Tensor:
        """Log of 2 x (P, 1)."""
        return extra[:, :1] + math.log(self.spread / LARGEST_LOGISTIC)
