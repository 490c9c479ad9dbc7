"""Tables shipped with the package as CSV files: Ionosphere and Glass."""

from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from types import MappingProxyType

import numpy as np

from pmcnet.data.datasets.data_folder import Form
from pmcnet.data.datasets.table_set import UCI, TableRows, TableSet

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


def _read(name: str) -> TableRows:
    """The rows of one file of the package; its last column is the class."""
    place = resources.files("pmcnet.data").joinpath("files", f"{name}.csv")
    with place.open(encoding="utf-8") as lines:
        header = lines.readline().strip().split(",")
        values = np.loadtxt(lines, delimiter=",", dtype=np.float64)
    return TableRows(tuple(header[:-1]), values[:, :-1], values[:, -1])


def _read_ionosphere(paths: Sequence[Path], verify: bool) -> TableRows:
    return _read("ionosphere")


def _read_glass(paths: Sequence[Path], verify: bool) -> TableRows:
    rows = _read("glass")
    return rows._replace(y=np.searchsorted(list(_GLASS_TYPES), rows.y))


IONOSPHERE = TableSet(
    name="ionosphere",
    n_rows=351,
    shape=(33,),
    classes=("bad", "good"),
    source=f"Sigillito, Wing, Hutton and Baker (1989), Ionosphere. {UCI}. Constant column 2 left "
    "out.",
    forms=(Form((), _read_ionosphere),),
)
GLASS = TableSet(
    name="glass",
    n_rows=214,
    shape=(9,),
    classes=tuple(_GLASS_TYPES.values()),
    source=f"German (1987), Glass Identification. {UCI}. UCI's type 4 has no rows.",
    forms=(Form((), _read_glass),),
)
