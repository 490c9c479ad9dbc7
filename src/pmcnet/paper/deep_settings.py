"""Sizes of the large experiments, and how their networks are evaluated and trained."""

from dataclasses import dataclass, replace

import torch

from pmcnet import ais
from pmcnet.bnn.networks.precision import Precision
from pmcnet.methods import Adam, Given, PMCMethod
from pmcnet.paper import deep_problems


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How the large experiments run; M, K and T are the paper's.

    Args:
        n_proposals: M.
        n_draws: K.
        n_steps: T.
        sigma: standard deviation of the first proposals, which the paper does not give.
        prior_std: of the prior that weights are compared under.
        batch_rows: rows of a factor of the incremental step.
        n_epochs: of every training.
        batch_size: rows per step of every training.
        learning_rate: of Adam, with a cosine schedule.
        weight_decay: of ADAM-MLE and the starting networks.
        tuning_share: of the epochs, while a method chooses its setting.
        augmented: whether training changes images at random.
        n_passes: R.
        n_kept: networks that BBP, SGLD and MC dropout keep.
        n_chains: of SAE.
        n_members: of each chain of SAE.
        n_seeds: repetitions.
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
    prior_std: float = 1.0
    batch_rows: int = 1000
    n_epochs: int = 60
    batch_size: int = 500
    learning_rate: float = 3e-3
    weight_decay: float = 0.05
    tuning_share: float = 0.25
    augmented: bool = True
    n_passes: int = 100
    n_kept: int = 100
    n_chains: int = 5
    n_members: int = 8
    n_seeds: int = 1
    baselines: bool = True
    precision: Precision = "tf32"
    compiled: bool = True
    memory: int = 8 << 30
    limits: tuple[int, int, int] | None = None

    def quick(self) -> "Settings":
        """Sizes that finish in seconds on two cores, CIFAR10 in minutes."""
        sizes = replace(
            self,
            n_proposals=3,
            n_draws=4,
            n_steps=2,
            n_epochs=2,
            n_seeds=1,
            n_passes=4,
            batch_size=50,
        )
        sizes = replace(
            sizes, n_kept=4, n_chains=2, n_members=2, limits=(100, 20, 20), batch_rows=25
        )
        return replace(sizes, compiled=False, memory=1 << 31, precision="float32")

    def evaluation(self, device: torch.device) -> deep_problems.Evaluation:
        """How networks are evaluated on this device."""
        return deep_problems.Evaluation(self.precision, self.compiled, self.memory).on(device)

    def adam(self) -> Adam:
        """The training of the starting networks."""
        return Adam(
            learning_rate=self.learning_rate,
            batch_size=self.batch_size,
            n_epochs=self.n_epochs,
            schedule="cosine",
            weight_decay=self.weight_decay,
        )

    def method(self, start: torch.Tensor) -> PMCMethod:
        """PMCnet-light from these networks."""
        return PMCMethod(
            algorithm=replace(ais.pmcnet_light, n_draws=self.n_draws),
            n_proposals=self.n_proposals,
            n_steps=self.n_steps,
            sigma=self.sigma,
            start=Given(start),
        )
