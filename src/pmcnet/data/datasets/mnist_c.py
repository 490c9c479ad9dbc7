"""MNIST-C, corruption "rotate": MNIST with each digit turned by 0.4 radians to either side.

Mu and Gilmer (2019), MNIST-C: A Robustness Benchmark for Computer Vision. Read from the published
files, or made from MNIST by their recipe: rotation about the centre (13.5, 13.5), linear
interpolation, zeros outside, rounding to bytes. The published files do not say in which direction
an image was turned, so a set that is made has directions of its own.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pmcnet.data.datasets.data_folder import Form
from pmcnet.data.datasets.downloads import Download
from pmcnet.data.datasets.images import ImageSet, Parts, Pixels
from pmcnet.data.datasets.mnist import DIGITS, MNIST, SHAPE, parts, read_arrays
from pmcnet.data.readers.checksums import Published, pieces
from pmcnet.data.readers.npy import BYTES, WHOLE, Wanted, read_npy, read_npz
from pmcnet.errors import InputError

ANGLE = 0.4  # radians
SIGN_SEED = 0
_SIDE = 28
_CENTRE = 13.5
_BLOCK = 8192

ARCHIVE = Published("mnist-c", "4b34b33045869ee6d424616cd3a65da3")
_MADE = f"Made from MNIST by their recipe, directions by seed {SIGN_SEED}."
_WANTED = {
    "train_images": Wanted((60_000, 28, 28, 1), BYTES),
    "train_labels": Wanted((60_000,), WHOLE),
    "test_images": Wanted((10_000, 28, 28, 1), BYTES),
    "test_labels": Wanted((10_000,), WHOLE),
}


def rotate(images: Pixels, signs: NDArray[np.integer[Any]]) -> Pixels:
    """Each image turned by 0.4 radians.

    Args:
        images: Bytes (N, 28, 28) or (N, 1, 28, 28).
        signs: 1 or -1 for each image (N,); 1 turns it anticlockwise as one looks at it.
    """
    if images.dtype != np.uint8 or images.shape[1:] not in ((_SIDE, _SIDE), (1, _SIDE, _SIDE)):
        raise InputError(
            "images must be bytes (N, 28, 28) or (N, 1, 28, 28); got "
            f"{images.dtype} {images.shape}."
        )
    if signs.shape != images.shape[:1] or not np.isin(signs, (-1, 1)).all():
        raise InputError(
            f"signs must be {len(images)} times 1 or -1, one for each image; got shape "
            f"{signs.shape}."
        )
    flat = images.reshape(len(images), _SIDE**2)  # (N, 784)
    turned = np.empty_like(flat)
    for sign in (-1, 1):
        weights = _interpolation(sign)
        rows = np.flatnonzero(signs == sign)
        for start in range(0, len(rows), _BLOCK):
            block = rows[start : start + _BLOCK]
            turned[block] = np.rint(weights @ flat[block].T.astype(np.float64)).T
    return turned.reshape(images.shape)


def random_signs(n_train: int, n_test: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The directions of a set that is made."""
    signs = np.random.RandomState(SIGN_SEED).choice([-1, 1], n_train + n_test).astype(np.int64)
    return signs[:n_train], signs[n_train:]


def _read_archive(paths: Sequence[Path], verify: bool) -> Parts:
    (path,) = paths
    if verify:
        ARCHIVE.check(pieces(path), path)
    wanted = {f"mnist_c/rotate/{name}": one for name, one in _WANTED.items()}
    return parts(*read_npz(path, wanted))


def _read_unpacked(paths: Sequence[Path], verify: bool) -> Parts:
    return parts(*map(read_npy, paths, _WANTED.values()))


def _read_made(paths: Sequence[Path], verify: bool) -> Parts:
    return read_arrays(paths, verify)._replace(remark=_MADE)


def _made_from(form: Form[Parts]) -> Form[Parts]:
    """MNIST in one of its forms, turned."""

    def read(paths: Sequence[Path], verify: bool) -> Parts:
        mnist = form.read(paths, verify)
        train, test = random_signs(len(mnist.x_train), len(mnist.x_test))
        return mnist._replace(
            x_train=rotate(mnist.x_train, train), x_test=rotate(mnist.x_test, test), remark=_MADE
        )

    return Form(form.needs, read)


MNIST_C = ImageSet(
    name="mnist-c",
    n_rows=70_000,
    n_test=10_000,
    shape=SHAPE,
    classes=DIGITS,
    source="Mu and Gilmer (2019), MNIST-C, corruption rotate. CC BY 4.0.",
    forms=(
        Form((("mnist_c.zip", "mnist_c/mnist_c.zip"),), _read_archive),
        Form(tuple((f"mnist_c/rotate/{name}.npy",) for name in _WANTED), _read_unpacked),
        Form((("mnist_c_rotate_regen.npz",),), _read_made),
        *map(_made_from, MNIST.forms),
    ),
    downloads=(
        Download("mnist_c.zip", "https://zenodo.org/record/3239543/files/mnist_c.zip", ARCHIVE),
    ),
)


def _interpolation(sign: int) -> Any:
    """The sparse matrix (784, 784) that rotates an image: at most four weights in each row."""
    from scipy import sparse  # type: ignore[import-untyped]  # takes long to import

    cos, sin = np.cos(ANGLE * sign), np.sin(ANGLE * sign)
    row, column = np.mgrid[:_SIDE, :_SIDE].reshape(2, -1) - _CENTRE  # (784,) each
    source = np.stack([sin * column + cos * row, cos * column - sin * row]) + _CENTRE  # (2, 784)
    corner = np.floor(source).astype(np.int64)
    part = source - corner
    weights = sparse.csr_array((_SIDE**2, _SIDE**2))
    for step in np.ndindex(2, 2):
        at = corner + np.array(step)[:, None]  # (2, 784)
        weight = np.where(np.array(step)[:, None], part, 1 - part).prod(0)  # (784,)
        (inside,) = np.nonzero(((at >= 0) & (at < _SIDE)).all(0))
        places = (inside, at[0, inside] * _SIDE + at[1, inside])
        weights = weights + sparse.csr_array((weight[inside], places), shape=weights.shape)
    return weights
