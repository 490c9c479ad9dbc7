"""Counts: Poisson, or negative binomial where they vary more than that.

    E[y] = mu = exposure * exp(centre + spread * output),  exposure 1 unless y has a second column

The network moves log mu by at most `FARTHEST`, so that nothing overflows.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from scipy.special import betainc, gammaincc  # type: ignore[import-untyped]
from torch import Tensor

from pmcnet.bnn.likelihoods.base import (
    POSITIVE,
    Gradients,
    Likelihood,
    NoExtra,
    NormalExtra,
    Stored,
    Task,
    no_extra_gradient,
)
from pmcnet.bnn.likelihoods.count_densities import (
    CountRows,
    OverdispersedRows,
    columns,
    log_negative_binomial,
    log_poisson,
    negative_binomial_gradients,
    residual,
)
from pmcnet.bnn.likelihoods.count_quantiles import count_quantile
from pmcnet.bnn.likelihoods.count_response import COUNTED, CountMoments, check_counts, count_moments
from pmcnet.bnn.likelihoods.response import Array, Response, Units
from pmcnet.errors import InputError
from pmcnet.io.schema import Form, number
from pmcnet.rng import Stream

FARTHEST = 40.0
"""Largest |log(mu / typical mu)|: beyond it a network is as wrong as it can be."""
MOST_LOG_R = 30.0
"""Largest |log r|: r is as good as infinite above, and nearly all counts are 0 below."""
_CENTRES = (-46.0, 46.0)
_SPREADS = (1e-6, 1e3)
_LEAST_R, _MOST_R = 0.1, 100.0  # of the prior, the latter in mean counts
_MOST_DRAWN = 1e12


@dataclass(frozen=True)
class Counts(Stored):
    """What likelihoods of counts share. Uncertainty is variance, predictions have exposure 1.

    An output of 0 stands for the average rate of the data, and a change of 1 for the spread of the
    counts on a logarithmic scale.

    Args:
        centre: log of the mean count per unit of exposure.
        spread: standard deviation of the log-normal distribution with mean and variance of y, as if
            y were the mean of its row. It is at least what Poisson noise gives.
    """

    centre: float = 0.0
    spread: float = 1.0

    task: ClassVar[Task] = "regression"
    n_outputs: ClassVar[int] = 1
    n_classes: ClassVar[int] = 0
    support = COUNTED
    stored_form: ClassVar[Mapping[str, Form]] = {
        "centre": number(*_CENTRES),
        "spread": number(*_SPREADS),
    }

    def __post_init__(self) -> None:
        for name, (least, most) in (("centre", _CENTRES), ("spread", _SPREADS)):
            if not least <= getattr(self, name) <= most:
                raise InputError(
                    f"{name} must lie between {least:g} and {most:g}; got {getattr(self, name)}. "
                    "Give exposure in other units."
                )

    def variance(self, mean: Tensor, extra: Tensor) -> Tensor:
        """Of y, from its mean (P, N)."""
        raise NotImplementedError

    def cdf(self, mean: Array, y: Array, extra: Array) -> Array:
        """P(Y <= y) of counts with means (P, N)."""
        raise NotImplementedError

    @classmethod
    def units(cls, response: Response) -> Units:
        """Counts stay as they are."""
        return Units()

    @classmethod
    def targets(cls, y: Array, units: Units) -> Array:
        """The counts, or counts and exposures, after checking them."""
        check_counts(y, numbered=True)
        return y

    def usable(self, extra: Tensor) -> Tensor:
        """Whether own parameters are finite."""
        return extra.isfinite().all(-1)

    def mean(self, output: Tensor, extra: Tensor) -> Tensor:
        """mu; infinite where the output is."""
        log_rate = self.centre + self._moved(output[..., :1])
        return torch.where(output[..., :1].isfinite(), log_rate.exp(), torch.inf)

    def aleatoric(self, mean: Tensor, output: Tensor, extra: Tensor) -> Tensor:
        """Variance of y (P, N), float64."""
        return self.variance(mean[..., 0].double(), extra)

    def total(self, mean: Tensor, aleatoric: Tensor, variance: Tensor) -> Tensor:
        """Average variance of y plus variance of the mean: the law of total variance."""
        return aleatoric + variance[..., 0]

    def cumulative(self, output: Tensor, y: Tensor, extra: Tensor) -> Tensor:
        """P(Y <= y | output): (P, N)."""
        count, log_exposure = columns(y)
        mean = (self._log_rate(output) + log_exposure).exp()
        return self._cdf(mean, count.double(), extra).to(output)

    def quantiles(
        self, output: Tensor, extra: Tensor, weight: Tensor, levels: Sequence[float]
    ) -> Tensor:
        """The smallest counts that the mixture's distribution function takes to the levels."""
        mean = self._log_rate(output).exp()  # (J, N)

        def cumulative(rows: Tensor, q: Tensor) -> Tensor:
            return self._cdf(mean[:, rows], q, extra)

        variance = self.variance(mean, extra)
        found = [count_quantile(mean, variance, weight, level, cumulative) for level in levels]
        return torch.stack(found, dim=-1)

    def _cdf(self, mean: Tensor, y: Tensor, extra: Tensor) -> Tensor:
        """`cdf` of tensors, 0 below 0."""
        known = self.cdf(*(part.double().cpu().numpy() for part in (mean, y.clamp(min=0), extra)))
        return torch.where(y < 0, 0.0, torch.as_tensor(known).to(mean))

    def _moved(self, output: Tensor) -> Tensor:
        """By how much the output moves log mu."""
        return (self.spread * output).clamp(-FARTHEST, FARTHEST)

    def _log_rate(self, output: Tensor) -> Tensor:
        """Log mu for exposure 1 (P, N), float64."""
        return self.centre + self._moved(output[..., 0].double())

    def _rows(self, output: Tensor, y: Tensor) -> CountRows:
        """As densities need them."""
        return CountRows.of(self._moved(output[..., 0]), self.centre, y)

    def _by_output(self, output: Tensor, by_log_mean: Tensor) -> Tensor:
        """The gradient by the output (P, N, 1), which moves log mu within bounds."""
        free = (self.spread * output).abs() <= FARTHEST
        return torch.where(free, self.spread * by_log_mean[..., None], 0.0)

    @classmethod
    def _seen(cls, response: Response) -> CountMoments:
        """Those of a response, which estimators have put in another order."""
        if response.noise not in ("learn", "auto"):
            raise InputError(
                "the noise of a count follows from its mean: noise must be learn; got "
                f"{response.noise!r:.60}. Leave noise out."
            )
        check_counts(response.y, numbered=False)
        return count_moments(response.y, response.weight)


