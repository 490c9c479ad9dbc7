"""Weighted networks, and what they predict: Algorithm 2 of the paper, and the average over all of them."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, Self

import torch
from torch import Tensor

from pmcnet.ais.annealed.result import AnnealedResult
from pmcnet.ais.samples import SampleDiagnostics, WeightedSamples
from pmcnet.ais.target import DEFAULT_MEMORY
from pmcnet.ais.verdict import Status, Verdict
from pmcnet.bnn.likelihoods.gaussian import Likelihood, Regression
from pmcnet.bnn.likelihoods.mixture_quantiles import mixture_quantile, standard_quantiles
from pmcnet.bnn.networks.mlp import Network
from pmcnet.bnn.overflow import refuse_diverged, refuse_overflow
from pmcnet.bnn.target import BayesianTarget
from pmcnet.errors import InputError

if TYPE_CHECKING:
    from xarray import DataTree


# A chunk of rows leaves room for this many networks at a time.
_TOGETHER = 16


class Predictive(NamedTuple):
    """The averaged prediction of N rows and its uncertainty.

    `mean` is (N, C): class probabilities, or E[y] with C = 1. `total`, `aleatoric` and `epistemic`
    are (N,), with total = aleatoric + epistemic. Classes: entropy of the average, average entropy,
    mutual information, in nats. Regression: variance of y, average noise variance, variance of the
    mean over networks.
    """

    mean: Tensor
    total: Tensor
    aleatoric: Tensor
    epistemic: Tensor


@dataclass(frozen=True, eq=False)
class ParticlePosterior(SampleDiagnostics):
    """Weighted parameter vectors of a network.

    Args:
        network: Phi.
        likelihood: turns outputs into predictions.
        samples: parameter vectors with log-weights.
        memory: bytes that predictions may use for temporaries.
    """

    network: Network
    likelihood: Likelihood
    samples: WeightedSamples
    memory: int = DEFAULT_MEMORY

    @property
    def theta(self) -> Tensor:
        """Parameter vectors (J, D)."""
        return self.samples.theta.flatten(0, -2)

    @property
    def log_weight(self) -> Tensor:
        """Unnormalised log-weights (J,)."""
        return self.samples.log_weight.flatten()

    def resample(self, n: int, seed: int = 0) -> Tensor:
        """`n` equally weighted parameter vectors (n, D)."""
        return self.samples.resample(n, seed)

    def thinned(self, n: int, seed: int = 0) -> "ParticlePosterior":
        """`n` networks drawn by their weights, equally weighted: a cheaper posterior with the same verdict."""
        theta = self.resample(n, seed)
        samples = WeightedSamples(
            theta, theta.new_zeros(n, dtype=torch.float64) + self.log_evidence
        )
        return RecordedPosterior(
            self.network,
            self.likelihood,
            samples,
            self.memory,
            recorded_verdict=self.verdict,
            recorded_error=self.log_evidence_error,
        )

    def to_arviz(self, n: int | None = None, seed: int = 0) -> "DataTree":
        """Equally weighted draws for ArviZ, one variable per tensor of the network; see `pmcnet.bnn.arviz_export`."""
        from pmcnet.bnn.arviz_export import to_arviz

        return to_arviz(self, n, seed)

    def equally_weighted(self) -> "Population":
        """The same networks, each counted once: the population, not the posterior its weights describe."""
        equal = self.samples._replace(log_weight=torch.zeros_like(self.samples.log_weight))
        reason = (
            "these networks count once each: an ensemble, not the posterior. By their exact "
            "weights they are worth "
            f"{self.ess:.1f} of {self.samples.n_draws} draws."
        )
        return Population(self.network, self.likelihood, equal, self.memory, reason=reason)

    def draws(self, x: Tensor, *, n_passes: int = 100, seed: int = 0) -> Tensor:
        """Algorithm 2: E[y | Phi(theta_r, x_n)] of R networks drawn by their weights: (R, N, C)."""
        if n_passes < 1:
            raise InputError(f"n_passes must be at least 1; got {n_passes}.")
        chosen, index = torch.unique(self.samples.resampled(n_passes, seed), return_inverse=True)
        networks = self.theta[chosen]
        rows = [
            torch.cat([mean for _, _, mean, _ in self._passes(networks, chunk)])
            for chunk in self._rows(x)
        ]
        found = torch.cat(rows, dim=1)  # (n, N, C)
        refuse_overflow(~found.isfinite().all(-1).all(0), x.dtype)
        return found[index]

    def predict(self, x: Tensor) -> Predictive:
        """The average over all networks that have weight, with its uncertainty."""
        weight = self.samples.weight.flatten()
        alive = weight > 0
        networks, weight = self.theta[alive], weight[alive]
        chunks = [self._averaged(networks, weight, rows) for rows in self._rows(x)]
        return _finite(
            Predictive(*(torch.cat(parts) for parts in zip(*chunks, strict=True))), x.dtype
        )

    def log_predictive(self, x: Tensor, y: Tensor) -> Tensor:
        """Log p(y_n | x_n, data) = log sum_j w_j p(y_n | Phi(theta_j, x_n)): (N,)."""
        log_weight = self.samples.weight.flatten().log()
        alive = log_weight > -torch.inf
        networks, log_weight = self.theta[alive], log_weight[alive]
        parts = []
        for rows, targets in zip(self._rows(x), torch.split(y, self._n_rows), strict=True):
            total = torch.full((len(rows),), -torch.inf, dtype=torch.float64, device=x.device)
            for start, output, _, extra in self._passes(networks, rows):
                log_prob = self.likelihood.log_prob(
                    output, targets.double(), extra
                ).double()  # (p, n)
                log_prob = torch.where(
                    output.isfinite().all(-1), log_prob, torch.nan
                )  # to be refused by row
                total = torch.logaddexp(
                    total, (log_prob + log_weight[start : start + len(output), None]).logsumexp(0)
                )
            parts.append(total)
        found = torch.cat(parts)
        refuse_overflow(found.isnan(), x.dtype)
        return found

    def quantiles(self, x: Tensor, probabilities: Sequence[float]) -> Tensor:
        """Quantiles of y under the mixture of all networks, noise included, for regression: (Q, N).

        The p-quantile solves sum_j w_j P(y <= q | Phi(theta_j, x)) = p: the mixture itself is
        inverted.
        """
        return self.predict_with_quantiles(x, probabilities)[1]

    def predict_with_quantiles(
        self, x: Tensor, probabilities: Sequence[float]
    ) -> tuple[Predictive, Tensor]:
        """`predict` and `quantiles` of a regression, from one pass of the networks over the rows."""
        likelihood = self.likelihood
        if not isinstance(likelihood, Regression):
            raise InputError(
                f"quantiles are of a regression's response; {likelihood} predicts classes."
            )
        if not probabilities or not all(0 < p < 1 for p in probabilities):
            raise InputError(
                f"probabilities must lie between 0 and 1, at least one; got {list(probabilities)}."
            )
        weight = self.samples.weight.flatten()
        alive = weight > 0
        networks, weight = self.theta[alive], weight[alive]
        variance = likelihood.noise_variance(networks[:, self.network.layout.dim :])  # (J,)
        deviation, light = variance.sqrt()[:, None], weight.to(x.dtype)
        levels = list(
            zip(probabilities, standard_quantiles(probabilities, likelihood), strict=True)
        )
        n_rows = max(1, self.memory // (8 * 8 * len(networks)))
        parts = []
        for rows in torch.split(x, min(n_rows, self._n_rows)):
            mean = torch.cat(
                [mean[..., 0] for _, _, mean, _ in self._passes(networks, rows)]
            )  # (J, n)
            centre = weight @ mean.double()
            epistemic = weight @ (mean.double() - centre).square()
            aleatoric = (weight @ variance.double()).expand(len(rows))
            average = Predictive(centre[:, None], aleatoric + epistemic, aleatoric, epistemic)
            found = [mixture_quantile(mean, deviation, light, p, z, likelihood) for p, z in levels]
            parts.append((*average, torch.stack(found, dim=-1)))
        *moments, quantiles = (torch.cat(part) for part in zip(*parts, strict=True))
        refuse_overflow(~quantiles.isfinite().all(1), x.dtype)
        return _finite(Predictive(*moments), x.dtype), quantiles.mT

    def _averaged(self, networks: Tensor, weight: Tensor, x: Tensor) -> Predictive:
        """Weighted sums over chunks of networks; variances around a first prediction, so that they do not cancel."""
        reference = next(self._passes(networks[:1], x))[2].double()  # (1, N, C)
        offset = torch.zeros_like(reference[0])
        square, aleatoric = torch.zeros_like(offset), torch.zeros_like(offset[:, 0])
        for start, _, mean, extra in self._passes(networks, x):
            w = weight[start : start + len(mean), None]  # (p, 1)
            delta = mean.double() - reference  # (p, N, C)
            offset += (w[..., None] * delta).sum(0)
            square += (w[..., None] * delta.square()).sum(0)
            aleatoric += (w * self.likelihood.aleatoric(mean.double(), extra)).sum(0)
        average = reference[0] + offset
        total = self.likelihood.total(average, aleatoric, (square - offset.square()).clamp(min=0))
        return Predictive(average, total, aleatoric, (total - aleatoric).clamp(min=0))

    @property
    def _n_rows(self) -> int:
        n_networks = self.network.n_together or _TOGETHER
        return max(1, self.memory // (n_networks * 8 * max(1, self.network.numbers_per_input)))

    def _rows(self, x: Tensor) -> tuple[Tensor, ...]:
        return tuple(torch.split(x, self._n_rows))

    def _passes(self, networks: Tensor, x: Tensor) -> Iterator[tuple[int, Tensor, Tensor, Tensor]]:
        """First index, outputs, predictions (p, n, C) and own parameters of chunks of networks that fit the memory."""
        n_parameters = self.network.layout.dim
        n_chunk = max(
            1, self.memory // (8 * max(1, self.network.numbers_per_input) * max(1, len(x)))
        )
        with torch.no_grad():
            for start in range(0, len(networks), n_chunk):
                theta = networks[start : start + n_chunk]
                output = self.network(theta[:, :n_parameters], x)
                yield start, output, self.likelihood.mean(output), theta[:, n_parameters:]


def _finite(found: Predictive, dtype: torch.dtype) -> Predictive:
    """The same, if it is finite on every row."""
    refuse_overflow(~(found.mean.isfinite().all(-1) & found.total.isfinite()), dtype)
    return found


@dataclass(frozen=True, eq=False)
class RecordedPosterior(ParticlePosterior):
    """Networks whose verdict and evidence error were found when they were drawn and are carried along since."""

    recorded_verdict: Verdict = field(kw_only=True)
    recorded_error: float = field(kw_only=True)

    @property
    def log_evidence_error(self) -> float:
        """Standard error of log Z, as recorded."""
        return self.recorded_error

    @property
    def verdict(self) -> Verdict:
        """Whether the draws can stand for the posterior, as recorded."""
        return self.recorded_verdict


@dataclass(frozen=True, eq=False)
class AnnealedPosterior(ParticlePosterior):
    """The draws of an annealed run, judged by how the particles got there and not by their last weights alone."""

    result: AnnealedResult = field(kw_only=True)

    @classmethod
    def of(cls, target: BayesianTarget, result: AnnealedResult) -> Self:
        """The posterior of a target, from the run that sampled it."""
        return cls(target.network, target.likelihood, result.samples, target.memory, result=result)

    @property
    def log_evidence_error(self) -> float:
        """Standard error of log Z from the families of particles."""
        return self.result.log_evidence_error

    @property
    def verdict(self) -> Verdict:
        """Whether the draws can stand for the posterior, and why."""
        return self.result.verdict


@dataclass(frozen=True, eq=False)
class Population(ParticlePosterior):
    """Networks that each count once: an ensemble, or draws of an approximation. It predicts; it judges nothing.

    Nothing was integrated, so it has no evidence and no tail of weights.
    """

    reason: str = field(kw_only=True)
    status: Status = field(kw_only=True, default="doubtful")
    known_ess: float = field(kw_only=True, default=math.inf)

    @classmethod
    def of(cls, target: BayesianTarget, theta: Tensor, reason: str) -> Self:
        """Networks (J, D) of a target; the reason says why they are not known to be its posterior."""
        refuse_diverged(target, theta.detach())
        samples = WeightedSamples(theta.detach(), theta.new_zeros(len(theta), dtype=torch.float64))
        return cls(target.network, target.likelihood, samples, target.memory, reason=reason)

    def thinned(self, n: int, seed: int = 0) -> "Population":
        """`n` of the networks, drawn with replacement."""
        theta = self.resample(n, seed)
        return replace(
            self, samples=WeightedSamples(theta, theta.new_zeros(n, dtype=torch.float64))
        )

    @property
    def ess(self) -> float:
        """Effective draws: all, or as many as those who made them know of."""
        return min(self.known_ess, super().ess)

    @property
    def khat(self) -> float:
        """Infinite: equal weights show no tail."""
        return math.inf

    @property
    def log_evidence(self) -> float:
        """-inf: there is none."""
        return -math.inf

    @property
    def log_evidence_error(self) -> float:
        """Infinite: there is no evidence."""
        return math.inf

    @property
    def verdict(self) -> Verdict:
        """Doubtful, unless those who made the draws knew better: equal weights say nothing."""
        return Verdict(self.status, self.reason)
