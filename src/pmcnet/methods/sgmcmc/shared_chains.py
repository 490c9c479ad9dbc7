"""Gradients of chains on mini-batches, of which each process works out those of its own chains.

A step needs the gradients of all chains, since they share what batches show (`diagonal_metric`). So
every process has all chains and makes the steps of all of them, with one exchange for each batch.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from pmcnet.ais.comm import Communicator, shared
from pmcnet.ais.target import ValueAndScore
from pmcnet.bnn import BayesianTarget
from pmcnet.bnn.batch import Batch


class SharedChains(NamedTuple):
    """What a target says of P chains, each process working on some of them."""

    target: BayesianTarget
    comm: Communicator

    def batch_likelihood_and_score(self, theta: Tensor, batch: Batch) -> ValueAndScore:
        """Log-likelihoods of a batch at (P, D), and their gradients."""

        def found(own: slice) -> ValueAndScore:
            return self.target.batch_likelihood_and_score(theta[own], batch)

        return ValueAndScore(*shared(self.comm, len(theta), found))

    @torch.no_grad()
    def log_likelihood(self, theta: Tensor) -> Tensor:
        """Log-likelihoods of all rows at (P, D)."""
        likelihood = self.target.log_likelihood
        return shared(self.comm, len(theta), lambda own: [likelihood(theta[own])])[0]
