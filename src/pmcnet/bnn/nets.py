"""The paper's deep networks: LeNet-5 and ResNet-20."""

from torch import Tensor, nn
from torch.nn import functional as F


class LeNet5(nn.Sequential):
    """Two convolutions with max-pooling, then 120, 84 and `n_classes` units; 61706 parameters for 28 x 28 images."""

    def __init__(self, *, image_size: int = 28, n_channels: int = 1, n_classes: int = 10) -> None:
        side = (image_size // 2 - 4) // 2
        super().__init__(
            nn.Conv2d(n_channels, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
            nn.Linear(16 * side * side, 120), nn.ReLU(),
            nn.Linear(120, 84), nn.ReLU(),
            nn.Linear(84, n_classes),
        )  # fmt: skip


class Block(nn.Module):
    """Two 3 x 3 convolutions with batch normalisation and a shortcut without parameters (option A).

    Where the block halves the image, the shortcut takes every second pixel and pads the new channels with zeros.
    """

    def __init__(self, n_in: int, n_out: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(n_in, n_out, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(n_out)
        self.conv2 = nn.Conv2d(n_out, n_out, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(n_out)
        self.stride, self.n_new = stride, n_out - n_in

    def forward(self, x: Tensor) -> Tensor:
        """(N, n_in, H, W) -> (N, n_out, H / stride, W / stride)."""
        out = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        shortcut = x[:, :, :: self.stride, :: self.stride]
        shortcut = F.pad(shortcut, (0, 0, 0, 0, self.n_new // 2, self.n_new - self.n_new // 2))
        return F.relu(out + shortcut)


class ResNet20(nn.Sequential):
    """Three stages of three blocks with 16, 32 and 64 channels; 269722 parameters for 10 classes."""

    def __init__(self, *, n_channels: int = 3, n_classes: int = 10) -> None:
        widths = [(16, 16), (16, 16), (16, 16), (16, 32), (32, 32), (32, 32), (32, 64), (64, 64), (64, 64)]
        blocks = [Block(a, b, stride=1 if a == b else 2) for a, b in widths]
        super().__init__(
            nn.Conv2d(n_channels, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
            *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, n_classes),
        )  # fmt: skip
