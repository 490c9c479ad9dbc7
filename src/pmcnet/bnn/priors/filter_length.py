"""Filters whose length does not matter, at the length that the prior expects."""

import torch
from torch import Tensor, nn

from pmcnet.bnn.networks.architectures import FilterResponseNorm
from pmcnet.bnn.networks.module import ModuleNetwork


def at_prior_length(network: ModuleNetwork, theta: Tensor, scale: Tensor) -> Tensor:
    """Networks (P, D) that compute the same, their normalised filters as long as draws of the prior are.

    What a convolution puts out is divided by its root mean square in filter response normalisation,
    so a filter and its bias may have any length. Training leaves them short, and noise that suits
    the prior's lengths would turn them wholly.

    Args:
        network: whose parameters they are.
        theta: parameter vectors; those of the likelihood may follow.
        scale: the prior's standard deviations (D,).
    """
    theta = theta.clone()
    found, expected = (
        network.layout.unflatten(theta),
        network.layout.unflatten(scale.square()),
    )  # views
    for name, layer in network.module.named_modules():
        if isinstance(layer, nn.Sequential) and [type(part) for part in layer.children()][1:2] == [
            FilterResponseNorm
        ]:
            own = [
                key
                for key in (f"{name}.0.{kind}".lstrip(".") for kind in ("weight", "bias"))
                if key in found
            ]
            filters = [
                found[key].reshape(*found[key].shape[:2], -1) for key in own
            ]  # (P, O, n), views
            length = torch.cat(filters, dim=2).norm(dim=2)  # (P, O)
            wanted = (
                torch.cat([expected[key].reshape(length.shape[1], -1) for key in own], dim=1)
                .sum(1)
                .sqrt()
            )  # (O,)
            for part in filters:
                part.mul_(torch.where(length > 0, wanted / length, 1.0)[..., None])
    return theta