@dataclass(frozen=True)
class Poisson(NoExtra, Counts):
    """y ~ Poisson(mu)."""

    @classmethod
    def for_response(cls, response: Response, units: Units) -> Likelihood:
        """Centred at the mean count."""
        found = cls._seen(response)
        return cls(found.centre, found.spread)

    def log_prob(self, output: Tensor, y: Tensor, extra: Tensor) -> Tensor:
        """y log mu - mu - log y!."""
        return log_poisson(self._rows(output, y))

    def gradients(self, output: Tensor, y: Tensor, extra: Tensor) -> Gradients:
        """y - mu by log mu."""
        rows = self._rows(output, y)
        log_prob, by_output = log_poisson(rows), self._by_output(output, residual(rows))
        return Gradients(log_prob, by_output, no_extra_gradient(log_prob))

    def variance(self, mean: Tensor, extra: Tensor) -> Tensor:
        """mu."""
        return mean

    def cdf(self, mean: Array, y: Array, extra: Array) -> Array:
        """The regularised gamma function Q(y + 1, mu)."""
        return np.asarray(gammaincc(np.floor(y) + 1, mean))

    def sample(self, output: Tensor, extra: Tensor, source: Stream) -> Tensor:
        """By the library."""
        mean = self._log_rate(output).exp()
        return torch.as_tensor(_draws(source.host, mean.cpu().numpy())).to(mean.device)


