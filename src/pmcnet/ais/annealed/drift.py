"""Whether moves still shift a population that should represent its distribution already."""

from typing import NamedTuple, Self

import torch
from torch import Tensor

from pmcnet.ais.annealed import genealogy
from pmcnet.ais.verdict.limits import SIGNIFICANT_DRIFT


class Drift(NamedTuple):
    """The change of S monitored means by moves, its standard error, and their spread (S,).

    Particles that represent the distribution already are shifted by chance alone.
    """

    change: Tensor
    error: Tensor
    spread: Tensor

    @classmethod
    def between(cls, before: Tensor, after: Tensor, weight: Tensor, parent: Tensor) -> Self:
        """From monitors (P, S) before and after; particles with a common parent vary together."""
        change = after - before
        spread = (weight @ (after - weight @ after).square()).sqrt()
        return cls(weight @ change, genealogy.mean_variance(change, weight, parent).sqrt(), spread)

    @property
    def largest(self) -> float:
        """The largest significant change, in standard deviations; 0 where none is significant."""
        significant = (self.change.abs() > SIGNIFICANT_DRIFT * self.error) & (self.spread > 0)
        share = torch.where(significant, self.change.abs() / self.spread, 0.0)
        return float(share.max())
