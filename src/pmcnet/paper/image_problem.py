"""The paper's problems of images, in units of the training images."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from pmcnet import data
from pmcnet.bnn import Augmentation, Categorical, ModuleNetwork, RandomAffine
from pmcnet.paper.deep_settings import DeepSettings
from pmcnet.paper.problem import Problem, Rows, rows


@dataclass(frozen=True, kw_only=True)
class ImageProblem:
    """A network for images of ten classes, with the paper's numbers of rows.

    Args:
        name: of the images.
        module: makes the network.
        n_train: training images; the rest is left out.
        n_validation: validation images.
        augmentation: of training images, from the value of a black pixel.
        n_reference: training images by which batch normalisation knows its statistics, for every
            parameter vector anew; none without such layers.
    """

    name: str
    module: Callable[[], torch.nn.Module]
    n_train: int
    n_validation: int
    augmentation: Callable[[float], Augmentation]
    n_reference: int = 0

    def __call__(self, settings: DeepSettings, device: torch.device) -> Problem:
        """With at most as many rows as the settings allow, on the device."""
        images = data.load_images(self.name)
        split = data.image_split(images, min(self.n_validation, len(images.y_train) // 4), seed=0)
        n_train, n_validation, n_test = settings.limits or (
            self.n_train,
            self.n_validation,
            len(images.y_test),
        )
        axes, x_train = (0, 2, 3), split.x_train[:n_train]
        centre, spread = x_train.mean(axes, keepdims=True), x_train.std(axes, keepdims=True)

        def part(x: NDArray[np.uint8], y: NDArray[np.int64], n: int) -> Rows:
            return rows((x[:n] - centre) / spread, y[:n], device, torch.float32)

        train = part(split.x_train, split.y_train, n_train)
        return Problem(
            name=self.name,
            network=self._network(train[0], settings),
            likelihood=Categorical(10),
            train=train,
            validation=part(split.x_val, split.y_val, n_validation),
            test=part(split.x_test, split.y_test, n_test),
            classes=images.classes,
            augmentation=self.augmentation(float(-(centre / spread).mean())),
            memory=settings.memory_on(device),
        )

    def _network(self, x: torch.Tensor, settings: DeepSettings) -> ModuleNetwork:
        return ModuleNetwork(
            self.module(),
            batch_norm="reference" if self.n_reference else "stored",
            reference=x[: self.n_reference] if self.n_reference else None,
            example=x[:1].cpu(),
            compiled=settings.compiled and x.device.type == "cuda",
            precision=settings.precision,
        )


def affine(black: float) -> RandomAffine:
    """Random rotations, scales and shifts of images of digits."""
    return RandomAffine(degrees=11.5, scale=0.1, shift=2.0, fill=black)