@dataclass(frozen=True)
class NegativeBinomial(NormalExtra, Counts):
    """y ~ Poisson(mu g) with g ~ Gamma of mean 1 and variance 1 / r: variance mu + mu^2 / r.

    log r is learned. Its prior goes from r = .1, where most counts are 0, to a hundred times the
    mean count, where the variance is 1.01 mu; two standard deviations reach either end.

    Args:
        centre: as `Counts` has it.
        spread: likewise.
        log_r_mean: mean of the prior of log r; the default is that for a mean count of 1.
        log_r_std: its standard deviation.
    """

    log_r_mean: float = 1.15
    log_r_std: float = 1.73

    extra_names: ClassVar[tuple[str, ...]] = ("log_r",)
    stored_form: ClassVar[Mapping[str, Form]] = {
        **Counts.stored_form,
        "log_r_mean": number(-MOST_LOG_R, MOST_LOG_R),
        "log_r_std": number(POSITIVE, MOST_LOG_R),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (abs(self.log_r_mean) <= MOST_LOG_R and 0 < self.log_r_std <= MOST_LOG_R):
            raise InputError(
                f"log_r_mean must lie within +-{MOST_LOG_R:g} and log_r_std be positive, up to "
                f"{MOST_LOG_R:g}; got {self.log_r_mean}, {self.log_r_std}."
            )

    @classmethod
    def for_response(cls, response: Response, units: Units) -> Likelihood:
        """Centred at the mean count, with its range of overdispersion."""
        found = cls._seen(response)
        least, most = math.log(_LEAST_R), math.log(_MOST_R * max(found.mean, 1.0))
        return cls(found.centre, found.spread, 0.5 * (least + most), 0.25 * (most - least))

    @property
    def extra_prior(self) -> tuple[tuple[float, float], ...]:
        """That of log r."""
        return ((self.log_r_mean, self.log_r_std),)

    def log_prob(self, output: Tensor, y: Tensor, extra: Tensor) -> Tensor:
        """log Gamma(y + r) / (Gamma(r) y!) + r log(r / (r + mu)) + y log(mu / (r + mu))."""
        rows = self._rows(output, y)
        return log_negative_binomial(rows, OverdispersedRows.of(rows, _log_r(extra)))

    def gradients(self, output: Tensor, y: Tensor, extra: Tensor) -> Gradients:
        """By log mu and log r, where these follow the parameters."""
        rows = self._rows(output, y)
        over = OverdispersedRows.of(rows, _log_r(extra))
        by_log_mean, by_log_r = negative_binomial_gradients(rows, over)
        by_extra = torch.where(extra.abs() <= MOST_LOG_R, by_log_r, 0.0)
        log_prob = log_negative_binomial(rows, over)
        return Gradients(log_prob, self._by_output(output, by_log_mean), by_extra[..., None])

    def variance(self, mean: Tensor, extra: Tensor) -> Tensor:
        """mu + mu^2 / r."""
        return mean + mean.square() * (-_log_r(extra.to(mean))).exp()

    def cdf(self, mean: Array, y: Array, extra: Array) -> Array:
        """The regularised beta function I(r, y + 1) at r / (r + mu), from its smaller argument."""
        r, above = np.exp(np.clip(extra, -MOST_LOG_R, MOST_LOG_R)), np.floor(y) + 1
        few = mean < r
        argument = np.where(few, mean, r) / (r + mean)
        found = betainc(np.where(few, above, r), np.where(few, r, above), argument)
        return np.asarray(np.where(few, 1 - found, found))

    def sample(self, output: Tensor, extra: Tensor, source: Stream) -> Tensor:
        """By the library: Poisson counts with a mean from the gamma distribution."""
        mean = self._log_rate(output).exp()
        r = _log_r(extra.double()).exp().cpu().numpy()
        drawn = mean.cpu().numpy() * source.host.standard_gamma(r, tuple(mean.shape)) / r
        return torch.as_tensor(_draws(source.host, drawn)).to(mean.device)


def _log_r(extra: Tensor) -> Tensor:
    """Log r (P, 1)."""
    return extra[:, :1].clamp(-MOST_LOG_R, MOST_LOG_R)


def _draws(source: np.random.Generator, mean: Array) -> Array:
    """Poisson counts; rounded normal numbers, which are nearly the same, where means are vast."""
    usual = mean <= _MOST_DRAWN  # so is not a NaN
    counts = source.poisson(np.where(usual, mean, 0.0)).astype(np.float64)
    if usual.all():
        return counts
    vast = np.rint(mean + np.sqrt(mean) * source.standard_normal(mean.shape))
    return np.where(usual, counts, vast)
