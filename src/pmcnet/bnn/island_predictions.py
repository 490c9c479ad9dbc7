"""What single networks predict, with the noise: islands and chains are compared by it."""

import torch
from torch import Tensor

from pmcnet.ais.agreement import Predictions
from pmcnet.bnn.likelihoods.base import Likelihood
from pmcnet.bnn.networks.base import Network


def predicted(network: Network, likelihood: Likelihood, theta: Tensor, x: Tensor) -> Predictions:
    """E[y] of rows (N, ...) under networks (n, D), and the variance of the noise.

    Each target of a row is a prediction of its own.
    """
    n_parameters = network.layout.dim
    weights, extra = theta[:, :n_parameters], theta[:, n_parameters:]
    with torch.no_grad():
        output = network(weights, x)
        mean = likelihood.mean(output, extra).double()  # (n, N, C)
        if likelihood.n_classes:
            return Predictions(mean, torch.zeros_like(mean[..., 0]))
        noise = likelihood.aleatoric(mean, output, extra).double()
        noise = noise.expand(*mean.shape[:2], *noise.shape[2:])
    return Predictions(mean.flatten(1)[..., None], noise.flatten(1))
