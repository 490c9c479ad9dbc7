"""Sets of images known by name, whatever their files: `ImageSet`.

Each has an official training and test set; `image_split` takes a validation set out of the training
set.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pmcnet.data.datasets.base import Dataset
from pmcnet.errors import InputError

Pixels = NDArray[np.uint8]  # (N, C, H, W)
Classes = NDArray[np.int64]  # (N,)


class Images(NamedTuple):
    """A set of images, raw: bytes in the order of its source."""

    name: str
    x_train: Pixels  # (n_train, C, H, W)
    y_train: Classes  # (n_train,): class index from 0
    x_test: Pixels  # (n_test, C, H, W)
    y_test: Classes  # (n_test,)
    classes: tuple[str, ...]  # name of each class index
    source: str  # who made it and under which licence


class ImageSplit(NamedTuple):
    """Training, validation and test images."""

    x_train: Pixels  # (n_train, C, H, W)
    y_train: Classes  # (n_train,)
    x_val: Pixels  # (n_val, C, H, W)
    y_val: Classes  # (n_val,)
    x_test: Pixels  # (n_test, C, H, W)
    y_test: Classes  # (n_test,)


class Parts(NamedTuple):
    """What the files of a set hold: pixels and labels of its training and its test set."""

    x_train: Pixels
    y_train: Classes
    x_test: Pixels
    y_test: Classes
    remark: str = ""  # how these files differ from the published ones


@dataclass(frozen=True, kw_only=True)
class ImageSet(Dataset[Parts]):
    """A set of images that `load_images` knows."""

    kind: ClassVar[Literal["images"]] = "images"

    def load(self, folder: str | Path | None, verify: bool) -> Images:
        """The set, raw, in the order of its source."""
        x_train, y_train, x_test, y_test, remark = self.read(folder, verify)
        self._check("training", x_train, y_train)
        self._check("test", x_test, y_test)
        source = f"{self.source} {remark}".rstrip()
        return Images(self.name, x_train, y_train, x_test, y_test, self.classes, source)

    def _check(self, part: str, x: Pixels, y: Classes) -> None:
        """Refuse labels without an image, images without a label and classes that do not exist."""
        if len(x) != len(y):
            raise InputError(
                f"the {part} files of {self.name} hold {len(x)} images and {len(y)} labels. "
                "Replace them by a pair."
            )
        last = len(self.classes) - 1
        if y.min() < 0 or y.max() > last:
            raise InputError(
                f"the {part} labels of {self.name} run from {y.min()} to {y.max()}; 0 to {last} "
                "are possible. Replace them by the official file."
            )
