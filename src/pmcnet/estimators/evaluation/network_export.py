"""Networks as the page holds them: weights in base64, few enough for a file that people send."""

from base64 import urlsafe_b64encode

import torch
from torch import Tensor

from pmcnet.bnn import MLP, ParticlePosterior
from pmcnet.estimators.evaluation.scores import Record

N_NETWORKS, LEAST_NETWORKS = 100, 40
"""As many are drawn where there is room; fewer than the least would misstate the uncertainty."""


def n_networks(posterior: ParticlePosterior, n_bytes: int) -> int:
    """How many networks fit into so many bytes of base64, at most `N_NETWORKS`."""
    return min(N_NETWORKS, max(0, n_bytes) // _bytes_of_one(posterior))


def most_weights(n_bytes: int) -> int:
    """Numbers that one network may have, if the least number of them must fit."""
    return n_bytes * 3 // (16 * LEAST_NETWORKS)


def exported_networks(posterior: ParticlePosterior) -> Record:
    """Equally weighted networks as plain multilayer perceptrons.

    Networks that were drawn more than once are there once, with the number of times as their
    weight. Prior scales that are sampled with the weights are multiplied into them.

    Args:
        posterior: thinned.
    """
    network = posterior.network
    assert isinstance(network, MLP)
    theta, times = torch.unique(posterior.theta, dim=0, return_counts=True)
    return {
        "n": len(theta),
        "sizes": list(network.sizes),
        "activation": network.activation,
        "n_extra": posterior.likelihood.n_extra,
        "weight": times.tolist(),
        "numbers": base64_floats(plain_weights(network, theta)),
    }


def plain_weights(network: MLP, theta: Tensor) -> Tensor:
    """Weights and biases of the layers, then the likelihood's own parameters (P, W), float64."""
    exact, n = theta.double(), network.layout.dim
    return torch.cat([network.weights(exact[:, :n]), exact[:, n:]], 1)


def base64_floats(numbers: Tensor) -> str:
    """Single precision, little-endian, in the alphabet of URLs, which no page can misread."""
    return urlsafe_b64encode(numbers.cpu().numpy().astype("<f4").tobytes()).decode("ascii")


def _bytes_of_one(posterior: ParticlePosterior) -> int:
    network = posterior.network
    assert isinstance(network, MLP)
    n_numbers = network.layers.dim + posterior.likelihood.n_extra
    return -(-n_numbers * 16 // 3)  # 4 bytes each, 4 characters for 3 bytes
