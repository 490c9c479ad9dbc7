"""Draws from a categorical distribution by inversion, in the log domain."""

import torch
from torch import Tensor


def categorical(log_weight: Tensor, uniforms: Tensor) -> Tensor:
    """Indices drawn with probability proportional to exp(log_weight), by inversion.

    Args:
        log_weight: (..., K), unnormalised, at least one entry of each row finite.
        uniforms: (..., S) in [0, 1).

    Returns:
        (..., S) indices into the K; an entry of zero weight is never chosen.
    """
    weight = (log_weight - log_weight.amax(-1, keepdim=True)).exp()
    cdf = weight.cumsum(-1)
    index = torch.searchsorted(cdf, uniforms * cdf[..., -1:], right=True)
    # u * total may round up to the total, one past the last entry that has weight
    last = log_weight.shape[-1] - 1 - (weight > 0).flip(-1).int().argmax(-1, keepdim=True)
    return index.minimum(last)
