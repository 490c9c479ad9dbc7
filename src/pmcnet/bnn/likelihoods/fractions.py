"""Fractions strictly between 0 and 1: a beta distribution around the network's output.

    y ~ Beta(mu phi, (1 - mu) phi),  mu = sigmoid(centre + spread output),  log phi learned.

Data are log(y / (1 - y)), as `targets` gives them, so that neither y nor 1 - y is rounded.
Densities are those of y. Log-gamma functions of large precisions nearly cancel, so all is computed
in double precision.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import torch
from scipy.special import betainc, betaincinv  # type: ignore[import-untyped]
from torch import Tensor
from torch.nn import functional as F

from pmcnet.bnn.likelihoods.base import (
    LARGEST_SCALE,
    POSITIVE,
    Gradients,
    Likelihood,
    NormalExtra,
    Stored,
    Task,
    check_scale,
    column,
)
from pmcnet.bnn.likelihoods.mixture_inversion import inverted
from pmcnet.bnn.likelihoods.response import Array, Response, Units
from pmcnet.bnn.likelihoods.support import Support
from pmcnet.errors import InputError
from pmcnet.io.schema import Form, number
from pmcnet.rng import Stream

_LEAST_SHAPE = 1e-300
"""Shape parameters that underflow are as good as this one."""


class _Shapes(NamedTuple):
    """Log mu and log(1 - mu) (P, N), phi (P, 1), a = mu phi and b = (1 - mu) phi (P, N)."""

    log_mean: Tensor
    log_rest: Tensor
    precision: Tensor
    a: Tensor
    b: Tensor


@dataclass(frozen=True)
class Beta(NormalExtra, Stored):
    """The beta distribution with mean sigmoid(centre + spread output) and precision phi.

    Args:
        centre: the logit of the mean of a row whose output is 0.
        spread: what one unit of the output adds to it.
        log_precision_mean: of the normal prior of log phi, whose default has phi between 1 and
            3000 with probability .95.
        log_precision_std: of the same.
    """

    centre: float = 0.0
    spread: float = 1.0
    log_precision_mean: float = 4.0
    log_precision_std: float = 2.0

    task: ClassVar[Task] = "regression"
    n_outputs: ClassVar[int] = 1
    n_classes: ClassVar[int] = 0
    support: ClassVar[Support] = Support(least=0, most=1)
    extra_names: ClassVar[tuple[str, ...]] = ("log_precision",)
    stored_form: ClassVar[Mapping[str, Form]] = {
        "centre": number(-LARGEST_SCALE, LARGEST_SCALE),
        "spread": number(POSITIVE, LARGEST_SCALE),
        "log_precision_mean": number(-300, 300),
        "log_precision_std": number(POSITIVE, LARGEST_SCALE),
    }

    def __post_init__(self) -> None:
        check_scale("spread", self.spread)
        check_scale("log_precision_std", self.log_precision_std)

    @property
    def extra_prior(self) -> tuple[tuple[float, float], ...]:
        """That of log phi."""
        return ((self.log_precision_mean, self.log_precision_std),)

    @classmethod
    def units(cls, response: Response) -> Units:
        """Fractions stay as they are."""
        return Units()

    @classmethod
    def targets(cls, y: Array, units: Units) -> Array:
        """Logits."""
        inside = (y > 0) & (y < 1)
        if not inside.all():
            row = int(inside.argmin())
            raise InputError(
                f"y must lie strictly between 0 and 1 for likelihood beta; got {y[row]:g} in row "
                f"{row + 1}. Where 0 and 1 are possible, move all y inside: (y * (n - 1) + 0.5) / "
                "n, with n rows."
            )
        return np.asarray(np.log(y) - np.log1p(-y))

    @classmethod
    def responses(cls, targets: Array, units: Units) -> Array:
        """Fractions."""
        return np.asarray(1 / (1 + np.exp(-targets)))

    @classmethod
    def for_response(cls, response: Response, units: Units) -> Likelihood:
        """Around the logit of the mean, with the standard deviation of y carried over to logits."""
        if response.noise != "learn":
            raise InputError(
                f"likelihood beta learns its precision: noise must be learn; got "
                f"{response.noise!r:.60}. Leave noise out."
            )
        cls.targets(response.y, units)
        mean = float(np.average(response.y, weights=response.weight))
        rest = float(np.average(1 - response.y, weights=response.weight))
        variance = float(np.average(np.square(response.y - mean), weights=response.weight))
        constant = response.y.min() == response.y.max()
        spread = 1.0 if constant else math.sqrt(variance) / (mean * rest)
        return cls(math.log(mean) - math.log(rest), spread)

    def log_prob(self, output: Tensor, y: Tensor, extra: Tensor) -> Tensor:
        """-log B(a, b) + (a - 1) log y + (b - 1) log(1 - y), where y is given as its logit."""
        column(output, y)
        return self._log_prob(self._shapes(output, extra), y.double(), extra).to(output.dtype)

    def gradients(self, output: Tensor, y: Tensor, extra: Tensor) -> Gradients:
        """By the logit of mu, mu (1 - mu) phi (psi(b) - psi(a) + logit y); by log phi see below.

        phi psi(phi) - a psi(a) - b psi(b) + a log y + b log(1 - y), where both take
        psi(x) = psi(1 + x) - 1 / x, so that small shape parameters do not overflow.
        """
        column(output, y)
        parts, logit = self._shapes(output, extra), y.double()
        _, _, phi, a, b = parts
        mean, rest = parts.log_mean.exp(), parts.log_rest.exp()
        psi_a, psi_b = (1 + a).digamma(), (1 + b).digamma()
        by_mean = phi * mean * rest * (psi_b - psi_a + logit) + (rest - mean)
        by_precision = phi * (1 + phi).digamma() - a * psi_a - b * psi_b + 1
        by_precision = by_precision + a * F.logsigmoid(logit) + b * F.logsigmoid(-logit)
        return Gradients(
            self._log_prob(parts, logit, extra).to(output.dtype),
            (self.spread * by_mean)[..., None].to(output.dtype),
            by_precision[..., None].to(output.dtype),
        )

    def usable(self, extra: Tensor) -> Tensor:
        """Whether the precision is finite, and not 0."""
        precision = extra[:, 0].exp()
        return precision.isfinite() & (precision > 0)

    def mean(self, output: Tensor, extra: Tensor) -> Tensor:
        """mu (P, N, 1), float64."""
        return self._logit(output)[..., None].sigmoid()

    def aleatoric(self, mean: Tensor, output: Tensor, extra: Tensor) -> Tensor:
        """mu (1 - mu) / (1 + phi): (P, N), float64."""
        logit = self._logit(output)
        return logit.sigmoid() * (-logit).sigmoid() / (1 + extra[:, :1].double().exp())

    def total(self, mean: Tensor, aleatoric: Tensor, variance: Tensor) -> Tensor:
        """Average variance plus variance of the mean: the law of total variance."""
        return aleatoric + variance[..., 0]

    def cumulative(self, output: Tensor, y: Tensor, extra: Tensor) -> Tensor:
        """P(logit Y <= y | output), by the incomplete beta function of y or 1 - y: (P, N)."""
        a, b = (shape.clamp(min=_LEAST_SHAPE) for shape in self._shapes(output, extra)[3:])
        below, logit = y < 0, y.double()
        first, second = torch.where(below, a, b), torch.where(below, b, a)
        arguments = (first, second, (-logit.abs()).sigmoid())
        tail = torch.as_tensor(betainc(*(each.cpu().numpy() for each in arguments))).to(a)
        return torch.where(below, tail, 1 - tail)

    def sample(self, output: Tensor, extra: Tensor, source: Stream) -> Tensor:
        """Draws of the beta distribution."""
        a, b = (shape.clamp(min=_LEAST_SHAPE) for shape in self._shapes(output, extra)[3:])
        return torch.as_tensor(source.host.beta(a.cpu().numpy(), b.cpu().numpy())).to(output.device)

    def quantiles(
        self, output: Tensor, extra: Tensor, weight: Tensor, levels: Sequence[float]
    ) -> Tensor:
        """Those of the mixture: (N, Q), float64, searched from the beta with its moments."""
        mixture = _Mixture(self, output.double(), extra.double(), weight.double() / weight.sum())
        found = [inverted(mixture, level, mixture.guess(level)).sigmoid() for level in levels]
        return torch.stack(found, dim=-1)

    def _logit(self, output: Tensor) -> Tensor:
        """Of mu (P, N), float64."""
        return self.centre + self.spread * output[..., 0].double()

    def _shapes(self, output: Tensor, extra: Tensor) -> _Shapes:
        logit, phi = self._logit(output), extra[:, :1].double().exp()
        log_mean, log_rest = F.logsigmoid(logit), F.logsigmoid(-logit)
        return _Shapes(log_mean, log_rest, phi, log_mean.exp() * phi, log_rest.exp() * phi)

    def _log_prob(self, parts: _Shapes, logit: Tensor, extra: Tensor) -> Tensor:
        """By lgamma(a) = lgamma(1 + a) - log a, which keeps small a."""
        log_mean, log_rest, phi, a, b = parts
        constant = phi.lgamma() + 2 * extra[:, :1].double()
        each = constant + log_mean + log_rest - (1 + a).lgamma() - (1 + b).lgamma()
        return each + (a - 1) * F.logsigmoid(logit) + (b - 1) * F.logsigmoid(-logit)


@dataclass(frozen=True, eq=False)
class _Mixture:
    """The beta distributions of weighted networks, as functions of the logit of y."""

    likelihood: Beta
    output: Tensor
    extra: Tensor
    weight: Tensor

    def cumulative_and_density(self, t: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
        """P(logit Y <= t), and its derivative p(y) y (1 - y)."""
        output = self.output[:, rows]
        log_density = self.likelihood.log_prob(output, t, self.extra)
        log_density = log_density + F.logsigmoid(t) + F.logsigmoid(-t)
        cumulative = self.likelihood.cumulative(output, t, self.extra)
        return self.weight @ cumulative, self.weight @ log_density.exp()

    def guess(self, level: float) -> Tensor:
        """The quantile of the beta distribution with the mixture's moments, as a logit (N,)."""
        mean = self.likelihood.mean(self.output, self.extra)
        noise = self.likelihood.aleatoric(mean, self.output, self.extra)
        centre = self.weight @ mean[..., 0]
        variance = self.weight @ (noise + (mean[..., 0] - centre).square())
        precision = centre * (1 - centre) / variance - 1
        a, b = centre * precision, (1 - centre) * precision
        known = torch.as_tensor(betaincinv(a.cpu().numpy(), b.cpu().numpy(), level)).to(centre)
        found = known.logit()
        return torch.where(found.isfinite(), found, centre.logit())
