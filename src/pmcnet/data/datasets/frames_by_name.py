"""Datasets known by name: tables as frames with named columns, and a list of what there is."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict

import numpy as np

from pmcnet.data.datasets.catalogue import load, names
from pmcnet.data.datasets.images import IMAGE_SETS, images_at_hand
from pmcnet.data.datasets.uci import FOLDER_TABLES, table_at_hand
from pmcnet.data.table import Table, Task

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]


class Entry(TypedDict):
    """One line of the catalogue."""

    name: str
    kind: Literal["table", "images"]
    task: Task
    rows: int
    test_rows: int  # of those, the last that make an official test set
    columns: int  # features; the target is one more
    shape: list[int]  # of the features of one row: columns, or channels, height and width
    classes: int  # 0 for regression
    source: str
    at_hand: bool  # whether it can be read without fetching anything


def catalogue(folder: str | Path | None = None) -> list[Entry]:
    """What is known by name: tables in the order of `names()`, then images in the order of `image_names()`.

    Of what is in the data folder no file is opened.

    Args:
        folder: The data folder, if not the usual one.
    """
    shipped = [_shipped(load(name)) for name in names() if name not in FOLDER_TABLES]
    tables = [_folder_table(name, table_at_hand(name, folder)) for name in FOLDER_TABLES]
    return shipped + tables + [_images(name, images_at_hand(name, folder)) for name in IMAGE_SETS]


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


def _shipped(table: Table) -> Entry:
    n_rows, n_columns = table.x.shape
    return Entry(
        name=table.name,
        kind="table",
        task=table.task,
        rows=n_rows,
        test_rows=0,
        columns=n_columns,
        shape=[n_columns],
        classes=len(table.classes),
        source=table.source,
        at_hand=True,
    )


def _folder_table(name: str, at_hand: bool) -> Entry:
    known = FOLDER_TABLES[name]
    return Entry(
        name=name,
        kind="table",
        task="regression",
        rows=known.n_rows,
        test_rows=0,
        columns=len(known.features),
        shape=[len(known.features)],
        classes=0,
        source=known.source,
        at_hand=at_hand,
    )


def _images(name: str, at_hand: bool) -> Entry:
    known = IMAGE_SETS[name]
    return Entry(
        name=name,
        kind="images",
        task="classification",
        rows=known.n_train + known.n_test,
        test_rows=known.n_test,
        columns=math.prod(known.shape),
        shape=list(known.shape),
        classes=len(known.classes),
        source=known.source,
        at_hand=at_hand,
    )
