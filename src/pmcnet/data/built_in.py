"""Built-in datasets as frames with named columns, and a list of what there is."""

from typing import TYPE_CHECKING, TypedDict

import numpy as np

from pmcnet.data.catalogue import load, names
from pmcnet.data.table import Table, Task

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]


class Entry(TypedDict):
    """One line of the catalogue."""

    name: str
    task: Task
    rows: int
    columns: int  # features; the target is one more
    classes: int  # 0 for regression
    source: str
    at_hand: bool  # whether it can be read without fetching anything


def catalogue() -> list[Entry]:
    """What `load` and `read_frame` know by name, in the order of `names()`."""
    return [_entry(load(name)) for name in names()]


def built_in_target(name: str) -> str:
    """The column of `read_frame(name)` that is to be predicted.

    Args:
        name: One of `names()`.
    """
    return _target(load(name))


def built_in_frame(name: str) -> "DataFrame":
    """Features under their names, then the target: class names for a classification, else the response.

    Args:
        name: One of `names()`.
    """
    import pandas as pd  # takes long to import

    table = load(name)
    frame = pd.DataFrame(table.x, columns=list(table.features))
    frame[_target(table)] = np.array(table.classes)[table.y].tolist() if table.classes else table.y
    return frame


def _target(table: Table) -> str:
    name = "target"
    while name in table.features:
        name += "_"
    return name


def _entry(table: Table) -> Entry:
    n_rows, n_columns = table.x.shape
    return Entry(
        name=table.name,
        task=table.task,
        rows=n_rows,
        columns=n_columns,
        classes=len(table.classes),
        source=table.source,
        at_hand=True,
    )
