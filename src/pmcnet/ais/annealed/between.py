"""From one target's posterior to that of another with the same parameters and the same prior."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from pmcnet.ais.target import ValueAndScore
from pmcnet.ais.tempered import DifferentiableTempered
from pmcnet.rng import Stream


@dataclass(frozen=True, eq=False)
class Between:
    """pi_0 (pi_1 / pi_0)^beta with pi_i = prior * likelihood_i: pi_0 takes the prior's place.

    Args:
        start: pi_0.
        goal: pi_1.
    """

    start: DifferentiableTempered
    goal: DifferentiableTempered

    @property
    def dim(self) -> int:
        """D of both."""
        return self.goal.dim

    @property
    def memory(self) -> int:
        """Of the goal."""
        return self.goal.memory

    @property
    def bytes_per_point(self) -> int:
        """Of both."""
        return self.start.bytes_per_point + self.goal.bytes_per_point

    @property
    def least_piece(self) -> int | None:
        """Of the goal."""
        return self.goal.least_piece

    def log_prior(self, theta: Tensor) -> Tensor:
        """Log pi_0: (n, D) -> (n,)."""
        return self.start.log_prior(theta) + self.start.log_likelihood(theta)

    def log_likelihood(self, theta: Tensor) -> Tensor:
        """Log pi_1 - log pi_0: (n, D) -> (n,)."""
        return self.goal.log_likelihood(theta) - self.start.log_likelihood(theta)

    def sample_prior(self, sources: Sequence[Stream], n_draws: int) -> Tensor:
        """Draws of the prior of both, not of pi_0."""
        return self.goal.sample_prior(sources, n_draws)

    def ends(self, theta: Tensor) -> tuple[ValueAndScore, ValueAndScore]:
        """Both ends of the path with their gradients; each likelihood is evaluated once."""
        prior = self.goal.prior_and_score(theta)
        start, goal = (each.likelihood_and_score(theta) for each in (self.start, self.goal))
        return (
            ValueAndScore(prior.value + start.value, prior.score + start.score),
            ValueAndScore(goal.value - start.value, goal.score - start.score),
        )

    def monitor(self, theta: Tensor) -> Tensor:
        """Of the goal."""
        return self.goal.monitor(theta)
