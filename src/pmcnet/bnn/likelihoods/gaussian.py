"""What the network's output says about the data: log-likelihoods with all their constants (METHOD, section 1).

A likelihood may bring parameters of its own (a noise scale); they follow the network's in the flat
vector. Outputs are (P, N, C): P networks, N rows. Classes are predicted as probabilities (P, N,
n_classes), two for binary.
"""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

import torch
from torch import Tensor

from pmcnet.errors import InputError

Task = Literal["regression", "classification"]
LARGEST_SCALE = 1e100
"""Scales of the noise beyond this, or below its inverse, are refused: their squares would leave double precision."""


class Slopes(NamedTuple):
    """Log p of each row (P, N), its derivatives by output (P, N, C) and by own parameters (P, N, E)."""

    log_prob: Tensor
    output: Tensor
    extra: Tensor


class Likelihood(Protocol):
    """p(y | network output)."""

    task: Task

    @property
    def n_outputs(self) -> int:
        """C, what the network must return per row."""
        ...

    @property
    def n_extra(self) -> int:
        """Parameters of the likelihood itself."""
        ...

    def log_prob(self, output: Tensor, y: Tensor, extra: Tensor) -> Tensor:
        """Outputs (P, N, C), data (N,) and own parameters (P, n_extra) -> log p of each row (P, N)."""
        ...

    def slopes(self, output: Tensor, y: Tensor, extra: Tensor) -> Slopes:
        """`log_prob` with its derivatives."""
        ...

    def log_prior(self, extra: Tensor) -> Tensor:
        """Log-density of the own parameters (P, n_extra) -> (P,)."""
        ...

    def prior_slope(self, extra: Tensor) -> Tensor:
        """The gradient of `log_prior` (P, n_extra)."""
        ...

    def from_normal(self, noise: Tensor) -> Tensor:
        """Own parameters drawn from their prior, from standard normal noise (..., n_extra)."""
        ...

    def mean(self, output: Tensor) -> Tensor:
        """E[y | output]: (P, N, 1) for regression, probabilities (P, N, n_classes) for classes."""
        ...

    def aleatoric(self, mean: Tensor, extra: Tensor) -> Tensor:
        """Uncertainty of y that each network itself states, (P, N, C) -> (P, N): noise variance, or entropy."""
        ...

    def total(self, mean: Tensor, aleatoric: Tensor, variance: Tensor) -> Tensor:
        """Uncertainty of y under the average of networks (N,), from its mean and variance (N, C)."""
        ...


def no_extra_slope(log_prob: Tensor) -> Tensor:
    """The derivative by own parameters where there are none: (P, N, 0)."""
    return log_prob.new_empty((*log_prob.shape, 0))


def column(output: Tensor, y: Tensor) -> Tensor:
    """Outputs (P, N, 1) as (P, N), after checking that targets are (N,)."""
    if y.ndim != 1:
        raise InputError(f"y must be one number per row, (n_rows,); got {tuple(y.shape)}.")
    return output[..., 0]


class NoExtra:
    """A likelihood without parameters of its own."""

    n_extra = 0

    def log_prior(self, extra: Tensor) -> Tensor:
        """0: there is nothing to have a density."""
        return extra.new_zeros(extra.shape[:-1])

    def prior_slope(self, extra: Tensor) -> Tensor:
        """Nothing."""
        return extra

    def from_normal(self, noise: Tensor) -> Tensor:
        """Nothing, from nothing."""
        return noise


def _check_scale(name: str, value: float) -> None:
    """Raise unless a scale and its square are positive finite numbers."""
    if not 1 / LARGEST_SCALE <= value <= LARGEST_SCALE:
        raise InputError(
            f"{name} must be a positive finite number from {1 / LARGEST_SCALE:g} to "
            f"{LARGEST_SCALE:g}; got {value}. "
            "Scale the response."
        )


class Regression:
    """What regressions share: they predict the output itself; uncertainty is variance, by the law of total variance."""

    task: Task = "regression"
    n_outputs = 1

    def noise_variance(self, extra: Tensor) -> Tensor:
        """Variance of y around the output, for each network (P,)."""
        raise NotImplementedError

    def cdf(self, z: Tensor) -> Tensor:
        """P(y <= output + z standard deviations)."""
        probability: Tensor = torch.special.ndtr(z)
        return probability

    def pdf(self, z: Tensor) -> Tensor:
        """The derivative of `cdf`."""
        return (-0.5 * z.square()).exp() * (1 / math.sqrt(2 * math.pi))

    def mean(self, output: Tensor) -> Tensor:
        """The output."""
        return output

    def aleatoric(self, mean: Tensor, extra: Tensor) -> Tensor:
        """The noise variance, the same for every row."""
        return self.noise_variance(extra)[:, None].expand(mean.shape[:-1])

    def total(self, mean: Tensor, aleatoric: Tensor, variance: Tensor) -> Tensor:
        """Average noise variance plus variance of the mean."""
        return aleatoric + variance[..., 0]


