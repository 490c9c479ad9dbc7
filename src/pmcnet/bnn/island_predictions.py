"""What networks predict, island by island: the Monte Carlo error of averaged predictions."""

import torch
from torch import Tensor

from pmcnet.ais.agreement import IslandMoments, Predictions
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


def island_moments(
    network: Network, likelihood: Likelihood, islands: Tensor, x: Tensor, memory: int
) -> IslandMoments:
    """Averages over each of G islands of k networks (G, k, D), in chunks that fit the memory."""
    numbers = max(1, network.numbers_per_input) * len(x)
    n_chunk = max(1, memory // (8 * numbers))
    parts = []
    for island in islands:
        sums: list[Tensor] = []
        for theta in torch.split(island, n_chunk):
            found = predicted(network, likelihood, theta, x)
            each = (found.mean.sum(0), found.mean.square().sum(0), found.noise.sum(0))
            sums = [a + b for a, b in zip(sums, each, strict=True)] if sums else list(each)
        parts.append(IslandMoments(*(part[None] / len(island) for part in sums)))
    return IslandMoments.joined(parts)
