"""The training rows that a model keeps, as its network sees them, so that more rows can follow."""

from collections.abc import Mapping
from typing import NamedTuple, Self

import torch
from torch import Tensor

from pmcnet.bnn import BayesianTarget, Likelihood, Network
from pmcnet.bnn.priors.base import Prior

ROW_NAMES = ("row.inputs", "row.targets", "row.weight")
"""Of the tensors in a model file."""


class KeptRows(NamedTuple):
    """Inputs (N, ...), targets in the network's units, and how often each counts.

    Targets are (N,), (N, 2) where more is known of each row, or several (N, T).
    """

    inputs: Tensor
    targets: Tensor
    weight: Tensor

    @classmethod
    def of(cls, target: BayesianTarget) -> Self:
        """Those of a target, in host memory."""
        y = target.y
        weight = torch.ones_like(y.reshape(len(y), -1)[:, 0])
        weight = weight if target.weight is None else target.weight
        return cls(target.x.cpu(), y.cpu(), weight.cpu())

    def followed_by(self, more: "KeptRows") -> "KeptRows":
        """These and more.

        A second column that one of them lacks is 1: an exposure, or that the event was observed.
        """
        n_columns = max(self.targets.ndim, more.targets.ndim)
        targets = [_widened(rows.targets, n_columns) for rows in (self, more)]
        return KeptRows(
            torch.cat([self.inputs, more.inputs]),
            torch.cat(targets),
            torch.cat([self.weight, more.weight]),
        )

    def target(
        self,
        network: Network,
        likelihood: Likelihood,
        prior: Prior,
        *,
        memory: int,
        device: torch.device,
    ) -> BayesianTarget:
        """The posterior of these rows."""
        inputs, targets, weight = (part.to(device) for part in self)
        once = bool((weight == 1).all())
        return BayesianTarget(
            network,
            likelihood,
            inputs,
            targets,
            prior=prior,
            memory=memory,
            weight=None if once else weight,
        )

    def tensors(self) -> dict[str, Tensor]:
        """As a model file holds them."""
        return {name: part.contiguous() for name, part in zip(ROW_NAMES, self, strict=True)}

    @classmethod
    def from_tensors(
        cls, tensors: Mapping[str, Tensor], shape: tuple[int, ...], likelihood: Likelihood
    ) -> Self | None:
        """Those of a model file, if it holds any.

        Args:
            tensors: of the file.
            shape: of one row of inputs.
            likelihood: of the targets.
        """
        if not all(name in tensors for name in ROW_NAMES):
            return None
        rows = cls(*(tensors[name] for name in ROW_NAMES))
        inputs, targets, weight = rows
        n_targets, n_classes = likelihood.n_targets, likelihood.n_classes
        columns = ((), (2,)) if n_targets == 1 else ((n_targets,),)
        fine = (
            inputs.shape[1:] == shape
            and targets.ndim > 0
            and targets.shape[1:] in columns
            and len(inputs) == len(targets) == len(weight) > 0
            and weight.ndim == 1
            and all(part.dtype == torch.float32 and bool(part.isfinite().all()) for part in rows)
            and bool((weight > 0).all())
        )
        if fine and n_classes:
            codes = targets.flatten()
            fine = bool(((codes >= 0) & (codes < n_classes) & (codes == codes.round())).all())
        if not fine:
            raise ValueError("its training rows are not those of its network")
        return rows


def _widened(targets: Tensor, n_columns: int) -> Tensor:
    """Targets with a second column of ones, where there are to be two and there is one."""
    if targets.ndim == n_columns:
        return targets
    return torch.stack([targets, torch.ones_like(targets)], dim=1)
