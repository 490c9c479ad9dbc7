"""Training, validation and test rows: one seeded permutation, cut in three.

With p = RandomState(seed).permutation(N), validation takes the first n_val rows of p, test the next
n_test and training the rest, each in the order of p. The paper's rows were drawn by this rule.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pmcnet.data.datasets.catalogue import load
from pmcnet.data.datasets.images import Images, ImageSplit
from pmcnet.data.table import Split, Table
from pmcnet.errors import InputError


@dataclass(frozen=True, kw_only=True)
class SplitSettings:
    """What determines a split of a given table."""

    seed: int
    n_val: int
    n_test: int


PAPER_SPLITS: Mapping[str, SplitSettings] = MappingProxyType(
    {
        "ionosphere": SplitSettings(seed=7, n_val=70, n_test=71),
        "glass": SplitSettings(seed=3, n_val=43, n_test=43),
        "wine": SplitSettings(seed=1, n_val=36, n_test=36),
        "protein": SplitSettings(seed=2, n_val=9146, n_test=9146),
        "naval": SplitSettings(seed=2, n_val=2387, n_test=2387),
    }
)


class Sizes(NamedTuple):
    """Rows of each part."""

    n_train: int
    n_val: int
    n_test: int


def default_sizes(n_rows: int) -> Sizes:
    """6:2:2, rounded as in the paper: training down, then the rest halved, an odd row to test."""
    n_train = n_rows * 6 // 10
    n_val = (n_rows - n_train) // 2
    return Sizes(n_train, n_val, n_rows - n_train - n_val)


def split(table: Table, *, seed: int, n_val: int | None = None, n_test: int | None = None) -> Split:
    """Cut a table in three by the paper's rule.

    Args:
        table: At least one row more than n_val + n_test.
        seed: Of the permutation, below 2**32 (numpy's RandomState takes no more).
        n_val: Validation rows, 0 for none; by default the 2 of 6:2:2.
        n_test: Test rows, 0 for none; by default the 2 of 6:2:2.
    """
    n_rows = len(table.x)
    if len(table.y) != n_rows:
        raise InputError(
            f"{table.name} has {n_rows} rows in x and {len(table.y)} in y. Give one y for each row "
            "of x."
        )
    default = default_sizes(n_rows)
    n_val = default.n_val if n_val is None else n_val
    n_test = default.n_test if n_test is None else n_test
    _check_sizes(table.name, n_rows, n_val, n_test)
    order = _permutation(n_rows, seed)  # (N,)
    val, test, train = np.split(order, [n_val, n_val + n_test])
    x, y = table.x, table.y
    return Split(x[train], y[train], x[val], y[val], x[test], y[test])


def paper_split(name: str, folder: str | Path | None = None) -> Split:
    """The rows the paper trained, validated and tested on.

    Args:
        name: One of `PAPER_SPLITS`.
        folder: The data folder, where protein and naval are looked for, if not the usual one.
    """
    if name not in PAPER_SPLITS:
        known = ", ".join(PAPER_SPLITS)
        raise InputError(
            f"the paper's split of {name!r} is unknown; those of {known} are known. Use split(...)."
        )
    settings = PAPER_SPLITS[name]
    return split(
        load(name, folder), seed=settings.seed, n_val=settings.n_val, n_test=settings.n_test
    )


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
    _check_count("n_validation", n_validation, "images")
    if n_validation >= n_images:
        raise InputError(
            f"{images.name} has {n_images} training images; n_validation={n_validation} leaves "
            f"none for training. It must be at most {n_images - 1}."
        )
    val, train = np.split(_permutation(n_images, seed), [n_validation])
    x, y = images.x_train, images.y_train
    return ImageSplit(x[train], y[train], x[val], y[val], images.x_test, images.y_test)


def _permutation(n_rows: int, seed: int) -> NDArray[np.int64]:
    from pmcnet.rng import check_seed  # imports torch, which takes seconds

    if check_seed(seed) >= 1 << 32:
        raise InputError(f"the seed of a split must be below 2**32; got {seed}. Use a smaller one.")
    # the legacy generator, because the paper's rows came from it; its stream is frozen by numpy
    order = np.random.RandomState(seed).permutation(n_rows)
    return order.astype(np.int64)


def _check_sizes(name: str, n_rows: int, n_val: int, n_test: int) -> None:
    _check_count("n_val", n_val, "rows")
    _check_count("n_test", n_test, "rows")
    if n_val + n_test >= n_rows:
        raise InputError(
            f"{name} has {n_rows} rows; n_val={n_val} and n_test={n_test} leave none for training. "
            f"Together they must be at most {max(n_rows - 1, 0)}."
        )


def _check_count(name: str, n: int, of: str) -> None:
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
        raise InputError(f"{name} must be a whole number of {of}, 0 or more; got {n!r}.")
