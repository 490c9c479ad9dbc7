"""MNIST and Fashion-MNIST: four IDX files each, or an archive of their arrays."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pmcnet.data.datasets.data_folder import Form
from pmcnet.data.datasets.downloads import Download
from pmcnet.data.datasets.images import ImageSet, Parts
from pmcnet.data.readers.checksums import Published
from pmcnet.data.readers.idx import read_idx
from pmcnet.data.readers.npy import BYTES, WHOLE, Wanted, read_npz

SHAPE = (1, 28, 28)
DIGITS = tuple("0123456789")
_GARMENTS = "t-shirt trouser pullover dress coat sandal shirt sneaker bag ankle_boot"
_FILES = {  # training images, training labels, test images, test labels
    "train-images-idx3-ubyte": (60_000, 28, 28),
    "train-labels-idx1-ubyte": (60_000,),
    "t10k-images-idx3-ubyte": (10_000, 28, 28),
    "t10k-labels-idx1-ubyte": (10_000,),
}


def parts(
    x_train: NDArray[Any], y_train: NDArray[Any], x_test: NDArray[Any], y_test: NDArray[Any]
) -> Parts:
    """Images of 28 x 28 bytes with their channel, and labels as whole numbers."""
    return Parts(
        x_train.reshape(-1, *SHAPE),
        y_train.astype(np.int64),
        x_test.reshape(-1, *SHAPE),
        y_test.astype(np.int64),
    )


def read_arrays(paths: Sequence[Path], verify: bool) -> Parts:
    """An .npz file of x_train, y_train, x_test and y_test; these have no published sums."""
    (path,) = paths
    names = ("x_train", "y_train", "x_test", "y_test")
    images_and_labels = (BYTES, WHOLE, BYTES, WHOLE)
    wanted = map(Wanted, _FILES.values(), images_and_labels)
    return parts(*read_npz(path, dict(zip(names, wanted, strict=True))))


def _idx_form(name: str, md5: Sequence[str]) -> Form[Parts]:
    """Four files in a folder of the dataset's name.

    Args:
        name: Of the dataset.
        md5: Of each file, unpacked.
    """

    def read(paths: Sequence[Path], verify: bool) -> Parts:
        known = [Published(name, digest) if verify else None for digest in md5]
        return parts(*map(read_idx, paths, _FILES.values(), known))

    return Form(tuple((f"{name}/{file}.gz", f"{name}/{file}") for file in _FILES), read)


def _downloads(name: str, address: str, md5: Sequence[str]) -> tuple[Download, ...]:
    """The same files, with the sum of each as it is packed."""
    return tuple(
        Download(f"{name}/{file}.gz", f"{address}/{file}.gz", Published(name, digest))
        for file, digest in zip(_FILES, md5, strict=True)
    )


MNIST = ImageSet(
    name="mnist",
    n_rows=70_000,
    n_test=10_000,
    shape=SHAPE,
    classes=DIGITS,
    source="LeCun, Cortes and Burges (1998), The MNIST Database of Handwritten Digits. "
    "CC BY-SA 3.0.",
    forms=(
        _idx_form(
            "mnist",
            (
                "6bbc9ace898e44ae57da46a324031adb",
                "a25bea736e30d166cdddb491f175f624",
                "2646ac647ad5339dbf082846283269ea",
                "27ae3e4e09519cfbb04c329615203637",
            ),
        ),
        Form((("mnist.npz",),), read_arrays),
    ),
    downloads=_downloads(
        "mnist",
        # the authors' own page no longer serves them
        "https://ossci-datasets.s3.amazonaws.com/mnist",
        (
            "f68b3c2dcbeaaa9fbdd348bbdeb94873",
            "d53e105ee54ea40749a09fcbcd1e9432",
            "9fb629c4189551a2d022fa330f9573f3",
            "ec29112dd5afa0611ce80d1b7f02629c",
        ),
    ),
)
FASHION_MNIST = ImageSet(
    name="fashion-mnist",
    n_rows=70_000,
    n_test=10_000,
    shape=SHAPE,
    classes=tuple(_GARMENTS.split()),
    source="Xiao, Rasul and Vollgraf (2017), Fashion-MNIST. MIT licence, Zalando SE.",
    forms=(
        _idx_form(
            "fashion-mnist",
            (
                "f4a8712d7a061bf5bd6d2ca38dc4d50a",
                "9018921c3c673c538a1fc5bad174d6f9",
                "8181f5470baa50b63fa0f6fddb340f0a",
                "15d484375f8d13e6eb1aabb0c3f46965",
            ),
        ),
    ),
    downloads=_downloads(
        "fashion-mnist",
        "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion",
        (
            "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
            "25c81989df183df01b3e8a0aad5dffbe",
            "bef4ecab320f06d8554ea6380940ec79",
            "bb300cfdad3c16e7a12a480ee83cd310",
        ),
    ),
)
