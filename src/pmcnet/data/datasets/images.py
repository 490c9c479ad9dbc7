"""Sets of images by name, read from the data folder: `load_images("mnist")`.

Each has an official training and test set; `image_split` takes a validation set out of the training
set.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from pmcnet.data.datasets import cifar, mnist_c, svhn
from pmcnet.data.datasets.folder import Form, at_hand, data_folder, read_first
from pmcnet.data.datasets.pixels import Classes, Parts, Pixels
from pmcnet.data.readers.idx import idx_form
from pmcnet.data.readers.npy import BYTES, WHOLE, Wanted, read_npz
from pmcnet.errors import InputError
from pmcnet.rng import check_seed


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


@dataclass(frozen=True, kw_only=True)
class ImageSet:
    """What is known of a set before it is read."""

    n_train: int
    n_test: int
    shape: tuple[int, int, int]  # of one image (C, H, W)
    classes: tuple[str, ...]
    source: str
    forms: tuple[Form[Parts], ...]  # the first whose files are there is read


def _read_mnist_npz(paths: Sequence[Path], verify: bool) -> Parts:
    sizes = (("train", 60_000), ("test", 10_000))
    images = {f"x_{part}": Wanted((n, 28, 28), BYTES) for part, n in sizes}
    labels = {f"y_{part}": Wanted((n,), WHOLE) for part, n in sizes}
    x_train, x_test, y_train, y_test = read_npz(paths[0], images | labels)
    return Parts(
        x_train[:, None], y_train.astype(np.int64), x_test[:, None], y_test.astype(np.int64)
    )


_DIGITS = tuple("0123456789")
_MNIST = (
    idx_form(
        "mnist",
        (
            "6bbc9ace898e44ae57da46a324031adb",
            "a25bea736e30d166cdddb491f175f624",
            "2646ac647ad5339dbf082846283269ea",
            "27ae3e4e09519cfbb04c329615203637",
        ),
    ),
    Form((("mnist.npz",),), _read_mnist_npz),
)
_FASHION = idx_form(
    "fashion-mnist",
    (
        "f4a8712d7a061bf5bd6d2ca38dc4d50a",
        "9018921c3c673c538a1fc5bad174d6f9",
        "8181f5470baa50b63fa0f6fddb340f0a",
        "15d484375f8d13e6eb1aabb0c3f46965",
    ),
)
_GARMENTS = "t-shirt trouser pullover dress coat sandal shirt sneaker bag ankle_boot"
_OBJECTS = "airplane automobile bird cat deer dog frog horse ship truck"

IMAGE_SETS: Mapping[str, ImageSet] = MappingProxyType(
    {
        "mnist": ImageSet(
            n_train=60_000,
            n_test=10_000,
            shape=(1, 28, 28),
            classes=_DIGITS,
            source="LeCun, Cortes and Burges (1998), The MNIST Database of Handwritten Digits. CC BY-SA 3.0.",
            forms=_MNIST,
        ),
        "mnist-c": ImageSet(
            n_train=60_000,
            n_test=10_000,
            shape=(1, 28, 28),
            classes=_DIGITS,
            source="Mu and Gilmer (2019), MNIST-C, corruption rotate. CC BY 4.0.",
            forms=mnist_c.forms(_MNIST),
        ),
        "fashion-mnist": ImageSet(
            n_train=60_000,
            n_test=10_000,
            shape=(1, 28, 28),
            classes=tuple(_GARMENTS.split()),
            source="Xiao, Rasul and Vollgraf (2017), Fashion-MNIST. MIT licence, Zalando SE.",
            forms=(_FASHION,),
        ),
        "svhn-g": ImageSet(
            n_train=73_257,
            n_test=26_032,
            shape=(1, 32, 32),
            classes=_DIGITS,
            source="Netzer, Wang, Coates, Bissacco, Wu and Ng (2011), Street View House Numbers, cropped digits. "
            "For non-commercial use only. Turned to grey.",
            forms=svhn.FORMS,
        ),
        "cifar10": ImageSet(
            n_train=50_000,
            n_test=10_000,
            shape=(3, 32, 32),
            classes=tuple(_OBJECTS.split()),
            source="Krizhevsky (2009), Learning Multiple Layers of Features from Tiny Images. No licence is stated.",
            forms=cifar.FORMS,
        ),
    }
)


def image_names() -> tuple[str, ...]:
    """What `load_images` accepts."""
    return tuple(IMAGE_SETS)


def load_images(name: str, folder: str | Path | None = None, *, verify: bool = True) -> Images:
    """The set of that name, from the first of its forms that is in the data folder. Nothing is fetched.

    Args:
        name: One of `image_names()`.
        folder: The data folder; by default that of PMCNET_DATA, else the user's cache folder.
        verify: Whether to compare official files with their published sums; without, smaller files
            of the same form are read too.
    """
    if name not in IMAGE_SETS:
        raise InputError(
            f"no set of images is named {name!r}. Use one of {', '.join(image_names())}."
        )
    known = IMAGE_SETS[name]
    parts = read_first(name, known.forms, data_folder(folder), verify)
    parts.check(name, len(known.classes))
    source = f"{known.source} {parts.remark}".rstrip()
    return Images(
        name, parts.x_train, parts.y_train, parts.x_test, parts.y_test, known.classes, source
    )


def images_at_hand(name: str, folder: str | Path | None = None) -> bool:
    """Whether `load_images` would find its files; none is opened."""
    return at_hand(IMAGE_SETS[name].forms, data_folder(folder))


def image_split(images: Images, n_validation: int, seed: int) -> ImageSplit:
    """Take validation images out of the training set; the official test set stays as it is.

    With p = RandomState(seed).permutation(n_train), validation takes the first n_validation images
    of p and training the rest, each in the order of p: the rule of `split`.

    Args:
        images: As `load_images` gives them.
        n_validation: 0 for none, less than the number of training images.
        seed: Of the permutation, below 2**32.
    """
    n_images = len(images.x_train)
    if (
        isinstance(n_validation, bool)
        or not isinstance(n_validation, int | np.integer)
        or n_validation < 0
    ):
        raise InputError(
            f"n_validation must be a whole number of images, 0 or more; got {n_validation!r}."
        )
    if n_validation >= n_images:
        raise InputError(
            f"{images.name} has {n_images} training images; n_validation={n_validation} leaves "
            "none for training. "
            f"It must be at most {n_images - 1}."
        )
    if check_seed(seed) >= 1 << 32:
        raise InputError(f"the seed of a split must be below 2**32; got {seed}. Use a smaller one.")
    order = np.random.RandomState(seed).permutation(n_images)
    val, train = np.split(order, [n_validation])
    x, y = images.x_train, images.y_train
    return ImageSplit(x[train], y[train], x[val], y[val], images.x_test, images.y_test)


def check_no_images(name: str) -> None:
    """Refuse a set of images where a table is needed."""
    if name in IMAGE_SETS:
        raise InputError(
            f"{name} is a set of images, not a table. Read it with data.load_images({name!r}); "
            "`pmcnet reproduce --list` names the experiments on images."
        )
