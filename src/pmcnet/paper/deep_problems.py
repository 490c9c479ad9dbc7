"""The paper's large problems: images with LeNet-5 or ResNet-20, and two regressions with 100-100 units."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from pmcnet import data
from pmcnet.ais.tiling import free_memory
from pmcnet.bnn import (
    MLP,
    Categorical,
    LearnedGaussian,
    LeNet5,
    ModuleNetwork,
    ResNet20,
    ResNet20FRN,
)
from pmcnet.bnn.augmentation import Augmentation, FlipAndCrop, RandomAffine
from pmcnet.bnn.networks.precision import Precision
from pmcnet.paper.problem import Problem, rows

# Rows by which batch normalisation knows its statistics, for every parameter vector anew.
_N_REFERENCE = 500


class Evaluation(NamedTuple):
    """How networks are evaluated: the arithmetic, whether they are compiled, and bytes for temporaries."""

    precision: Precision
    compiled: bool
    memory: int

    def on(self, device: torch.device) -> "Evaluation":
        """As far as the device has it: a compiler, and that much memory."""
        return Evaluation(
            self.precision,
            self.compiled and device.type == "cuda",
            min(self.memory, free_memory(device)),
        )


class _Images(NamedTuple):
    n_validation: int
    n_train: int  # of the paper; the rest is left out
    module: Callable[[], torch.nn.Module]
    augmentation: Callable[[float], Augmentation]  # from the value of a black pixel


_AFFINE = {"degrees": 11.5, "scale": 0.1, "shift": 2.0}
IMAGES = {
    "mnist-c": _Images(15_000, 45_000, LeNet5, lambda black: RandomAffine(**_AFFINE, fill=black)),
    "svhn-g": _Images(
        18_315,
        54_942,
        lambda: LeNet5(image_size=32),
        lambda black: RandomAffine(**_AFFINE, fill=black),
    ),
    "cifar10": _Images(5_000, 45_000, ResNet20, lambda _: FlipAndCrop()),
}
POSTERIORS = {
    "mnist-c-posterior": ("mnist-c", IMAGES["mnist-c"]),
    "cifar10-posterior": (
        "cifar10",
        _Images(0, 50_000, partial(ResNet20FRN, fused=True), lambda _: FlipAndCrop()),
    ),
}
TABLES = {"protein": (9, 100, 100, 1), "naval": (14, 100, 100, 1)}

Limits = tuple[int, int, int]


def image_problem(
    name: str,
    device: torch.device,
    how: Evaluation,
    *,
    augmented: bool,
    limits: Limits | None = None,
) -> Problem:
    """Images in units of the training images, with the paper's numbers of rows.

    Args:
        name: a key of `IMAGES`.
        device: where rows and networks are.
        how: of the networks' evaluation.
        augmented: whether training on mini-batches changes images at random.
        limits: at most so many training, validation and test images.
    """
    return _problem(name, name, IMAGES[name], device, how, augmented=augmented, limits=limits)


def has_outliers(name: str) -> bool:
    """Whether images of another kind are to be told from those of this posterior study: crops of SVHN, in colour."""
    return POSTERIORS[name][0] == "cifar10"


def posterior_problem(
    name: str, device: torch.device, how: Evaluation, *, limits: Limits | None = None
) -> Problem:
    """Images as posterior studies take them: nothing changed at random, and no network with batch statistics.

    With those of CIFAR10 go crops of house numbers, where they are at hand, to tell from them.
    """
    source, kind = POSTERIORS[name]
    crops = data.svhn_crops() if has_outliers(name) else None
    return _problem(name, source, kind, device, how, augmented=False, limits=limits, outliers=crops)


def _problem(
    name: str,
    source: str,
    kind: _Images,
    device: torch.device,
    how: Evaluation,
    *,
    augmented: bool,
    limits: Limits | None,
    outliers: NDArray[np.uint8] | None = None,
) -> Problem:
    images = data.load_images(source)
    split = data.image_split(images, min(kind.n_validation, len(images.y_train) // 4), seed=0)
    n_train, n_val, n_test = limits or (kind.n_train, kind.n_validation, len(images.y_test))
    axes = (0, 2, 3)
    x_train = split.x_train[:n_train]
    centre, spread = (
        x_train.mean(axes, keepdims=True),
        x_train.std(axes, keepdims=True),
    )  # (1, C, 1, 1)

    def part(
        x: NDArray[np.uint8], y: NDArray[np.int64], n: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        return rows((x[:n] - centre) / spread, y[:n], device, torch.float32)

    train = part(split.x_train, split.y_train, n_train)
    module = kind.module()
    reference = train[0][:_N_REFERENCE] if isinstance(module, ResNet20) else None
    network = ModuleNetwork(
        module,
        batch_norm="stored" if reference is None else "reference",
        reference=reference,
        example=train[0][:1].cpu(),
        compiled=how.compiled,
        precision=how.precision,
    )
    return Problem(
        name=name,
        network=network,
        likelihood=Categorical(10),
        train=train,
        validation=part(split.x_val, split.y_val, n_val),
        test=part(split.x_test, split.y_test, n_test),
        classes=images.classes,
        augmentation=kind.augmentation(float(-(centre / spread).mean())) if augmented else None,
        memory=how.memory,
        outliers=None
        if outliers is None
        else part(outliers, np.zeros(len(outliers), np.int64), n_test)[0],
    )


def table_problem(
    name: str, device: torch.device, *, memory: int, limits: Limits | None = None
) -> Problem:
    """Protein or Naval on the paper's rows, inputs and response in units of the training rows; sigma is learned."""
    split = data.standardise(data.paper_split(name))
    centre, unit = float(np.mean(split.y_train)), float(np.std(split.y_train))
    n_train, n_val, n_test = limits or (len(split.y_train), len(split.y_val), len(split.y_test))

    def part(x: data.Features, y: data.Labels, n: int) -> tuple[torch.Tensor, torch.Tensor]:
        return rows(x[:n], (y[:n] - centre) / unit, device, torch.float32)

    return Problem(
        name=name,
        network=MLP(TABLES[name], "relu"),
        likelihood=LearnedGaussian(),
        train=part(split.x_train, split.y_train, n_train),
        validation=part(split.x_val, split.y_val, n_val),
        test=part(split.x_test, split.y_test, n_test),
        classes=(),
        unit=unit,
        memory=memory,
    )
