"""Some rows of the data, as networks are evaluated on them."""

from typing import NamedTuple

import torch
from torch import Tensor


class Batch(NamedTuple):
    """Some rows of the data on the device, how often each counts, and their positions if chosen."""

    x: Tensor
    y: Tensor
    weight: Tensor | None
    positions: Tensor | None = None

    @property
    def n_rows(self) -> int:
        """How many."""
        return len(self.x)

    def counted(self, each: Tensor) -> Tensor:
        """Terms of rows (P, N) or (P, N, C) times their weights; 0 where the weight is 0."""
        if self.weight is None:
            return each
        weight = self.weight if each.ndim == 2 else self.weight[:, None]
        return torch.where(weight > 0, each * weight, 0.0)

    def total(self, log_prob: Tensor) -> Tensor:
        """The sum over rows (P, N) -> (P,), in float64."""
        return self.counted(log_prob).sum(-1, dtype=torch.float64)
