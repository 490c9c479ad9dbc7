"""The paper's problems: rows, network, likelihood."""

from typing import Any, NamedTuple

import torch
from numpy.typing import NDArray
from torch import Tensor

from pmcnet import bnn, data
from pmcnet.ais.target import DEFAULT_MEMORY
from pmcnet.bnn import MLP, Augmentation, BayesianTarget, GaussianPrior, Likelihood, Network

Rows = tuple[Tensor, Tensor]

SIZES = {"ionosphere": (33, 5, 1), "wine": (13, 3, 3), "glass": (9, 10, 6)}
CONTROL_SIZES = (3, 3, 1)


class Problem(NamedTuple):
    """Scaled training, validation and test rows with the network that the paper fits to them.

    `unit` is what one unit of a scaled response stands for; `augmentation` and `memory` are the
    target's.
    """

    name: str
    network: Network
    likelihood: Likelihood
    train: Rows
    validation: Rows | None
    test: Rows
    classes: tuple[str, ...]
    unit: float = 1.0
    augmentation: Augmentation | None = None
    memory: int = DEFAULT_MEMORY

    def target(self, prior_variance: float, *, n_batches: int = 1) -> BayesianTarget:
        """The posterior under N(0, prior_variance) on every weight and bias."""
        return BayesianTarget(
            self.network,
            self.likelihood,
            *self.train,
            prior=GaussianPrior(prior_variance**0.5),
            n_batches=n_batches,
            augmentation=self.augmentation,
            memory=self.memory,
        )


def rows(
    x: NDArray[Any], y: NDArray[Any], device: torch.device, dtype: torch.dtype = torch.float64
) -> Rows:
    """Arrays as tensors on the device."""
    return torch.as_tensor(x).to(device, dtype), torch.as_tensor(y).to(device, dtype)


def paper_problem(name: str, device: torch.device) -> Problem:
    """Ionosphere, Wine or Glass on the paper's rows; the scaler is fitted on the training rows."""
    split = data.standardise(data.paper_split(name))
    return _problem(name, split, SIZES[name], data.load(name).classes, device)


def control_problem(
    n_train: int, seed: int, device: torch.device
) -> tuple[Problem, data.ControlData]:
    """The control data of one random network, labels drawn with its probabilities."""
    made = data.control(n_train, seed=seed, labels="drawn")
    return _problem(f"control-{seed}", made.split, CONTROL_SIZES, ("0", "1"), device), made


def _problem(
    name: str,
    split: data.Split,
    sizes: tuple[int, ...],
    classes: tuple[str, ...],
    device: torch.device,
) -> Problem:
    likelihood: Likelihood = bnn.Bernoulli() if sizes[-1] == 1 else bnn.Categorical(sizes[-1])
    return Problem(
        name=name,
        network=MLP(sizes),
        likelihood=likelihood,
        train=rows(split.x_train, split.y_train, device),
        validation=rows(split.x_val, split.y_val, device) if len(split.y_val) else None,
        test=rows(split.x_test, split.y_test, device),
        classes=classes,
    )
