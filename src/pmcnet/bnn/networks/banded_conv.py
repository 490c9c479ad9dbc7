"""Convolutions of many small networks at once, as products with banded matrices."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class BandedConv2d(nn.Conv2d):
    """A convolution without bias, stride or dilation that on a GPU is one product of matrices.

    The convolution of a population is a grouped one, which GPU libraries run group by group. Here
    each row of an output image is k rows of the input image, as one long vector, times a matrix in
    which the kernel is repeated along a band. Most of its entries are 0, yet for images of some ten
    pixels the batched product is faster, and much more so in the low precisions that matrix units
    are made for.
    """

    def __init__(self, n_in: int, n_out: int, size: int, *, padding: int = 0) -> None:
        super().__init__(n_in, n_out, size, padding=padding, bias=False)
        self._n_padded = padding

    def forward(self, x: Tensor) -> Tensor:
        """(N, n_in, H, W) -> (N, n_out, H', W')."""
        return banded(x, self.weight, self._n_padded) if x.is_cuda else super().forward(x)


def banded(x: Tensor, weight: Tensor, padding: int) -> Tensor:
    """The convolution of images (N, C, H, W) with a kernel (O, C, k, k), as a product."""
    x = F.pad(x, (padding,) * 4)
    (n_rows, _, height, width), (n_out, _, size, _) = x.shape, weight.shape
    high, wide = height - size + 1, width - size + 1
    rows = x.unfold(2, size, 1).permute(0, 2, 1, 4, 3).reshape(n_rows * high, -1)  # (N H', C k W)
    i, j, k = (torch.arange(n, device=x.device) for n in (width, wide, size))
    band = (i[:, None] - j == k[:, None, None]).to(weight.dtype)  # (k, W, W')
    product = torch.einsum("ocyx,xiv->cyiov", weight, band)
    matrix = product.reshape(-1, n_out * wide)  # (C k W, O W')
    return (rows @ matrix).reshape(n_rows, high, n_out, wide).permute(0, 2, 1, 3)
