"""Normalised filters, whose length has no effect, at the length that the prior expects."""

import torch
from torch import Tensor, nn

from pmcnet.bnn.networks.module import ModuleNetwork
from pmcnet.bnn.networks.resnet import FilterResponseNorm


def at_prior_length(network: ModuleNetwork, theta: Tensor, scale: Tensor) -> Tensor:
    """The same functions (P, D), with normalised filters as long as draws from the prior are.

    Filter response normalisation divides the output of a convolution by its root mean square, so a
    filter and its bias may have any length. Training leaves them short, and noise that suits the
    prior's lengths would change their direction entirely.

    Args:
        network: whose parameters they are.
        theta: parameter vectors; those of the likelihood may follow.
        scale: the prior's standard deviations (D,).
    """
    theta = theta.clone()
    own, expected = (network.layout.unflatten(each) for each in (theta, scale.square()))  # views
    for name, layer in network.module.named_modules():
        if not _is_normalised(layer):
            continue
        names = (f"{name}.0.{kind}".lstrip(".") for kind in ("weight", "bias"))
        keys = [key for key in names if key in own]
        filters = [own[key].reshape(*own[key].shape[:2], -1) for key in keys]  # (P, O, n), views
        length = torch.cat(filters, dim=2).norm(dim=2)  # (P, O)
        variances = [expected[key].reshape(length.shape[1], -1) for key in keys]
        wanted = torch.cat(variances, dim=1).sum(1).sqrt()  # (O,)
        for part in filters:
            part.mul_(torch.where(length > 0, wanted / length, 1.0)[..., None])
    return theta


def _is_normalised(layer: nn.Module) -> bool:
    """Whether it is a convolution followed by filter response normalisation."""
    if not isinstance(layer, nn.Sequential):
        return False
    return [type(part) for part in layer.children()][1:2] == [FilterResponseNorm]
