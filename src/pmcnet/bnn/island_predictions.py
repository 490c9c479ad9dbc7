"""What single networks predict, with the noise: islands and chains are compared by it."""

import torch
from torch import Tensor

from pmcnet.ais.agreement import Predictions
from pmcnet.bnn.likelihoods.base import Likelihood
from pmcnet.bnn.networks.base import Network


def predicted(network: Network, likelihood: Likelihood, theta: Tensor, x: Tensor) -> Predictions:
    """E[y] of rows (N, ...) under networks (n, D), and the variance of the noise."""
    n_parameters = network.layout.dim
    weights, extra = theta[:, :n_parameters], theta[:, n_parameters:]
    with torch.no_grad():
        output = network(weights, x)
        mean = likelihood.mean(output, extra).double()  # (n, N, C)
        noise = torch.zeros_like(mean[..., 0])
        if not likelihood.n_classes:
            noise = likelihood.aleatoric(mean, output, extra).double().expand_as(noise)
    return Predictions(mean, noise)
