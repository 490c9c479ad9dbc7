"""LeNet-5, the paper's network for MNIST."""

import torch
from torch import Tensor, nn

from pmcnet.bnn.networks.banded_conv import BandedConv2d


class Bias(nn.Module):
    """Adds a number to each channel."""

    def __init__(self, n_channels: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(n_channels))

    def forward(self, x: Tensor) -> Tensor:
        """(N, C, H, W) -> (N, C, H, W)."""
        return x + self.bias[:, None, None].to(x.dtype)


class LeNet5(nn.Sequential):
    """Two convolutions with max-pooling, then 120, 84 and `n_classes` units.

    It has 61706 parameters for 28 x 28 images. Pooling comes before biases and rectifiers: the same
    function, with a quarter of the additions.
    """

    def __init__(self, *, image_size: int = 28, n_channels: int = 1, n_classes: int = 10) -> None:
        side = (image_size // 2 - 4) // 2
        super().__init__(
            nn.Conv2d(n_channels, 6, 5, padding=2, bias=False), nn.MaxPool2d(2), Bias(6), nn.ReLU(),
            BandedConv2d(6, 16, 5), nn.MaxPool2d(2), Bias(16), nn.ReLU(), nn.Flatten(),
            nn.Linear(16 * side * side, 120), nn.ReLU(),
            nn.Linear(120, 84), nn.ReLU(),
            nn.Linear(84, n_classes),
        )  # fmt: skip
