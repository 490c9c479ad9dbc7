"""The datasets known by name: a new one is a file beside this one and a line here.

`load("glass")` and `load_images("mnist")` read them, `pmcnet datasets` lists them.
"""

from collections.abc import Callable
from pathlib import Path

from pmcnet.data.datasets.base import Entry
from pmcnet.data.datasets.cifar import CIFAR10
from pmcnet.data.datasets.data_folder import data_folder
from pmcnet.data.datasets.downloads import fetched
from pmcnet.data.datasets.images import Images, ImageSet
from pmcnet.data.datasets.mnist import FASHION_MNIST, MNIST
from pmcnet.data.datasets.mnist_c import MNIST_C
from pmcnet.data.datasets.scikit_learn import BREAST_CANCER, DIABETES, DIGITS, WINE
from pmcnet.data.datasets.shipped import GLASS, IONOSPHERE
from pmcnet.data.datasets.svhn import SVHN_GREY
from pmcnet.data.datasets.table_set import TableSet
from pmcnet.data.datasets.uci import NAVAL, PROTEIN
from pmcnet.data.table import Table
from pmcnet.errors import InputError

TABLES: tuple[TableSet, ...] = (
    IONOSPHERE,
    GLASS,
    WINE,
    BREAST_CANCER,
    DIGITS,
    DIABETES,
    PROTEIN,
    NAVAL,
)
IMAGE_SETS: tuple[ImageSet, ...] = (
    MNIST,
    MNIST_C,
    FASHION_MNIST,
    SVHN_GREY,
    CIFAR10,
)


def names() -> tuple[str, ...]:
    """What `load` accepts; those of the data folder last."""
    return tuple(table.name for table in TABLES)


def image_names() -> tuple[str, ...]:
    """What `load_images` accepts."""
    return tuple(images.name for images in IMAGE_SETS)


def catalogue(folder: str | Path | None = None) -> list[Entry]:
    """What is known of each dataset: tables as in `names()`, then images as in `image_names()`.

    No file is opened.

    Args:
        folder: The data folder, if not the usual one.
    """
    return [dataset.entry(folder) for dataset in (*TABLES, *IMAGE_SETS)]


def load(name: str, folder: str | Path | None = None, *, verify: bool = True) -> Table:
    """The table of that name, raw, in arrays of its own.

    Args:
        name: One of `names()`.
        folder: The data folder, where tables that do not come with the package are looked for; by
            default that of PMCNET_DATA, else the user's cache folder.
        verify: Whether to compare official files of that folder with their published sums.
    """
    check_no_images(name)
    table = next((table for table in TABLES if table.name == name), None)
    if table is None:
        raise InputError(
            f"no dataset is named {name!r}. Use one of {', '.join(names())}, or build a Table from "
            "your own arrays."
        )
    return table.load(folder, verify)


def load_images(name: str, folder: str | Path | None = None, *, verify: bool = True) -> Images:
    """The set of that name, from its first form that is in the data folder. Nothing is fetched.

    Args:
        name: One of `image_names()`.
        folder: The data folder; by default that of PMCNET_DATA, else the user's cache folder.
        verify: Whether to compare official files with their published sums; without, smaller files
            of the same form are read too.
    """
    images = next((images for images in IMAGE_SETS if images.name == name), None)
    if images is None:
        raise InputError(
            f"no set of images is named {name!r}. Use one of {', '.join(image_names())}."
        )
    return images.load(folder, verify)


def check_no_images(name: str) -> None:
    """Refuse a set of images where a table is needed."""
    if name in image_names():
        raise InputError(
            f"{name} is a set of images, not a table. Read it with data.load_images({name!r}); "
            "`pmcnet reproduce --list` names the experiments on images."
        )


def _silent(line: str) -> None:
    """Say nothing."""


def fetch(
    name: str, folder: str | Path | None = None, say: Callable[[str], None] = _silent
) -> tuple[Path, ...]:
    """Fetch the official files of a dataset and return where they are; those at hand are kept.

    Args:
        name: Of a dataset that does not come with the package.
        folder: The data folder, made if need be; by default that of PMCNET_DATA, else the user's
            cache folder.
        say: Called with a line for each thing that is done.
    """
    offered = {one.name: one.downloads for one in (*TABLES, *IMAGE_SETS) if one.downloads}
    if name not in offered:
        raise InputError(f"{name!r} is nothing to fetch. These are fetched: {', '.join(offered)}.")
    return tuple(fetched(item, data_folder(folder), say) for item in offered[name])
