"""The two studies: networks, images, posterior and samplers of LeNet-5 and of ResNet-20."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import torch

from pmcnet.bnn import LeNet5, ResNet20FRN
from pmcnet.bnn.networks.precision import Precision
from pmcnet.methods import Adam
from pmcnet.methods.sgmcmc.sghmc import SGHMC

MOST_EPOCHS = 1 << 20
"""Of chains, which the budget ends long before."""


@dataclass(frozen=True, kw_only=True)
class Light:
    """PMCnet-light from the starting networks: K draws of each, T steps."""

    n_draws: int = 20
    n_steps: int = 20


@dataclass(frozen=True, kw_only=True)
class Study:
    """One network on one set of images.

    Args:
        images: their name.
        module: makes the network.
        n_validation: images held out for the choices of the baselines; none: a tenth of the
            training images, while they choose.
        has_outliers: whether crops of SVHN are to be recognised as outliers.
        n_chains: P.
        prior_variance: of every parameter.
        likelihood_weight: w, the power of the likelihood.
        adam: training of the starting networks and of the ensemble.
        sghmc: steps of the chains; `chains` adds the schedule.
        burn_in: epochs before the first draw; the noise grows over the first half of them.
        draw_every: epochs from one draw to the next.
        baseline_epochs: of SGLD and MC dropout.
        light: sizes of PMCnet-light.
        precision: of gradients, on a GPU.
        memory: bytes for temporaries, on a GPU.
        limits: at most so many training, validation and test images.
    """

    images: str
    module: Callable[[], torch.nn.Module]
    n_validation: int
    has_outliers: bool = False
    n_chains: int
    prior_variance: float
    likelihood_weight: float
    adam: Adam
    sghmc: SGHMC
    burn_in: int
    draw_every: int
    baseline_epochs: int = 60
    light: Light = Light()
    precision: Precision
    memory: int
    limits: tuple[int, int, int] | None = None

    @property
    def chains(self) -> SGHMC:
        """Constant steps at the posterior's temperature after half of the burn-in."""
        return replace(
            self.sghmc,
            n_cycles=1,
            exploration=0.0,
            heating=0.5 * self.burn_in / MOST_EPOCHS,
            last_step=1.0,
            n_epochs=MOST_EPOCHS,
        )

    def draws_at(self, epoch: int) -> bool:
        """Whether the networks after so many epochs are draws."""
        return epoch >= self.burn_in and (epoch - self.burn_in) % self.draw_every == 0

    def quick(self) -> "Study":
        """Sizes that finish in seconds on two cores, with ResNet-20 in minutes."""
        return replace(
            self,
            n_chains=2,
            adam=replace(self.adam, n_epochs=1, batch_size=25),
            sghmc=replace(self.sghmc, batch_size=25),
            burn_in=2,
            draw_every=1,
            baseline_epochs=1,
            light=Light(n_draws=2, n_steps=1),
            precision="float32",
            limits=(50, 10, 20),
        )


def _adam(n_epochs: int, batch_size: int) -> Adam:
    return Adam(
        objective="map",
        learning_rate=3e-3,
        batch_size=batch_size,
        n_epochs=n_epochs,
        schedule="cosine",
    )


STUDIES = {
    "mnist-c": Study(
        images="mnist-c",
        module=LeNet5,
        n_validation=15_000,
        n_chains=20,
        prior_variance=0.03,
        likelihood_weight=10.0,
        adam=_adam(45, 500),
        sghmc=SGHMC(step=1e-3, cold_step=0.01, information=0.3, batch_size=4500),
        burn_in=300,
        draw_every=5,
        precision="tf32",
        memory=16 << 30,
    ),
    "cifar10": Study(
        images="cifar10",
        module=partial(ResNet20FRN, fused=True),
        n_validation=0,
        has_outliers=True,
        n_chains=8,
        prior_variance=0.2,
        likelihood_weight=3.0,
        adam=_adam(25, 250),
        sghmc=SGHMC(step=6e-5, metric="kronecker", information=0.1, friction=0.02, batch_size=500),
        burn_in=80,
        draw_every=4,
        light=Light(n_steps=2),
        precision="bf16",
        memory=4 << 30,
    ),
}
