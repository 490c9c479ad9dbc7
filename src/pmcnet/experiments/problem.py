"""The paper's shallow problems: rows, network, likelihood."""

from typing import NamedTuple

import torch
from torch import Tensor

from pmcnet import bnn, data
from pmcnet.bnn import MLP, BayesianTarget, GaussianPrior, Likelihood
from pmcnet.data import Features, Labels

Rows = tuple[Tensor, Tensor]

SIZES = {"ionosphere": (33, 5, 1), "wine": (13, 3, 3), "glass": (9, 10, 6)}
CONTROL_SIZES = (3, 3, 1)


class Problem(NamedTuple):
    """Scaled training, validation and test rows with the network that the paper fits to them."""

    name: str
    network: MLP
    likelihood: Likelihood
    train: Rows
    validation: Rows | None
    test: Rows
    classes: tuple[str, ...]

    def target(self, prior_variance: float, *, n_batches: int = 1) -> BayesianTarget:
        """The posterior under N(0, prior_variance) on every weight and bias."""
        prior = GaussianPrior(prior_variance**0.5)
        return BayesianTarget(self.network, self.likelihood, *self.train, prior=prior, n_batches=n_batches)


def rows(x: Features, y: Labels, device: torch.device) -> Rows:
    """Arrays as float64 tensors on the device."""
    return torch.as_tensor(x).to(device, torch.float64), torch.as_tensor(y).to(device, torch.float64)


def _problem(
    name: str, split: data.Split, sizes: tuple[int, ...], classes: tuple[str, ...], device: torch.device
) -> Problem:
    likelihood: Likelihood = bnn.Bernoulli() if sizes[-1] == 1 else bnn.Categorical(sizes[-1])
    validation = rows(split.x_val, split.y_val, device) if len(split.y_val) else None
    train, test = rows(split.x_train, split.y_train, device), rows(split.x_test, split.y_test, device)
    return Problem(name, MLP(sizes), likelihood, train, validation, test, classes)


def paper_problem(name: str, device: torch.device) -> Problem:
    """Ionosphere, Wine or Glass on the paper's rows; the scaler is fitted on the training rows."""
    split = data.standardise(data.paper_split(name))
    return _problem(name, split, SIZES[name], data.load(name).classes, device)


def control_problem(n_train: int, seed: int, device: torch.device) -> tuple[Problem, data.ControlData]:
    """The control data of one random network, labels drawn with its probabilities."""
    made = data.control(n_train, seed=seed, labels="drawn")
    return _problem(f"control-{seed}", made.split, CONTROL_SIZES, ("0", "1"), device), made
