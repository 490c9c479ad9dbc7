"""From settings to rows: the table is read and checked before anything is written."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pmcnet import data
from pmcnet.errors import InputError
from pmcnet.runs.settings import RunSettings, Task

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]

MOST_CLASSES = 10
"""Different whole numbers in a target up to which "auto" takes them for classes."""


class Prepared(NamedTuple):
    """Rows for training and testing, what they are for, and what was noticed about them."""

    settings: RunSettings
    task: Task
    x_train: "DataFrame"
    y_train: NDArray[Any]
    x_test: "DataFrame"
    y_test: NDArray[Any]
    test_rows: NDArray[np.int64]  # positions in the table, from 0
    fingerprint: str
    remarks: tuple[str, ...]


def prepare(settings: RunSettings) -> Prepared:
    """Read the table, find target and task, split the rows."""
    frame = data.read_frame(settings.data)
    place = settings.data if settings.data in data.names() else str(Path(settings.data).resolve())
    settings = replace(settings, data=place, target=_target(settings, frame))
    y, task, remark = _response(frame[settings.target], settings)
    x = _features(frame, settings)
    remarks = [remark] if remark else []
    constant = [name for name in x.columns if x[name].nunique(dropna=False) <= 1]
    if len(constant) == len(x.columns):
        raise InputError("every column but the target is constant, so there is nothing to predict from.")
    if constant:
        remarks.append(f"constant columns say nothing: {', '.join(map(repr, constant[:5]))}.")
    train, test = _split(y, task, settings)
    return Prepared(
        settings,
        task,
        x.iloc[train].reset_index(drop=True),
        y[train],
        x.iloc[test].reset_index(drop=True),
        y[test],
        test,
        data.fingerprint(frame),
        tuple(remarks),
    )


def _target(settings: RunSettings, frame: "DataFrame") -> str:
    if settings.target == "" and settings.data in data.names():
        return data.built_in_target(settings.data)
    columns = [str(name) for name in frame.columns]
    if settings.target not in columns:
        shown = ", ".join(columns[:10]) + (", ..." if len(columns) > 10 else "")
        asked = f"there is no column {settings.target!r}" if settings.target else "no target column was named"
        raise InputError(f"{asked} in {settings.data}; its columns are {shown}. Use --target COLUMN.")
    return settings.target


def _features(frame: "DataFrame", settings: RunSettings) -> "DataFrame":
    missing = [name for name in settings.drop if name not in frame.columns]
    if missing:
        raise InputError(f"columns to drop are not in {settings.data}: {', '.join(missing)}.")
    x = frame.drop(columns=[settings.target, *(name for name in settings.drop if name != settings.target)])
    if x.shape[1] == 0:
        raise InputError(f"{settings.data} has no column besides the target, so there is nothing to predict from.")
    return x


def _response(column: Any, settings: RunSettings) -> tuple[NDArray[Any], Task, str]:
    """The target as an array, the task, and a remark where the task was guessed from numbers."""
    missing = np.flatnonzero(column.isna().to_numpy())
    if len(missing):
        raise InputError(
            f"the target {settings.target!r} is missing in {len(missing)} rows, first in row {missing[0] + 1}. "
            "Drop those rows."
        )
    values = column.to_numpy()
    numeric = values.dtype.kind in "iuf"
    task, remark = settings.task, ""
    if task == "auto":
        distinct = np.unique(values) if numeric else ()
        few = numeric and len(distinct) <= MOST_CLASSES and all(float(value).is_integer() for value in distinct)
        task = "regression" if numeric and not few else "classification"
        if few:
            remark = f"{len(distinct)} different whole numbers were taken for classes; --task regression changes that."
    if task == "regression":
        if not numeric and values.dtype.kind != "b":
            raise InputError(f"the target {settings.target!r} holds texts, which a regression cannot predict.")
        values = values.astype(np.float64)
        if not np.isfinite(values).all():
            row = int(np.flatnonzero(~np.isfinite(values))[0]) + 1
            raise InputError(f"the target {settings.target!r} has an infinity in row {row}. Correct or drop that row.")
        return values, "regression", remark
    if len(set(values.tolist())) < 2:
        raise InputError(f"the target {settings.target!r} has one class only ({values[0]!r}); at least two are needed.")
    labels = values if numeric or values.dtype.kind == "b" else values.astype(str)
    return labels, "classification", remark


def _split(y: NDArray[Any], task: Task, settings: RunSettings) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    from sklearn.model_selection import train_test_split  # type: ignore[import-untyped]

    rows = np.arange(len(y))
    n_test = round(settings.test_share * len(y))
    if len(y) - n_test < 2:
        raise InputError(f"{settings.data} has {len(y)} rows; at least 2 are needed for training. Give more rows.")
    if n_test == 0:
        return rows, rows[:0]
    stratify = None
    if task == "classification":
        counts = np.unique(y, return_counts=True)[1]
        stratify = y if counts.min() >= 2 and n_test >= len(counts) and len(y) - n_test >= len(counts) else None
    train, test = train_test_split(rows, test_size=n_test, random_state=settings.seed, stratify=stratify)
    if task == "classification" and len(set(y[train].tolist())) < 2:
        raise InputError("the training rows hold one class only; give more of the others, or a smaller test_share.")
    return np.sort(train), np.sort(test)
