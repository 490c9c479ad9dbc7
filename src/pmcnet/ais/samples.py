"""Weighted draws, and everything that can be read off them."""

from typing import NamedTuple

import torch
from torch import Tensor

from pmcnet.ais import diagnostics
from pmcnet.ais.inverse_cdf import categorical
from pmcnet.ais.verdict import Verdict, verdict
from pmcnet.errors import DegenerateWeightsError, InputError
from pmcnet.rng import check_seed, stream, uniform


class WeightedSamples(NamedTuple):
    """Draws `theta` (..., K, D) with unnormalised log-weights `log_weight` (..., K), float64.

    The last axis of the weights runs over independent draws from one proposal; leading axes run
    over proposals and steps. Weights are pi(theta) over the density the draws came from, so their
    mean estimates the evidence Z.
    """

    theta: Tensor
    log_weight: Tensor

    @property
    def n_draws(self) -> int:
        """How many draws there are in all."""
        return self.log_weight.numel()

    @property
    def weight(self) -> Tensor:
        """Weights that sum to 1 over all draws, shaped like `log_weight`."""
        self._log_total  # noqa: B018  (raises when there is nothing to normalise)
        return self.log_weight.flatten().softmax(0).view_as(self.log_weight)

    @property
    def ess(self) -> float:
        """Effective number of draws, (sum w)^2 / sum w^2."""
        return float(diagnostics.ess(self.log_weight.flatten()))

    @property
    def max_weight(self) -> float:
        """The largest normalised weight."""
        return float(diagnostics.max_weight(self.log_weight.flatten()))

    @property
    def khat(self) -> float:
        """Pareto index of the weights' tail."""
        return diagnostics.khat(self.log_weight)

    @property
    def log_evidence(self) -> float:
        """Log Z = logsumexp(log w) - log n."""
        return float(diagnostics.log_evidence(self.log_weight))

    @property
    def log_evidence_error(self) -> float:
        """Standard error of `log_evidence`."""
        return float(diagnostics.log_evidence_error(self.log_weight))

    @property
    def verdict(self) -> Verdict:
        """Whether the draws can stand for the target, and why."""
        return verdict(self.log_weight)

    def mean(self) -> Tensor:
        """Weighted mean (D,)."""
        return self._flat_weight @ self._flat_theta

    def covariance(self) -> Tensor:
        """Weighted covariance (D, D) around the weighted mean."""
        rooted = (self._flat_theta - self.mean()) * self._flat_weight.sqrt()[:, None]
        return rooted.mT @ rooted

    def mean_error(self) -> Tensor:
        """Standard error of `mean` (D,): sqrt(sum_j w_j^2 (theta_j - mean)^2)."""
        return (
            ((self._flat_theta - self.mean()) * self._flat_weight[:, None]).square().sum(0).sqrt()
        )

    def resample(self, n: int, seed: int) -> Tensor:
        """`n` equally weighted draws (n, D), chosen with probability proportional to weight."""
        return self.theta.flatten(0, -2)[self.resampled(n, seed)]

    def resampled(self, n: int, seed: int) -> Tensor:
        """Which draws `resample` takes: their flat indices (n,)."""
        if n < 1:
            raise InputError(f"n must be at least 1; got {n}.")
        self._log_total  # noqa: B018  (raises when there is nothing to draw from)
        log_weight = self.log_weight.flatten()
        return categorical(
            log_weight, uniform([stream(check_seed(seed), 0, 0)], n, like=log_weight)[0]
        )

    @property
    def _log_total(self) -> Tensor:
        total = self.log_weight.flatten().logsumexp(0)
        if total == -torch.inf:
            raise DegenerateWeightsError(
                f"all {self.n_draws} weights are zero, so there is nothing to normalise. "
                "Start the proposals where the target has mass, or widen sigma."
            )
        return total

    @property
    def _flat_weight(self) -> Tensor:
        return self.weight.flatten()

    @property
    def _flat_theta(self) -> Tensor:
        return self.theta.flatten(0, -2).double()


class SampleDiagnostics:
    """For anything made of weighted draws: their diagnostics are its own."""

    samples: WeightedSamples

    @property
    def ess(self) -> float:
        """Effective number of draws."""
        return self.samples.ess

    @property
    def khat(self) -> float:
        """Pareto index of the weights' tail."""
        return self.samples.khat

    @property
    def log_evidence(self) -> float:
        """log Z."""
        return self.samples.log_evidence

    @property
    def log_evidence_error(self) -> float:
        """Standard error of `log_evidence`; to be trusted where the verdict is."""
        return self.samples.log_evidence_error

    @property
    def verdict(self) -> Verdict:
        """Whether the draws can stand for the target, and why."""
        return self.samples.verdict
