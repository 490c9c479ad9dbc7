"""Data of the large experiments made small: shapes and classes of the real ones, noise."""

import numpy as np

from pmcnet import data

N_IMAGES, N_TRAIN, N_VAL = 28, 60, 20  # of the images a quarter is for validation
N_TEST = 20
SHAPES = {"mnist-c": (1, 28, 28), "svhn-g": (1, 32, 32), "cifar10": (3, 12, 12)}


def images(name: str) -> data.Images:
    """Images whose brightness tells their class, every class among them."""
    return data.Images(
        name, *_part(name, N_IMAGES, 0), *_part(name, N_TEST, 1), tuple("0123456789"), "made"
    )


def split(name: str) -> data.Split:
    """Rows of a regression in a small unit, as Naval's are."""
    n_features = {"protein": 9, "naval": 14}[name]
    draw = np.random.default_rng(0)
    parts = []
    for n in (N_TRAIN, N_VAL, N_TEST):
        x = draw.normal(size=(n, n_features))
        parts += [x, 0.97 + 0.01 * x[:, 0] + 0.001 * draw.normal(size=n)]
    return data.Split(*parts)


def _part(name: str, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    label = np.arange(n) % 10
    noise = draw.integers(0, 30, (n, *SHAPES[name]))
    return (noise + 20 * label[:, None, None, None]).astype(np.uint8), label.astype(np.int64)
