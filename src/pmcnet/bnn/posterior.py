"""Posteriors: networks with a verdict, from their weights or from the run that drew them."""

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

import torch
from torch import Tensor

from pmcnet.ais.agreement import Agreement
from pmcnet.ais.annealed.result import AnnealedResult
from pmcnet.ais.hmc.groups import agreement as agreement_of
from pmcnet.ais.hmc.groups import averaged
from pmcnet.ais.hmc.result import ChainResult
from pmcnet.ais.islands.draws import evenly
from pmcnet.ais.islands.result import IslandsResult
from pmcnet.ais.path import Path
from pmcnet.ais.samples import WeightedSamples
from pmcnet.ais.tiling import in_groups
from pmcnet.ais.verdict import Verdict, chain_verdict, unmeasured
from pmcnet.bnn.overflow import refuse_diverged
from pmcnet.bnn.prediction import WeightedNetworks
from pmcnet.bnn.target import BayesianTarget

if TYPE_CHECKING:
    from xarray import DataTree


@dataclass(frozen=True, eq=False)
class ParticlePosterior(WeightedNetworks):
    """Weighted networks, judged by their weights; see `WeightedNetworks` for its settings.

    `agreement` says how far islands or chains agree on training rows, where there are any.
    """

    agreement: Agreement | None = field(kw_only=True, default=None)

    @property
    def is_posterior(self) -> bool:
        """Whether the networks with their weights are draws of the posterior, good or bad."""
        return True

    def thinned(self, n: int, seed: int = 0) -> "ParticlePosterior":
        """`n` networks drawn by their weights, equally weighted: cheaper, with the same verdict.

        Of islands they are spread evenly, as many of each where `n` is at least their number.
        """
        n_islands = self.n_islands if self.n_islands <= n else 0
        theta = self.chains(n).flatten(0, 1) if n_islands else self.resample(n, seed)
        log_weight = theta.new_zeros(len(theta), dtype=torch.float64) + self.log_evidence
        return RecordedPosterior(
            self.network,
            self.likelihood,
            WeightedSamples(theta, log_weight),
            self.memory,
            n_islands,
            recorded_verdict=self.verdict,
            recorded_error=self.log_evidence_error,
            agreement=self.agreement,
        )

    def to_arviz(self, n: int | None = None, seed: int = 0) -> "DataTree":
        """Equally weighted draws for ArviZ, one variable per tensor; see `bnn.arviz_export`."""
        from pmcnet.bnn.arviz_export import to_arviz

        return to_arviz(self, n, seed)

    def chains(self, n: int, seed: int = 0) -> Tensor:
        """Equally weighted draws by chain (P, K, D); islands are chains.

        Without islands they are `n` resampled ones as one chain.
        """
        if not self.n_islands:
            return self.resample(n, seed)[None]
        each = in_groups(self.theta, self.n_islands)
        return each[:, evenly(each.shape[1], max(1, n // self.n_islands))]

    def equally_weighted(self) -> "Population":
        """The same networks, each counted once: an ensemble, not the weighted posterior."""
        equal = self.samples._replace(log_weight=torch.zeros_like(self.samples.log_weight))
        reason = (
            "these networks count once each: an ensemble, not the posterior. By their exact "
            f"weights they are worth {self.ess:.1f} of {self.samples.n_draws} draws."
        )
        return Population(
            self.network,
            self.likelihood,
            equal,
            self.memory,
            recorded_verdict=unmeasured(reason),
        )


@dataclass(frozen=True, eq=False)
class RecordedPosterior(ParticlePosterior):
    """Networks with the verdict and the evidence error of the run that drew them.

    `known_ess` is how many independent draws they are worth, where that is known.
    """

    recorded_verdict: Verdict = field(kw_only=True)
    recorded_error: float = field(kw_only=True, default=math.inf)
    known_ess: float = field(kw_only=True, default=math.inf)

    @property
    def ess(self) -> float:
        """Effective draws: by the weights, or fewer where `known_ess` is less."""
        return min(self.known_ess, super().ess)

    @property
    def log_evidence_error(self) -> float:
        """Standard error of log Z, as recorded."""
        return self.recorded_error

    @property
    def verdict(self) -> Verdict:
        """Whether the draws can stand for the posterior, as recorded."""
        return self.recorded_verdict


@dataclass(frozen=True, eq=False)
class AnnealedPosterior(RecordedPosterior):
    """The draws of an annealed run, judged by the whole run and not by the last weights alone."""

    result: AnnealedResult = field(kw_only=True)

    @classmethod
    def of(cls, target: BayesianTarget, result: AnnealedResult) -> Self:
        """The posterior of a target, from the run that sampled it."""
        return cls(
            target.network,
            target.likelihood,
            result.samples,
            target.memory,
            recorded_verdict=result.verdict,
            recorded_error=result.log_evidence_error,
            result=result,
        )


@dataclass(frozen=True, eq=False)
class IslandPosterior(RecordedPosterior):
    """The draws of islands, judged by how far they agree."""

    result: IslandsResult = field(kw_only=True)

    @classmethod
    def of(cls, target: BayesianTarget, result: IslandsResult) -> Self:
        """The posterior of a target, from the run that sampled it."""
        return cls(
            target.network,
            target.likelihood,
            result.samples,
            target.memory,
            result.n_islands,
            recorded_verdict=result.verdict,
            recorded_error=result.log_evidence_error,
            known_ess=result.ess,
            agreement=result.agreement if result.n_islands else None,
            result=result,
        )


@dataclass(frozen=True, eq=False)
class Population(RecordedPosterior):
    """Networks that each count once: an ensemble, or draws of an approximation.

    Nothing was integrated, so there is no evidence and no tail of weights.
    """

    @classmethod
    def of(cls, target: BayesianTarget, theta: Tensor, reason: str) -> "Population":
        """Networks (J, D) of a target; the reason says why they may not be its posterior."""
        refuse_diverged(target, theta.detach())
        return Population(
            target.network,
            target.likelihood,
            WeightedSamples(theta.detach(), theta.new_zeros(len(theta), dtype=torch.float64)),
            target.memory,
            recorded_verdict=unmeasured(reason),
        )

    def thinned(self, n: int, seed: int = 0) -> "Population":
        """`n` of the networks, drawn with replacement."""
        theta = self.resample(n, seed)
        samples = WeightedSamples(theta, theta.new_zeros(n, dtype=torch.float64))
        return replace(self, samples=samples, n_islands=0)

    @property
    def is_posterior(self) -> bool:
        """Whether they are draws of chains; others are an ensemble or of an approximation."""
        return self.n_islands > 0

    @property
    def khat(self) -> float:
        """Infinite: equal weights show no tail."""
        return math.inf

    @property
    def log_evidence(self) -> float:
        """-inf: there is none."""
        return -math.inf


@dataclass(frozen=True, eq=False)
class ChainPosterior(Population):
    """Draws of parallel chains, one chain after another, judged by how far they agree.

    Groups of chains are its islands; few chains are islands one by one.

    `energy_error` is what limited precision adds to an energy difference, in nats.
    """

    result: ChainResult = field(kw_only=True)
    energy_error: float = field(kw_only=True, default=math.nan)

    @classmethod
    def of(  # type: ignore[override]
        cls, target: BayesianTarget, result: ChainResult, energy_error: float
    ) -> Self:
        """The posterior of a target, from the run that sampled it."""
        theta = averaged(result.theta)
        refuse_diverged(target, theta)
        agreement = agreement_of(result.theta, Path.of(target))
        return cls(
            target.network,
            target.likelihood,
            WeightedSamples(theta, theta.new_zeros(len(theta), dtype=torch.float64)),
            target.memory,
            agreement.n_islands,
            recorded_verdict=chain_verdict(result, agreement),
            known_ess=result.ess,
            agreement=agreement,
            result=result,
            energy_error=energy_error,
        )

    def chains(self, n: int, seed: int = 0) -> Tensor:
        """The last draws of all chains (P, K, D), no more than `n` together."""
        kept = self.result.theta  # (K, P, D)
        return kept[-max(1, n // kept.shape[1]) :].transpose(0, 1)
