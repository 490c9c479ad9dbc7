"""What weighted networks predict: Algorithm 2 of the paper, and the average over all networks."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from pmcnet.ais.agreement import standard_error
from pmcnet.ais.samples import SampleDiagnostics, WeightedSamples
from pmcnet.ais.target import DEFAULT_MEMORY
from pmcnet.ais.tiling import in_groups
from pmcnet.bnn.kernels import fused_mlp
from pmcnet.bnn.likelihoods.base import Likelihood
from pmcnet.bnn.networks.base import Network
from pmcnet.bnn.overflow import refuse_overflow
from pmcnet.errors import InputError
from pmcnet.rng import check_seed, stream

# A chunk of rows leaves room for this many networks at a time.
_TOGETHER = 16


class Predictive(NamedTuple):
    """The averaged prediction of N rows and its uncertainty.

    `mean` is (N, C): class probabilities, or E[y] of each target. `total`, `aleatoric` and
    `epistemic` are (N,), of several targets (N, C), with total = aleatoric + epistemic. Classes:
    entropy of the average, average entropy, mutual information, in nats. Regression: variance of y,
    average noise variance, variance of the mean over networks. `error` (N, C) is the Monte Carlo
    standard error of `mean`, from the disagreement of islands; without islands it is (N, 0).
    """

    mean: Tensor
    total: Tensor
    aleatoric: Tensor
    epistemic: Tensor
    error: Tensor


class _Pass(NamedTuple):
    """Some networks on some rows: the first one's index, outputs (p, n, C), own parameters."""

    start: int
    output: Tensor
    extra: Tensor


