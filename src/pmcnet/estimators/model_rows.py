"""Encoded training rows, and the target that each formulation makes of them."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from pmcnet.bnn import BayesianTarget, GaussianPrior, Network
from pmcnet.bnn.likelihoods.base import Task
from pmcnet.bnn.likelihoods.registry import family
from pmcnet.bnn.likelihoods.response import Response, Units
from pmcnet.bnn.priors.base import Prior
from pmcnet.bnn.priors.registry import PRIORS
from pmcnet.estimators.formulation import Formulation, FoundPrior
from pmcnet.estimators.networks import with_scales


def prior_of(name: str, prior_std: FoundPrior) -> Prior:
    """The prior on a network's parameters; where scales are sampled, they are among these."""
    return GaussianPrior() if isinstance(prior_std, str) else PRIORS[name](float(prior_std))


@dataclass(frozen=True, eq=False)
class ModelRows:
    """Training rows as a network sees them.

    Args:
        x: inputs (N, ...).
        response: y and how often each row counts; its `noise` is that of the formulation.
        task: what is predicted.
        network: makes the network for so many outputs.
        has_layers: whether it is one of hidden layers, not a module.
        prior: of networks whose scales are not sampled, by its name.
        memory: bytes that evaluations may use.
    """

    x: Tensor
    response: Response
    task: Task
    network: Callable[[int], Network]
    has_layers: bool
    prior: str
    memory: int

    def can_sample_scales(self) -> bool:
        """Whether the prior's scales can be sampled with the weights."""
        return self.has_layers and self.prior != "laplace"

    def units(self, formulation: Formulation) -> Units:
        """Those in which the network predicts y."""
        members = family(formulation.likelihood, self.task)
        return members.units(self.response._replace(noise=formulation.noise))

    def target(self, formulation: Formulation) -> BayesianTarget:
        """The posterior under these assumptions."""
        members = family(formulation.likelihood, self.task)
        response = self.response._replace(noise=formulation.noise)
        units = members.units(response)
        likelihood = members.for_response(response, units)
        y = torch.as_tensor(members.targets(response.y, units)).to(self.x)
        counts = None if (response.weight == 1).all() else torch.as_tensor(response.weight)
        network = self.network(likelihood.n_outputs)
        prior_std = formulation.prior_std
        if isinstance(prior_std, str):
            network = with_scales(network, prior_std, self.task)
        return BayesianTarget(
            network,
            likelihood,
            self.x,
            y,
            prior=prior_of(self.prior, prior_std),
            memory=self.memory,
            weight=None if counts is None else counts.to(self.x),
        )
