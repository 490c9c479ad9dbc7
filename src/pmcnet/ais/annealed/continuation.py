"""From a posterior that is known by draws to the one with more data."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from pmcnet.ais.agreement import Predictions, Quantity
from pmcnet.ais.path import Path
from pmcnet.ais.target import ValueAndScore
from pmcnet.ais.tempered import DifferentiableTempered
from pmcnet.errors import InputError
from pmcnet.rng import Stream


@dataclass(frozen=True, eq=False)
class Continuation:
    """pi_0(theta) L(theta)^beta: the posterior pi_0 so far takes the prior's place.

    Islands begin at draws of pi_0 and not of the prior. Log Z is the log predictive evidence of the
    data in L given those of pi_0.

    Args:
        start: prior and likelihood of the data so far; their product is pi_0.
        more: the same parameters; its likelihood is L.
        draws: of pi_0 by island (G, k, D), equally weighted.
    """

    start: DifferentiableTempered
    more: DifferentiableTempered
    draws: Tensor

    @property
    def dim(self) -> int:
        """D of both."""
        return self.start.dim

    @property
    def device(self) -> torch.device:
        """Where the draws are."""
        return self.draws.device

    @property
    def memory(self) -> int:
        """Of the start."""
        return self.start.memory

    @property
    def bytes_per_point(self) -> int:
        """Of both."""
        return self.start.bytes_per_point + self.more.bytes_per_point

    @property
    def least_piece(self) -> int | None:
        """Of the start."""
        return self.start.least_piece

    @property
    def predicted_quantity(self) -> Quantity:
        """Of the start."""
        return Path.of(self.start).quantity

    def log_prior(self, theta: Tensor) -> Tensor:
        """Log pi_0 without its constant: (n, D) -> (n,)."""
        return self.start.log_prior(theta) + self.start.log_likelihood(theta)

    def log_likelihood(self, theta: Tensor) -> Tensor:
        """Log L: (n, D) -> (n,)."""
        return self.more.log_likelihood(theta)

    def sample_prior(self, sources: Sequence[Stream], n_draws: int) -> Tensor:
        """The last `n_draws` draws of each island: (G, n_draws, D)."""
        n_islands, known, _ = self.draws.shape
        if len(sources) != n_islands or n_draws > known:
            raise InputError(
                f"there are {n_islands} islands of {known} draws to begin at; got n_islands="
                f"{len(sources)} and n_particles={n_draws}. Use n_islands={n_islands} and at most "
                f"n_particles={known}."
            )
        return self.draws[:, known - n_draws :]

    def ends(self, theta: Tensor) -> tuple[ValueAndScore, ValueAndScore]:
        """Pi_0 and L with their gradients."""
        prior, known = self.start.prior_and_score(theta), self.start.likelihood_and_score(theta)
        so_far = ValueAndScore(prior.value + known.value, prior.score + known.score)
        return so_far, self.more.likelihood_and_score(theta)

    def monitor(self, theta: Tensor) -> Tensor:
        """Of both (n, S)."""
        return torch.cat([self.start.monitor(theta), self.more.monitor(theta)], dim=1)

    def predictions(self, theta: Tensor) -> Predictions:
        """Of both."""
        parts = [Path.of(target).predictions(theta) for target in (self.start, self.more)]
        return Predictions(*(torch.cat(each, dim=1) for each in zip(*parts, strict=True)))
