"""ResNet-20 as in the paper, and with filter response normalisation as posterior studies use it."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pmcnet.bnn.kernels.frn import normalised
from pmcnet.bnn.networks.wide_conv import WideConv2d, products

_WIDTHS = ((16, 16), (16, 16), (16, 16), (16, 32), (32, 32), (32, 32), (32, 64), (64, 64), (64, 64))


def _convolution(n_in: int, n_out: int, size: int, stride: int, *, bias: bool = True) -> nn.Conv2d:
    if (size, stride) == (3, 1):
        return WideConv2d(n_in, n_out, bias=bias)
    return nn.Conv2d(n_in, n_out, size, stride=stride, padding=size // 2, bias=bias)


class Block(nn.Module):
    """Two 3 x 3 convolutions with batch normalisation and a shortcut without parameters (option A).

    Where the block halves the image, the shortcut takes every second pixel and pads the new
    channels with zeros.
    """

    def __init__(self, n_in: int, n_out: int, stride: int) -> None:
        super().__init__()
        self.conv1 = _convolution(n_in, n_out, 3, stride, bias=False)
        self.bn1 = nn.BatchNorm2d(n_out)
        self.conv2 = _convolution(n_out, n_out, 3, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(n_out)
        self.stride, self.n_new = stride, n_out - n_in

    def forward(self, x: Tensor) -> Tensor:
        """(N, n_in, H, W) -> (N, n_out, H / stride, W / stride)."""
        out = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        shortcut = x[:, :, :: self.stride, :: self.stride]
        shortcut = F.pad(shortcut, (0, 0, 0, 0, self.n_new // 2, self.n_new - self.n_new // 2))
        return F.relu(out + shortcut)


class ResNet20(nn.Sequential):
    """Three stages of three blocks, of 16, 32 and 64 channels; 269722 parameters for 10 classes."""

    def __init__(self, *, n_channels: int = 3, n_classes: int = 10) -> None:
        blocks = [Block(a, b, stride=1 if a == b else 2) for a, b in _WIDTHS]
        super().__init__(
            _convolution(n_channels, 16, 3, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
            *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, n_classes),
        )  # fmt: skip


class FilterResponseNorm(nn.Module):
    """max(gamma x / sqrt(mean x^2 + 1e-6) + beta, tau) for each channel of an image.

    The mean is over pixels (Singh and Krishnan, 2020). No row depends on another, so the likelihood
    is a product over rows.
    """

    def __init__(self, n_channels: int) -> None:
        super().__init__()
        self.weight, self.bias = (
            nn.Parameter(torch.ones(n_channels)),
            nn.Parameter(torch.zeros(n_channels)),
        )
        self.threshold = nn.Parameter(torch.zeros(n_channels))

    def forward(self, x: Tensor) -> Tensor:
        """(N, C, H, W) -> (N, C, H, W)."""
        # one per image, so that gradients are summed over pixels first and over images after
        each = (
            p[:, None, None].expand(len(x), -1, 1, 1)
            for p in (self.weight, self.bias, self.threshold)
        )
        weight, bias, threshold = each
        wide = x.to(weight.dtype)  # in full precision, also between convolutions in bfloat16
        power = wide.square().mean((-2, -1), keepdim=True)
        return torch.maximum(weight * (wide * (power + 1e-6).rsqrt()) + bias, threshold).to(x.dtype)


class Normed(nn.Sequential):
    """A convolution, filter response normalisation, the sum with a shortcut, and swish.

    Args:
        n_in: channels of the input.
        n_out: channels of the output.
        size: of the filters.
        stride: of the convolution.
        swish: whether the activation comes last.
        fused: whether all but the convolution is one operation; see `frn`.
    """

    def __init__(
        self, n_in: int, n_out: int, size: int, stride: int, *, swish: bool = True, fused: bool
    ) -> None:
        super().__init__(_convolution(n_in, n_out, size, stride), FilterResponseNorm(n_out))
        self.swish, self.fused = swish, fused
        # outputs of the convolution and of the rest, which are not called; see `n_numbers`
        self.n_stored = 2 if fused else 0

    def forward(self, x: Tensor, shortcut: Tensor | None = None) -> Tensor:
        """(N, n_in, H, W) -> (N, n_out, H / stride, W / stride)."""
        convolution, norm = self
        assert isinstance(convolution, nn.Conv2d)
        assert isinstance(norm, FilterResponseNorm)
        assert convolution.bias is not None
        if self.fused:
            parameters = torch.stack([convolution.bias, norm.weight, norm.bias, norm.threshold])
            return normalised(products(convolution, x), shortcut, parameters, swish=self.swish)
        out: Tensor = norm(convolution(x))
        out = out if shortcut is None else out + shortcut
        return F.silu(out) if self.swish else out


class FRNBlock(nn.Module):
    """Two 3 x 3 convolutions with normalisation and swish; a 1 x 1 shortcut halves the image."""

    def __init__(self, n_in: int, n_out: int, stride: int, *, fused: bool = False) -> None:
        super().__init__()
        self.first, self.second = (
            Normed(n_in, n_out, 3, stride, fused=fused),
            Normed(n_out, n_out, 3, 1, fused=fused),
        )
        halved = stride > 1
        self.shortcut = (
            Normed(n_in, n_out, 1, stride, swish=False, fused=fused) if halved else nn.Identity()
        )

    def forward(self, x: Tensor) -> Tensor:
        """(N, n_in, H, W) -> (N, n_out, H / stride, W / stride)."""
        out: Tensor = self.second(self.first(x), self.shortcut(x))
        return out


class ResNet20FRN(nn.Sequential):
    """ResNet-20 with filter response normalisation and swish, as Izmailov et al. (2021) sample it.

    It has no batch statistics. Convolutions have biases, and shortcuts that halve the image are
    1 x 1 convolutions.

    Args:
        n_channels: of the images.
        n_classes: outputs.
        fused: whether all between two convolutions is one operation (`frn`): fewer passes over
            memory on a GPU, for networks that `vmap` does not map over.
    """

    def __init__(self, *, n_channels: int = 3, n_classes: int = 10, fused: bool = False) -> None:
        blocks = [FRNBlock(a, b, stride=1 if a == b else 2, fused=fused) for a, b in _WIDTHS]
        stem = Normed(n_channels, 16, 3, 1, fused=fused)
        super().__init__(stem, *blocks, nn.AvgPool2d(8), nn.Flatten(), nn.Linear(64, n_classes))
