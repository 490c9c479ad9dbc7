"""A path to any log-density from a mixture of Gaussians, e.g. the proposals of an earlier run."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from pmcnet.ais.evaluation import Evaluation
from pmcnet.ais.pmc.proposals import Proposals
from pmcnet.ais.target import FunctionTarget, Target, ValueAndScore
from pmcnet.rng import Stream, standard_normal, uniform


@dataclass(frozen=True)
class Bridge:
    """`base` as the prior and target / base as the likelihood, so that log Z is the target's own.

    Args:
        target: the log-density to reach.
        base: M Gaussians, e.g. `Proposals(loc, Diagonal.isotropic(sigma, loc))` or the proposals of
            a PMC state. It must cover the target: mass that it leaves out is found by the moves or
            not at all.
    """

    target: Target
    base: Proposals

    @property
    def dim(self) -> int:
        """D of the target."""
        return self.target.dim

    @property
    def device(self) -> torch.device:
        """Where the mixture is."""
        return self.base.loc.device

    @property
    def memory(self) -> int:
        """Of the target."""
        return self.target.memory

    @property
    def bytes_per_point(self) -> int:
        """The target's, and the differences to M means with their gradients."""
        return self.target.bytes_per_point + 4 * 8 * self.base.loc.numel()

    def log_prior(self, theta: Tensor) -> Tensor:
        """Log-density of the mixture: (n, D) -> (n,)."""
        return _log_mixture(self.base, theta)

    def prior_and_score(self, theta: Tensor) -> ValueAndScore:
        """The mixture's log-density and gradient."""
        return FunctionTarget(self.log_prior, self.dim).value_and_score(theta)

    def log_likelihood(self, theta: Tensor) -> Tensor:
        """Log pi - log base: (n, D) -> (n,)."""
        return Evaluation(self.target).trial(theta) - self.log_prior(theta)

    def likelihood_and_score(self, theta: Tensor) -> ValueAndScore:
        """The difference of the two log-densities and of their gradients."""
        whole, base = self.target.value_and_score(theta), self.prior_and_score(theta)
        return ValueAndScore(whole.value.double() - base.value, whole.score - base.score)

    def sample_prior(self, sources: Sequence[Stream], n_draws: int) -> Tensor:
        """A component at random, then a draw from it."""
        noise = standard_normal(sources, (n_draws, self.dim), like=self.base.loc)  # (B, n, D)
        chosen = (uniform(sources, n_draws, like=noise) * self.base.n_proposals).long()  # (B, n)
        draws = torch.empty_like(noise)
        for m in range(self.base.n_proposals):
            coloured = self.base.scale.take(slice(m, m + 1)).colour_(noise[chosen == m][None])
            draws[chosen == m] = coloured[0] + self.base.loc[m]
        return draws


def _log_mixture(base: Proposals, theta: Tensor) -> Tensor:
    """Like `Proposals.log_mixture`, for differentiation: no shared buffers, all in one piece."""
    delta = theta - base.loc[:, None]  # (M, n, D)
    white = base.scale.whiten(delta)
    constant = base.scale.log_det + 0.5 * base.dim * math.log(2 * math.pi)  # (M,)
    log_prob = -0.5 * white.double().square().sum(-1) - constant[:, None]
    return log_prob.logsumexp(0) - math.log(base.n_proposals)
