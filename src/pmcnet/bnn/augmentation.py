"""Augmentation: random changes to images that keep their class, for training."""

import math
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional as F

from pmcnet.errors import InputError
from pmcnet.rng import Stream, many_uniform


class Augmentation(Protocol):
    """Images to changed images."""

    def __call__(self, x: Tensor, source: Stream) -> Tensor:
        """(N, C, H, W) -> (N, C, H, W), each image by random numbers of its own from the stream."""
        ...


@dataclass(frozen=True, kw_only=True)
class RandomAffine:
    """Rotation, scaling, shear and shift, each by a uniform amount; `fill` comes in from outside.

    Args:
        degrees: rotated by at most this angle either way.
        scale: sizes from 1 - scale to 1 + scale.
        shear: horizontal slant of at most this much either way.
        shift: pixels either way, in both directions.
        fill: what comes in from outside: the value of the background.
    """

    degrees: float = 0.0
    scale: float = 0.0
    shear: float = 0.0
    shift: float = 0.0
    fill: float = 0.0

    def __post_init__(self) -> None:
        if min(self.degrees, self.scale, self.shear, self.shift) < 0 or self.scale >= 1:
            raise InputError(
                f"degrees, scale, shear and shift must not be negative, scale below 1; got {self}."
            )

    def __call__(self, x: Tensor, source: Stream) -> Tensor:
        """By bilinear interpolation."""
        unit = 2 * many_uniform(source, (5, len(x)), like=x) - 1
        angle, size = math.radians(self.degrees) * unit[0], 1 + self.scale * unit[1]
        cosine, sine = size * angle.cos(), size * angle.sin()
        across, down = (2 * self.shift * unit[i + 3] / x.shape[-1 - i] for i in (0, 1))
        rows = [
            torch.stack([cosine, self.shear * unit[2] - sine, across], -1),
            torch.stack([sine, cosine, down], -1),
        ]
        grid = F.affine_grid(torch.stack(rows, 1), list(x.shape), align_corners=False)
        return F.grid_sample(x - self.fill, grid, align_corners=False) + self.fill


@dataclass(frozen=True, kw_only=True)
class FlipAndCrop:
    """Random flips, and random crops after padding with zeros, as is usual for CIFAR-10.

    Args:
        padding: pixels on every side.
        flip: whether half of the images are mirrored.
    """

    padding: int = 4
    flip: bool = True

    def __post_init__(self) -> None:
        if self.padding < 0:
            raise InputError(f"padding must not be negative; got {self.padding}.")

    def __call__(self, x: Tensor, source: Stream) -> Tensor:
        """The same pixels at other places."""
        n, _, height, width = x.shape
        unit = many_uniform(source, (3, n), like=x)
        down, across = ((2 * self.padding + 1) * unit[:2]).long()  # (N,), (N,)
        i, j = (torch.arange(size, device=x.device) for size in (height, width))
        columns = (
            torch.where((unit[2, :, None] < 0.5) & self.flip, width - 1 - j, j) + across[:, None]
        )  # (N, W)
        rows = i + down[:, None]  # (N, H)
        padded = F.pad(x, (self.padding,) * 4)
        images = torch.arange(n, device=x.device)[:, None, None]
        return padded[images, :, rows[:, :, None], columns[:, None]].permute(0, 3, 1, 2)
