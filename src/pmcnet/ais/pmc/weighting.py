"""The density in the denominator of a weight: of the mixture, or of the draw's own proposal.

Step 2(b) of Algorithm 1, Eq. (11): w = pi(theta) / ((1/M) sum_i q_i(theta)).
"""

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from pmcnet.ais.pmc.proposals import Proposals

EVERY = slice(None)


class Weighting(Protocol):
    """Log-density of the draws, as their weights see it."""

    def __call__(
        self, proposals: Proposals, theta: Tensor, memory: int, block: slice = EVERY
    ) -> Tensor:
        """Draws (m, K, D) of a block of the M proposals -> log-densities (m, K), float64.

        Temporaries are bounded by `memory` bytes.
        """
        ...


@dataclass(frozen=True)
class DeterministicMixture:
    """(1/M) sum_i N(theta; mu_i, Sigma_i): lower variance, M times the cost."""

    def __call__(
        self, proposals: Proposals, theta: Tensor, memory: int, block: slice = EVERY
    ) -> Tensor:
        """Log of the mixture of all proposals at every draw."""
        return proposals.log_mixture(theta.flatten(0, 1), memory).reshape(theta.shape[:-1])


@dataclass(frozen=True)
class OwnProposal:
    """N(theta; mu_m, Sigma_m) of the draw's own proposal: standard population Monte Carlo."""

    def __call__(
        self, proposals: Proposals, theta: Tensor, memory: int, block: slice = EVERY
    ) -> Tensor:
        """Log of each draw's own proposal."""
        return proposals.take(block).log_prob(theta)
