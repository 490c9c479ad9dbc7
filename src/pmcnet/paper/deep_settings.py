"""Sizes of the large experiments, and how their networks are trained and evaluated."""

from dataclasses import dataclass, replace
from typing import Self

import torch

from pmcnet.ais.tiling import free_memory
from pmcnet.bnn.networks.precision import Precision
from pmcnet.methods import Adam
from pmcnet.paper.experiment import Settings

PRIOR_STD = 1.0
"""Of the prior under which weights are compared."""
TUNING_SHARE = 0.25
"""Share of the epochs for which a method trains while its setting is chosen."""


@dataclass(frozen=True, kw_only=True)
class DeepSettings(Settings):
    """How the large experiments run.

    Args:
        batch_rows: rows of a factor of the incremental step.
        batch_size: rows per step of every training.
        learning_rate: of Adam, with a cosine schedule.
        weight_decay: of ADAM-MLE and the starting networks.
        n_chains: of SAE.
        n_members: of each chain of SAE.
        baselines: whether the other methods run.
        precision: of products: "float32", "tf32" or "bf16"; incremental steps are always in
            float32.
        compiled: whether networks are compiled, on a GPU.
        memory: bytes for temporaries at most; half of what is free, if that is less.
        limits: at most so many training, validation and test rows.
    """

    n_proposals: int = 20
    n_draws: int = 20
    n_steps: int = 20
    sigma: float = 0.005
    n_epochs: int = 60
    n_seeds: int = 1
    batch_rows: int = 1000
    batch_size: int = 500
    learning_rate: float = 3e-3
    weight_decay: float = 0.05
    n_chains: int = 5
    n_members: int = 8
    baselines: bool = True
    precision: Precision = "tf32"
    compiled: bool = True
    memory: int = 8 << 30
    limits: tuple[int, int, int] | None = None

    def quick(self) -> Self:
        """Sizes that finish in seconds on two cores, CIFAR10 in minutes."""
        sizes = replace(self, n_proposals=3, n_draws=4, n_steps=2, n_epochs=2, n_passes=4)
        sizes = replace(sizes, n_seeds=1, n_chains=2, n_members=2, batch_size=50, batch_rows=25)
        limits = (100, 20, 20)
        return replace(sizes, limits=limits, compiled=False, memory=1 << 31, precision="float32")

    def memory_on(self, device: torch.device) -> int:
        """Bytes for temporaries there."""
        return min(self.memory, free_memory(device))

    @property
    def adam(self) -> Adam:
        """The training of the starting networks."""
        return Adam(
            learning_rate=self.learning_rate,
            batch_size=self.batch_size,
            n_epochs=self.n_epochs,
            schedule="cosine",
            weight_decay=self.weight_decay,
        )
