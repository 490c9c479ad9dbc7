"""Tables by name: `load("glass")`.

Two are CSV files shipped in the package, four come with scikit-learn, two are read from the data
folder.
"""

from collections.abc import Callable, Mapping
from importlib import resources
from pathlib import Path
from types import MappingProxyType

import numpy as np

from pmcnet.data.datasets.images import check_no_images
from pmcnet.data.datasets.uci import FOLDER_TABLES, load_folder_table
from pmcnet.data.table import Features, Labels, Table, Task
from pmcnet.errors import InputError

_UCI = "UCI Machine Learning Repository, CC BY 4.0"

_GLASS_TYPES = MappingProxyType(
    {
        1: "building_windows_float",
        2: "building_windows_non_float",
        3: "vehicle_windows_float",
        5: "containers",
        6: "tableware",
        7: "headlamps",
    }
)


def _read_csv(name: str) -> tuple[tuple[str, ...], Features]:
    """Column names and values (N, columns) of one file of the package."""
    with (
        resources.files("pmcnet.data")
        .joinpath("files", f"{name}.csv")
        .open(encoding="utf-8") as lines
    ):
        header = tuple(lines.readline().strip().split(","))
        return header, np.loadtxt(lines, delimiter=",", dtype=np.float64)


def _ionosphere() -> Table:
    columns, values = _read_csv("ionosphere")
    return Table(
        name="ionosphere",
        x=values[:, :-1].copy(),  # (351, 33)
        y=values[:, -1].astype(np.int64),  # (351,)
        task="classification",
        classes=("bad", "good"),
        features=columns[:-1],
        source=f"Sigillito, Wing, Hutton and Baker (1989), Ionosphere. {_UCI}. Constant column 2 left out.",
    )


def _glass() -> Table:
    columns, values = _read_csv("glass")
    return Table(
        name="glass",
        x=values[:, :-1].copy(),  # (214, 9)
        y=np.searchsorted(list(_GLASS_TYPES), values[:, -1]).astype(np.int64),  # (214,)
        task="classification",
        classes=tuple(_GLASS_TYPES.values()),
        features=columns[:-1],
        source=f"German (1987), Glass Identification. {_UCI}. UCI's type 4 has no rows.",
    )


def _from_sklearn(name: str, task: Task, source: str, **options: bool) -> Table:
    """One of scikit-learn's tables; `options` go to its loader."""
    from sklearn import datasets  # type: ignore[import-untyped]  # takes long to import, and imports pandas

    bunch = getattr(datasets, f"load_{name}")(**options)
    classified = task == "classification"
    y: Labels = (
        np.array(bunch.target, np.int64) if classified else np.array(bunch.target, np.float64)
    )
    return Table(
        name=name,
        x=np.array(bunch.data, dtype=np.float64),  # (N, d)
        y=y,  # (N,)
        task=task,
        classes=tuple(map(str, bunch.target_names)) if classified else (),
        features=tuple(map(str, bunch.feature_names)),
        source=f"{source} By way of scikit-learn.",
    )


def _wine() -> Table:
    return _from_sklearn("wine", "classification", f"Aeberhard and Forina (1992), Wine. {_UCI}.")


def _breast_cancer() -> Table:
    source = f"Wolberg, Mangasarian, Street and Street (1993), Breast Cancer Wisconsin (Diagnostic). {_UCI}."
    return _from_sklearn("breast_cancer", "classification", source)


def _digits() -> Table:
    source = (
        f"Alpaydin and Kaynak (1998), Optical Recognition of Handwritten Digits, test rows. {_UCI}."
    )
    return _from_sklearn("digits", "classification", source)


def _diabetes() -> Table:
    # scikit-learn's default is scaled over all rows, which would show the test rows to the training
    # rows
    source = "Efron, Hastie, Johnstone and Tibshirani (2004), Least Angle Regression, Annals of Statistics 32, 407-499."
    return _from_sklearn("diabetes", "regression", source, scaled=False)


_LOADERS: Mapping[str, Callable[[], Table]] = MappingProxyType(
    {
        "ionosphere": _ionosphere,
        "glass": _glass,
        "wine": _wine,
        "breast_cancer": _breast_cancer,
        "digits": _digits,
        "diabetes": _diabetes,
    }
)


def names() -> tuple[str, ...]:
    """What `load` accepts; those of the data folder last."""
    return (*_LOADERS, *FOLDER_TABLES)


def load(name: str, folder: str | Path | None = None, *, verify: bool = True) -> Table:
    """The dataset of that name, raw, in arrays of its own.

    Args:
        name: One of `names()`.
        folder: The data folder, where tables that do not come with the package are looked for; by
            default that of PMCNET_DATA, else the user's cache folder.
        verify: Whether to compare official files of that folder with their published sums.
    """
    check_no_images(name)
    if name in FOLDER_TABLES:
        return load_folder_table(name, folder, verify)
    if name not in _LOADERS:
        known = ", ".join(names())
        raise InputError(
            f"no dataset is named {name!r}. Use one of {known}, or build a Table from your own "
            "arrays."
        )
    return _LOADERS[name]()
