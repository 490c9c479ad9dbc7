"""Some rows of the data, as networks are evaluated on them."""

from typing import NamedTuple

import torch
from torch import Tensor

from pmcnet.errors import InputError


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


def spread_over(x: Tensor, n: int) -> Tensor:
    """Positions of `n` rows of x, or of all where there are fewer, spread over all."""
    return torch.linspace(0, len(x) - 1, min(len(x), n), device=x.device).long()


def check_rows(x: Tensor, y: Tensor, weight: Tensor | None) -> None:
    """Refuse rows that do not belong together, or that hold no finite numbers."""
    if len(x) != len(y) or len(x) == 0:
        raise InputError(
            f"x and y must have the same number of rows, at least one; got {len(x)}, {len(y)}."
        )
    if not x.is_floating_point() or not x.isfinite().all() or not y.isfinite().all():
        raise InputError(
            "x must be floating-point and x and y finite. Fill or drop missing values first."
        )
    if weight is not None and (
        weight.shape != y.shape[:1] or not bool((weight >= 0).all() & weight.isfinite().all())
    ):
        raise InputError(
            f"weight must hold one finite number, not negative, for each of the {len(y)} "
            f"rows; got shape {tuple(weight.shape)}."
        )