@dataclass(frozen=True, eq=False)
class WeightedNetworks(SampleDiagnostics):
    """Networks with weights, and their predictions.

    Args:
        network: Phi.
        likelihood: turns outputs into predictions.
        samples: parameter vectors with log-weights.
        memory: bytes that predictions may use for temporaries.
        n_islands: G, where the networks come from so many independent islands one after another,
            equally many of each and equally weighted; 0 where they do not.
    """

    network: Network
    likelihood: Likelihood
    samples: WeightedSamples
    memory: int = DEFAULT_MEMORY
    n_islands: int = 0

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

    def draws(self, x: Tensor, *, n_passes: int = 100, seed: int = 0) -> Tensor:
        """Algorithm 2: E[y | Phi(theta_r, x_n)] of R networks drawn by their weights: (R, N, C)."""
        if n_passes < 1:
            raise InputError(f"n_passes must be at least 1; got {n_passes}.")
        chosen, index = torch.unique(self.samples.resampled(n_passes, seed), return_inverse=True)
        networks = self.theta[chosen]
        rows = [
            torch.cat([self.likelihood.mean(p.output, p.extra) for p in self._passes(networks, x_)])
            for x_ in self._rows(x)
        ]
        found = torch.cat(rows, dim=1)  # (n, N, C)
        refuse_overflow(~found.isfinite().all(-1).all(0), x.dtype)
        return found[index]

    def sample(self, x: Tensor, n: int, seed: int = 0) -> Tensor:
        """Draws of y itself, noise included, each from a network drawn by its weight.

        They are (n, N), of several targets (n, N, T).
        """
        theta, n_parameters = self.resample(n, seed), self.network.layout.dim
        with torch.no_grad():
            output = torch.cat([self.network(one[None, :n_parameters], x) for one in theta])
            source = stream(check_seed(seed), 1, 0)
            return self.likelihood.sample(output, theta[:, n_parameters:], source)

    def predict(self, x: Tensor) -> Predictive:
        """The average over all networks that have weight, with its uncertainty."""
        networks, weight = self._alive()
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
            for start, output, extra in self._passes(networks, rows):
                log_prob = self.likelihood.log_prob(output, targets.double(), extra)  # (p, n)
                finite = output.isfinite().all(-1)  # the others are refused below, by row
                log_prob = torch.where(finite, log_prob.double(), torch.nan)
                total = torch.logaddexp(
                    total, (log_prob + log_weight[start : start + len(output), None]).logsumexp(0)
                )
            parts.append(total)
        found = torch.cat(parts)
        refuse_overflow(found.isnan(), x.dtype)
        return found

    def quantiles(self, x: Tensor, probabilities: Sequence[float]) -> Tensor:
        """Quantiles of y under the mixture of all networks, noise included, for regression.

        The p-quantile solves sum_j w_j P(y <= q | Phi(theta_j, x)) = p: the mixture itself is
        inverted. They are (Q, N), of several targets (Q, N, T).
        """
        return self.predict_with_quantiles(x, probabilities)[1]

    def predict_with_quantiles(
        self, x: Tensor, probabilities: Sequence[float]
    ) -> tuple[Predictive, Tensor]:
        """`predict` and `quantiles` of a regression, from one pass over the rows."""
        if not probabilities or not all(0 < p < 1 for p in probabilities):
            raise InputError(
                f"probabilities must lie between 0 and 1, at least one; got {list(probabilities)}."
            )
        networks, weight = self._alive()
        extra = networks[:, self.network.layout.dim :]
        n_rows = max(1, self.memory // (8 * 8 * len(networks)))

        def parts() -> Iterator[tuple[Tensor, ...]]:
            for rows in torch.split(x, min(n_rows, self._n_rows)):
                output = torch.cat([p.output for p in self._passes(networks, rows)])  # (J, n, C)
                quantiles = self.likelihood.quantiles(output, extra, weight, probabilities)
                yield (*self._moments(output, extra, weight), quantiles)

        *moments, quantiles = _joined(parts(), len(x))
        refuse_overflow(~quantiles.isfinite().flatten(1).all(1), x.dtype)
        return _finite(Predictive(*moments), x.dtype), quantiles.movedim(1, 0)

    def predict_unseen(self, x: Tensor, y: Tensor) -> Predictive:
        """What rows of the fit would be predicted had each of them not been there; no errors.

        The posterior without row n gives network j the weight w_j / p(y_n | x_n, theta_j). Those
        ratios are truncated at their mean times sqrt(J) (Ionides, 2008).

        Args:
            x: rows of the fit (N, ...).
            y: their data, as the likelihood takes them.
        """
        networks, weight = self._alive()
        extra = networks[:, self.network.layout.dim :]
        n_rows = max(1, self.memory // (8 * 8 * len(networks) * self.likelihood.n_outputs))
        parts = []
        for rows, known in zip(torch.split(x, n_rows), torch.split(y, n_rows), strict=True):
            output = torch.cat([p.output for p in self._passes(networks, rows)])  # (J, n, C)
            ratio = -self.likelihood.log_prob(output, known.double(), extra).double()  # (J, n)
            mean_ratio = (weight.log()[:, None] + ratio).logsumexp(0)
            ratio = ratio.clamp(max=mean_ratio + 0.5 * math.log(len(networks)))
            w = (weight.log()[:, None] + ratio).softmax(0)
            mean = self.likelihood.mean(output, extra).double()
            noise = self.likelihood.aleatoric(mean, output, extra).expand(mean.shape[:-1])
            average, aleatoric = (w[..., None] * mean).sum(0), (w * noise).sum(0)
            variance = (w[..., None] * (mean - average).square()).sum(0)
            total = self.likelihood.total(average, aleatoric, variance)
            epistemic = (total - aleatoric).clamp(min=0)
            parts.append((average, total, aleatoric, epistemic, average.new_empty(len(rows), 0)))
        found = Predictive(*(torch.cat(part) for part in zip(*parts, strict=True)))
        return _finite(found, x.dtype)

    def _moments(self, output: Tensor, extra: Tensor, weight: Tensor) -> Predictive:
        """The averaged prediction of a regression, from outputs of all networks (J, n, C)."""
        mean = self.likelihood.mean(output, extra)
        noise = self.likelihood.aleatoric(mean, output, extra).double()  # (J, n or 1[, T])
        shape = (mean.shape[1], *noise.shape[2:])  # (n,), of several targets (n, T)
        each = mean.flatten(1).double()  # (J, n T)
        centre = weight @ each
        epistemic = (weight @ (each - centre).square()).reshape(shape)
        aleatoric = (weight @ noise.flatten(1)).reshape(-1, *shape[1:]).expand(shape)
        error = centre.new_empty(len(epistemic), 0)
        if self.n_islands:
            error = standard_error(in_groups(each, self.n_islands).mean(1))
            error = error.reshape(mean.shape[1:])
        centre = centre.reshape(mean.shape[1:])
        return Predictive(centre, aleatoric + epistemic, aleatoric, epistemic, error)

    def _averaged(self, networks: Tensor, weight: Tensor, x: Tensor) -> Predictive:
        """Weighted sums over chunks of networks.

        Variances are taken around a first prediction, so that they do not cancel.
        """
        _, output, extra = next(self._passes(networks[:1], x))
        reference = self.likelihood.mean(output, extra).double()  # (1, N, C)
        offset = torch.zeros_like(reference[0])
        square, aleatoric = torch.zeros_like(offset), offset.new_zeros(())
        islands = offset.new_zeros(self.n_islands, *offset.shape)  # sums of each (G, N, C)
        size = len(networks) // max(1, self.n_islands)
        for start, output, extra in self._passes(networks, x):
            mean = self.likelihood.mean(output, extra).double()  # (p, N, C)
            w, delta = weight[start : start + len(mean), None], mean - reference  # (p, 1)
            offset += (w[..., None] * delta).sum(0)
            square += (w[..., None] * delta.square()).sum(0)
            noise = self.likelihood.aleatoric(mean, output, extra)
            noise = noise.expand(*mean.shape[:2], *noise.shape[2:])  # (p, N[, T])
            aleatoric = aleatoric + (w * noise.flatten(1)).sum(0).reshape(noise.shape[1:])
            if self.n_islands:
                own = torch.arange(start, start + len(mean), device=mean.device) // size
                islands.index_add_(0, own, delta)
        average = reference[0] + offset
        total = self.likelihood.total(average, aleatoric, (square - offset.square()).clamp(min=0))
        error = average.new_empty(len(average), 0)
        if self.n_islands:
            error = standard_error(islands / size)
        return Predictive(average, total, aleatoric, (total - aleatoric).clamp(min=0), error)

    def _alive(self) -> tuple[Tensor, Tensor]:
        """The networks that have weight (J, D), and their weights (J,)."""
        weight = self.samples.weight.flatten()
        alive = weight > 0
        return self.theta[alive], weight[alive]

    @property
    def _n_rows(self) -> int:
        n_networks = self.network.n_together or _TOGETHER
        return max(1, self.memory // (n_networks * 8 * self._numbers_per_row))

    @property
    def _numbers_per_row(self) -> int:
        """Intermediate numbers of one network on one row: a compiled pass leaves the outputs."""
        layers = getattr(self.network, "fused", None)
        if layers is not None and fused_mlp.applies(layers, self.theta[:0], self.theta[:0]):
            return 8 * self.likelihood.n_outputs  # and what predictions make of them
        return max(1, self.network.numbers_per_input)

    def _rows(self, x: Tensor) -> tuple[Tensor, ...]:
        return tuple(torch.split(x, self._n_rows))

    def _passes(self, networks: Tensor, x: Tensor) -> Iterator[_Pass]:
        """Chunks of networks that fit the memory."""
        n_parameters = self.network.layout.dim
        n_chunk = max(1, self.memory // (8 * self._numbers_per_row * max(1, len(x))))
        with torch.no_grad():
            for start in range(0, len(networks), n_chunk):
                theta = networks[start : start + n_chunk]
                output = self.network(theta[:, :n_parameters], x)
                yield _Pass(start, output, theta[:, n_parameters:])


def _joined(parts: Iterator[tuple[Tensor, ...]], n_rows: int) -> list[Tensor]:
    """Each of several results of all rows, from those of some rows after the other.

    Small results that are kept between large ones that are freed would leave gaps in memory, so all
    are written to one place.
    """
    whole: list[Tensor] = []
    start = 0
    for part in parts:
        whole = whole or [each.new_empty(n_rows, *each.shape[1:]) for each in part]
        end = start + len(part[0])
        for each, own in zip(whole, part, strict=True):
            each[start:end] = own
        start = end
    return whole


def _finite(found: Predictive, dtype: torch.dtype) -> Predictive:
    """The same, if it is finite on every row."""
    total = found.total.reshape(len(found.mean), -1)
    refuse_overflow(~(found.mean.isfinite().all(-1) & total.isfinite().all(-1)), dtype)
    return found
