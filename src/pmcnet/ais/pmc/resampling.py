"""Which draws survive as the next proposals' means: `Local`, `Global` or `Alternating`.

Step 2(c) of Algorithm 1; local and global resampling are those of Elvira et al., Signal Processing
131 (2017). Each takes log-weights (M, K) and returns M flat indices into the M*K draws, -1 where a
proposal has no draw of positive weight to choose from and therefore stays where it is.
"""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from pmcnet.ais.inverse_cdf import categorical
from pmcnet.errors import InputError


class Resampling(Protocol):
    """Chooses M survivors among M*K weighted draws."""

    def __call__(self, log_weight: Tensor, uniforms: Tensor, step: int) -> Tensor:
        """Flat indices (M,), -1 for none, from log-weights (M, K), uniforms (M,) and step t."""
        ...


@dataclass(frozen=True)
class Local:
    """One survivor per proposal, among its own K draws: diversity is kept."""

    def __call__(self, log_weight: Tensor, uniforms: Tensor, step: int) -> Tensor:
        """k_m ~ Cat(w_m1 ... w_mK) for each m."""
        n_proposals, n_draws = log_weight.shape
        alive = log_weight.amax(-1) > -torch.inf  # (M,)
        index = torch.full((n_proposals,), -1, dtype=torch.int64, device=log_weight.device)
        own = categorical(log_weight[alive], uniforms[alive, None])[:, 0]
        index[alive] = alive.nonzero()[:, 0] * n_draws + own
        return index


@dataclass(frozen=True)
class Global:
    """M survivors among all M*K draws: proposals move to where the mass was found."""

    def __call__(self, log_weight: Tensor, uniforms: Tensor, step: int) -> Tensor:
        """M independent indices ~ Cat(w_11 ... w_MK)."""
        return categorical(log_weight.flatten(), uniforms)


@dataclass(frozen=True)
class Alternating:
    """Global at every `period`-th step, local at the others."""

    period: int = 5

    def __post_init__(self) -> None:
        if self.period < 1:
            raise InputError(
                f"period must be at least 1; got {self.period}. Use Global() for every step."
            )

    def __call__(self, log_weight: Tensor, uniforms: Tensor, step: int) -> Tensor:
        """Global when step is a multiple of the period."""
        rule: Resampling = Global() if step % self.period == 0 else Local()
        return rule(log_weight, uniforms, step)
