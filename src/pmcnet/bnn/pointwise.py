"""What each of many networks says of each row: how probable its y is, and draws of y."""

from collections.abc import Iterator

import torch
from torch import Tensor

from pmcnet.bnn.overflow import refuse_overflow
from pmcnet.bnn.prediction import WeightedNetworks
from pmcnet.rng import Stream


def log_likelihoods(posterior: WeightedNetworks, theta: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Log p(y_n | Phi(theta_j, x_n)): (J, N), float64.

    Args:
        posterior: whose network and likelihood they are.
        theta: the networks (J, D), with the likelihood's own parameters.
        x: inputs (N, ...).
        y: data as the likelihood takes them, (N,) or (N, 2).
    """
    likelihood, y = posterior.likelihood, y.double()
    found = torch.cat(
        [
            likelihood.log_prob(output, y, extra).double()
            for output, extra in _outputs(posterior, theta, x)
        ]
    )
    refuse_overflow(found.isnan().any(0), x.dtype)
    return found


def replicates(posterior: WeightedNetworks, theta: Tensor, x: Tensor, source: Stream) -> Tensor:
    """One draw of y from each network for each row, noise included: (J, N), float64.

    Args:
        posterior: whose network and likelihood they are.
        theta: the networks (J, D), with the likelihood's own parameters.
        x: inputs (N, ...).
        source: of the noise.
    """
    found = torch.cat(
        [
            posterior.likelihood.sample(output, extra, source)
            for output, extra in _outputs(posterior, theta, x)
        ]
    )
    refuse_overflow(~found.isfinite().all(0), x.dtype)
    return found


def _outputs(
    posterior: WeightedNetworks, theta: Tensor, x: Tensor
) -> Iterator[tuple[Tensor, Tensor]]:
    """Outputs (p, N, C) and own parameters (p, E) of as many networks as memory allows."""
    network, n_parameters = posterior.network, posterior.network.layout.dim
    each = 8 * max(1, network.numbers_per_input) * max(1, len(x))
    with torch.no_grad():
        for part in torch.split(theta, max(1, posterior.memory // each)):
            yield network(part[:, :n_parameters], x), part[:, n_parameters:]