@dataclass(frozen=True)
class Gaussian(NoExtra, Regression):
    """y ~ N(output, sigma^2) with a given standard deviation."""

    sigma: float

    def __post_init__(self) -> None:
        _check_scale("sigma", self.sigma)

    def log_prob(self, output: Tensor, y: Tensor, extra: Tensor) -> Tensor:
        """-(y - output)^2 / (2 sigma^2) - log(2 pi sigma^2) / 2."""
        residual = (y - column(output, y)) / self.sigma
        return -0.5 * residual.square() - math.log(self.sigma) - 0.5 * math.log(2 * math.pi)

    def slopes(self, output: Tensor, y: Tensor, extra: Tensor) -> Slopes:
        """(y - output) / sigma^2."""
        log_prob = self.log_prob(output, y, extra)
        residual = y - column(output, y)
        return Slopes(log_prob, (residual / self.sigma**2)[..., None], no_extra_slope(log_prob))

    def noise_variance(self, extra: Tensor) -> Tensor:
        """sigma^2."""
        return extra.new_full(extra.shape[:-1], self.sigma**2)


@dataclass(frozen=True)
class LearnedGaussian(Regression):
    """y ~ N(output, sigma^2) with log sigma one more parameter, log sigma ~ N(log_sigma_mean, log_sigma_std^2)."""

    log_sigma_mean: float = -2.0
    log_sigma_std: float = 1.0
    n_extra = 1

    def __post_init__(self) -> None:
        if not 0 < self.log_sigma_std < math.inf:
            raise InputError(
                f"log_sigma_std must be a positive finite number; got {self.log_sigma_std}."
            )

    def log_prob(self, output: Tensor, y: Tensor, extra: Tensor) -> Tensor:
        """-(y - output)^2 / (2 sigma^2) - log sigma - log(2 pi) / 2."""
        residual = (y - column(output, y)) * (-extra).exp()
        return -0.5 * residual.square() - extra - 0.5 * math.log(2 * math.pi)

    def slopes(self, output: Tensor, y: Tensor, extra: Tensor) -> Slopes:
        """(y - output) / sigma^2, and (y - output)^2 / sigma^2 - 1 by log sigma."""
        inverse = (-extra).exp()  # (P, 1)
        residual = (y - column(output, y)) * inverse  # (P, N)
        square = residual.square()
        log_prob = -0.5 * square - extra - 0.5 * math.log(2 * math.pi)
        return Slopes(log_prob, (residual * inverse)[..., None], (square - 1)[..., None])

    def log_prior(self, extra: Tensor) -> Tensor:
        """Normal log-density of log sigma."""
        z = (extra[..., 0] - self.log_sigma_mean) / self.log_sigma_std
        return -0.5 * z.square() - math.log(self.log_sigma_std) - 0.5 * math.log(2 * math.pi)

    def prior_slope(self, extra: Tensor) -> Tensor:
        """-(log sigma - log_sigma_mean) / log_sigma_std^2."""
        return (self.log_sigma_mean - extra) / self.log_sigma_std**2

    def from_normal(self, noise: Tensor) -> Tensor:
        """log_sigma_mean + log_sigma_std z."""
        return self.log_sigma_mean + self.log_sigma_std * noise

    def noise_variance(self, extra: Tensor) -> Tensor:
        """exp(2 log sigma)."""
        return (2 * extra[..., 0]).exp()


@dataclass(frozen=True)
class GeneralisedGaussian(NoExtra, Regression):
    """p(y) proportional to exp(-(|y - output| / alpha)^rho): rho = 2 Gaussian, rho = 1 Laplace, less more robust."""

    alpha: float
    rho: float = 1.0

    def __post_init__(self) -> None:
        _check_scale("alpha", self.alpha)
        if not 0 < self.rho <= 2:
            raise InputError(f"rho must lie in (0, 2]; got {self.rho}.")

    def log_prob(self, output: Tensor, y: Tensor, extra: Tensor) -> Tensor:
        """-(|y - output| / alpha)^rho + log rho - log(2 alpha Gamma(1 / rho))."""
        constant = math.log(self.rho) - math.log(2 * self.alpha) - math.lgamma(1 / self.rho)
        return constant - ((y - column(output, y)).abs() / self.alpha).pow(self.rho)

    def slopes(self, output: Tensor, y: Tensor, extra: Tensor) -> Slopes:
        """rho |r|^(rho - 1) sign(r) / alpha^rho with r = y - output; 0 where r is."""
        residual = (y - column(output, y)) / self.alpha
        size = residual.abs()
        slope = torch.where(
            size > 0, self.rho / self.alpha * size.pow(self.rho - 1) * residual.sign(), 0.0
        )
        log_prob = self.log_prob(output, y, extra)
        return Slopes(log_prob, slope[..., None], no_extra_slope(log_prob))

    @property
    def _variance(self) -> float:
        return self.alpha**2 * math.exp(math.lgamma(3 / self.rho) - math.lgamma(1 / self.rho))

    def noise_variance(self, extra: Tensor) -> Tensor:
        """alpha^2 Gamma(3 / rho) / Gamma(1 / rho)."""
        return extra.new_full(extra.shape[:-1], self._variance)

    def cdf(self, z: Tensor) -> Tensor:
        """1/2 + sign(z) P(1 / rho, (|z| std / alpha)^rho) / 2, with P the regularised incomplete gamma function."""
        power = (z.abs() * (math.sqrt(self._variance) / self.alpha)).pow(self.rho)
        within: Tensor = torch.special.gammainc(torch.full_like(z, 1 / self.rho), power)
        return 0.5 + 0.5 * z.sign() * within

    def pdf(self, z: Tensor) -> Tensor:
        """The derivative of `cdf`: rho k / (2 Gamma(1 / rho)) exp(-(k |z|)^rho), k = std / alpha."""
        k = math.sqrt(self._variance) / self.alpha
        return (-(k * z.abs()).pow(self.rho)).exp() * (
            self.rho * k / (2 * math.gamma(1 / self.rho))
        )
