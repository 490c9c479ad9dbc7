"""Convolutions of few channels as convolutions of more, which GPUs' matrix units are made for."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

_CHANNELS = 64  # from so many on a convolution is fast as it is


class WideConv2d(nn.Conv2d):
    """A 3 x 3 convolution that in bfloat16 on a GPU takes neighbouring pixels as one.

    Padding and stride are 1. Where channels lie last in memory, q neighbours in a row of an image,
    each with C channels, are one pixel with q C channels, and nothing has to be moved. The kernel
    then has q times as many channels and sees three such pixels; the 3 x 3 kernel is repeated in
    it and all else is 0. That is q times the products, by a kernel of the library that is more
    than q times as fast where C is 16 or 32.
    """

    def __init__(self, n_in: int, n_out: int, *, bias: bool = True) -> None:
        super().__init__(n_in, n_out, 3, padding=1, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        """(N, n_in, H, W) -> (N, n_out, H, W)."""
        if self._n_joined(x) == 1:
            return super().forward(x)
        out = products(self, x)
        return out if self.bias is None else out + self.bias[:, None, None].to(out.dtype)

    def _n_joined(self, x: Tensor) -> int:
        fast = x.is_cuda and torch.is_autocast_enabled("cuda")
        return joined(x.shape[-1], max(self.in_channels, self.out_channels)) if fast else 1


def products(layer: nn.Conv2d, x: Tensor) -> Tensor:
    """What a convolution puts out before its bias is added."""
    if isinstance(layer, WideConv2d) and (n_joined := layer._n_joined(x)) > 1:
        return wide(x, layer.weight, n_joined)
    found: Tensor = layer._conv_forward(x, layer.weight, None)
    return found


def joined(width: int, n_channels: int) -> int:
    """How many neighbouring pixels make one of at most 64 channels and divide the width."""
    n = 1
    while 2 * n * n_channels <= _CHANNELS and width % (2 * n) == 0:
        n *= 2
    return n


def wide(x: Tensor, weight: Tensor, n_joined: int) -> Tensor:
    """Images (N, C, H, W) convolved with a kernel (O, C, 3, 3), `n_joined` pixels taken as one."""
    (n_rows, n_in, height, width), n_out, q = x.shape, len(weight), n_joined
    block, source, sink = (torch.arange(n, device=x.device) for n in (3, q, q))
    # (3, q), where a pixel of three blocks is, seen from the middle one
    column = q * (block[:, None] - 1) + source + 1
    # (3, 3, q, q): column of the kernel, block, to, from
    chosen = column[:, None, :] - sink[:, None] == block[:, None, None, None]
    repeated = (weight[..., None, None, None] * chosen.to(weight.dtype)).sum(
        3
    )  # (O, C, 3, 3, q, q)
    kernel = repeated.permute(4, 0, 5, 1, 2, 3).reshape(q * n_out, q * n_in, 3, 3)
    rows = x.permute(0, 2, 3, 1).reshape(n_rows, height, width // q, q * n_in).permute(0, 3, 1, 2)
    out = F.conv2d(rows, kernel, padding=1)
    return out.permute(0, 2, 3, 1).reshape(n_rows, height, width, n_out).permute(0, 3, 1, 2)
