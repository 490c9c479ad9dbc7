"""How the survivors become the next means: `FixedMean`, `Langevin` or `IncrementalLangevin`.

The mean half of step 2(d) of Algorithm 1. Each returns the new means and the step sizes that were
accepted, 0 where every trial failed and the mean stayed.
"""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from pmcnet.ais.evaluation import Evaluation
from pmcnet.ais.scale import Scale
from pmcnet.errors import InputError


class MeanStep(Protocol):
    """Moves M survivors."""

    def __call__(
        self, survivors: Tensor, scale: Scale, target: Evaluation
    ) -> tuple[Tensor, Tensor]:
        """Survivors (M, D) and the new scale -> means (M, D), step sizes (M,) or (M, B)."""
        ...


@dataclass(frozen=True)
class FixedMean:
    """The survivor is the mean: gamma = 0."""

    def __call__(
        self, survivors: Tensor, scale: Scale, target: Evaluation
    ) -> tuple[Tensor, Tensor]:
        """The survivors."""
        return survivors, torch.zeros(
            len(survivors), dtype=survivors.dtype, device=survivors.device
        )


def backtrack(
    loc: Tensor, value: Tensor, direction: Tensor, target: Evaluation, max_trials: int
) -> tuple[Tensor, Tensor]:
    """mu + gamma direction for the first gamma of 1, 1/2, ... at which log pi does not decrease.

    All points are tried in one batch; only those that still fail are tried again. A trial where log
    pi is NaN fails. On a GPU, where a small batch takes as long as a large one, the points that are
    left try several step sizes at once.

    Args:
        loc: (M, D) points to move.
        value: (M,) log pi there; a point where it is -inf stays.
        direction: (M, D).
        target: whose log-density must not decrease.
        max_trials: how many step sizes are tried.

    Returns:
        The new points (M, D) and the accepted step sizes (M,), 0 where none was.
    """
    moved = loc.clone()
    step_size = torch.zeros(len(loc), dtype=loc.dtype, device=loc.device)
    pending = (value > -torch.inf).nonzero()[:, 0]  # indices of the points that have not moved yet
    trial = 0
    while len(pending) and trial < max_trials:
        n_ahead = min(max(1, len(loc) // len(pending)) if loc.is_cuda else 1, max_trials - trial)
        gamma = 0.5 ** torch.arange(
            trial, trial + n_ahead, dtype=loc.dtype, device=loc.device
        )  # (G,)
        candidate = loc[pending] + gamma[:, None, None] * direction[pending]  # (G, n, D)
        accepted = target.trial(candidate) >= value[pending]  # (G, n)
        done, first = accepted.any(0), accepted.int().argmax(0)  # the largest step that is accepted
        moved[pending[done]] = candidate[first[done], done.nonzero()[:, 0]]
        step_size[pending[done]] = gamma[first[done]]
        pending, trial = pending[~done], trial + n_ahead
    return moved, step_size


def _check_trials(max_trials: int) -> None:
    if max_trials < 1:
        raise InputError(
            f"max_trials must be at least 1; got {max_trials}. Use FixedMean() for no step."
        )


@dataclass(frozen=True)
class Langevin:
    """mu_m <- mu~_m + gamma_m Sigma_m grad log pi(mu~_m), Eq. (12), gamma_m by backtracking."""

    max_trials: int = 20

    def __post_init__(self) -> None:
        _check_trials(self.max_trials)

    def __call__(
        self, survivors: Tensor, scale: Scale, target: Evaluation
    ) -> tuple[Tensor, Tensor]:
        """One scaled gradient step."""
        value, score = target.value_and_score(survivors)  # (M,), (M, D)
        return backtrack(survivors, value, scale.matvec(score), target, self.max_trials)


@dataclass(frozen=True)
class IncrementalLangevin:
    """nu <- nu + (gamma_b / 2) Sigma_m grad log pi_b(nu) over the target's factors b, Eq. (17).

    The step sizes are (M, B), one for each of the B factors.
    """

    max_trials: int = 20

    def __post_init__(self) -> None:
        _check_trials(self.max_trials)

    def __call__(
        self, survivors: Tensor, scale: Scale, target: Evaluation
    ) -> tuple[Tensor, Tensor]:
        """B half steps, each accepted by its own factor; the scale is fixed during the pass."""
        loc, step_sizes = survivors, []
        for factor in target.factors():
            value, score = factor.value_and_score(loc)
            loc, step_size = backtrack(
                loc, value, 0.5 * scale.matvec(score), factor, self.max_trials
            )
            step_sizes.append(step_size)
        return loc, torch.stack(step_sizes, dim=1)
