"""From settings to rows: the table is read and checked before anything is written."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pmcnet import data
from pmcnet.errors import InputError
from pmcnet.estimators.columns import Columns, Matrix
from pmcnet.runs.config import RunSettings, Task
from pmcnet.runs.known_columns import ERROR
from pmcnet.runs.number_predictions import NumberColumns
from pmcnet.runs.second_column import (
    NO_COLUMN,
    ColumnNames,
    SecondColumn,
    check_response,
    missing,
    second_of,
    task_of,
)
from pmcnet.runs.target_column import response_of

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]

ADDED = {
    "classification": ("prediction", "epistemic", "aleatoric", ERROR),
    "regression": NumberColumns._fields,
}
"""Columns that `pmcnet predict` adds; a classification adds probability_CLASS too."""
_FAR = 1e4  # standard deviations of a column's other values


class RunRows(NamedTuple):
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
    second_train: SecondColumn = NO_COLUMN
    second_test: SecondColumn = NO_COLUMN


def prepare(settings: RunSettings) -> RunRows:
    """Read the table, find target and task, split the rows."""
    frame = data.read_frame(settings.data)
    place = settings.data if settings.data in data.names() else str(Path(settings.data).resolve())
    settings = replace(settings, data=place, target=_target(settings, frame))
    _check_size(frame, settings)
    names = ColumnNames(settings.exposure, settings.event)
    second = second_of(frame, names, settings.target, settings.data)
    y, task, guessed = response_of(frame[settings.target], settings.target, task_of(settings))
    if task == "regression":
        check_response(y, second, settings)
    x = _features(frame, settings, task)
    columns = Columns.of(x)
    numbers = columns.matrix(x)  # (N, d)
    constant, far = _constant(columns, numbers), _far(columns, numbers)
    train, test = _split(y, _groups(y, task, second), settings.test_share, settings.seed)
    train, test, moved = _with_all_seen(train, test, columns, numbers, y, task)
    return RunRows(
        settings,
        task,
        x.iloc[train].reset_index(drop=True),
        y[train],
        x.iloc[test].reset_index(drop=True),
        y[test],
        test,
        data.fingerprint(frame),
        tuple(remark for remark in (guessed, constant, far, moved) if remark),
        second.at(train),
        second.at(test),
    )


def with_validation(prepared: RunRows, share: float, seed: int) -> RunRows:
    """The training rows alone, a share of them held out in the place of the test rows."""
    columns = Columns.of(prepared.x_train)
    numbers = columns.matrix(prepared.x_train)
    groups = _groups(prepared.y_train, prepared.task, prepared.second_train)
    train, held_out = _split(prepared.y_train, groups, share, seed)
    train, held_out, _ = _with_all_seen(
        train, held_out, columns, numbers, prepared.y_train, prepared.task
    )
    return prepared._replace(
        x_train=prepared.x_train.iloc[train].reset_index(drop=True),
        y_train=prepared.y_train[train],
        x_test=prepared.x_train.iloc[held_out].reset_index(drop=True),
        y_test=prepared.y_train[held_out],
        test_rows=held_out,
        second_train=prepared.second_train.at(train),
        second_test=prepared.second_train.at(held_out),
    )


def _target(settings: RunSettings, frame: "DataFrame") -> str:
    if settings.target == "" and settings.data in data.names():
        return data.built_in_target(settings.data)
    if settings.target not in map(str, frame.columns):
        raise InputError(missing(frame, settings.target, settings.data, "target"))
    return settings.target


def _check_size(frame: "DataFrame", settings: RunSettings) -> None:
    n_test = round(settings.test_share * len(frame))
    if len(frame) - n_test < 2:
        kept = (
            f", of which test_share={settings.test_share:g} keeps {n_test} for testing"
            if n_test
            else ""
        )
        raise InputError(
            f"{settings.data} has {len(frame)} row{'s'[: len(frame) != 1]}{kept}; at least 2 are "
            "needed for training. Give more rows."
        )


def _features(frame: "DataFrame", settings: RunSettings, task: Task) -> "DataFrame":
    unknown = [name for name in settings.drop if name not in frame.columns]
    if unknown:
        raise InputError(
            f"columns to drop are not in {settings.data}: {', '.join(unknown)}. Correct --drop."
        )
    second = [name for name in (settings.exposure, settings.event) if name]
    x = frame.drop(columns=list({settings.target, *second, *settings.drop}))
    if x.shape[1] == 0:
        named = " and ".join(map(repr, [settings.target, *second]))
        raise InputError(
            f"{settings.data} has no column besides the target {named}, so there is nothing to "
            "predict from. Give more columns."
        )
    clash = next((name for name in ADDED[task] if name in x.columns), None)
    if clash is not None:
        raise InputError(
            f"{settings.data} has a column {clash!r}, as one is called that predictions add. "
            f"Rename it, or leave it out with --drop {clash}."
        )
    return x


def _constant(columns: Columns, numbers: Matrix) -> str:
    """A remark about constant columns; a table with an empty or no other column is refused."""
    missing = np.isnan(numbers)  # (N, d)
    empty = np.flatnonzero(missing.all(0))
    if len(empty):
        name = columns.names[empty[0]]
        raise InputError(
            f"column {name!r} has no values at all. Fill it in, or leave it out with --drop {name}."
        )
    constant = np.flatnonzero(~missing.any(0) & (numbers == numbers[0]).all(0))
    if len(constant) == len(columns.names):
        raise InputError(
            "every column but the target is constant, so there is nothing to predict from. Give "
            "columns that vary."
        )
    shown = ", ".join(repr(columns.names[i]) for i in constant[:5]) + (
        ", ..." if len(constant) > 5 else ""
    )
    return f"constant columns say nothing: {shown}." if len(constant) else ""


def _far(columns: Columns, numbers: Matrix) -> str:
    """A remark about a number so large that scaling would leave its column without variation."""
    for column, values in zip(columns.columns, numbers.T, strict=True):
        known = np.flatnonzero(~np.isnan(values))
        if column.kind != "number" or len(known) < 3:
            continue
        row = known[np.abs(values[known]).argmax()]
        others = values[known[known != row]]
        unit = np.abs(others).max() or 1.0
        spread = (others / unit).std()
        if 0 < spread * _FAR < np.abs(values[row]) / unit:
            return (
                f"column {column.name!r} has {values[row]:g} in row {row + 1}, beside which its "
                "other values hardly differ. If it is a mistake, correct it or leave the row out."
            )
    return ""


def _groups(y: NDArray[Any], task: Task, second: SecondColumn) -> NDArray[Any] | None:
    """What rows are held out in proportion to, if to anything: classes, or events (N,)."""
    return y if task == "classification" else second.event


def _split(
    y: NDArray[Any], groups: NDArray[Any] | None, share: float, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Positions of the rows to keep and of a share to hold out, stratified by group."""
    from sklearn.model_selection import train_test_split  # type: ignore[import-untyped]

    rows = np.arange(len(y))
    n_test = round(share * len(y))
    if n_test == 0:
        return rows, rows[:0]
    stratify = None
    if groups is not None:
        counts = np.unique(groups, return_counts=True)[1]
        stratify = (
            groups
            if counts.min() >= 2 and n_test >= len(counts) and len(y) - n_test >= len(counts)
            else None
        )
    train, test = train_test_split(rows, test_size=n_test, random_state=seed, stratify=stratify)
    return np.sort(train), np.sort(test)


def _with_all_seen(
    train: NDArray[np.int64],
    test: NDArray[np.int64],
    columns: Columns,
    numbers: Matrix,
    y: NDArray[Any],
    task: Task,
) -> tuple[NDArray[np.int64], NDArray[np.int64], str]:
    """The same rows, but test rows with a class or a level unseen in training go to training.

    A model cannot predict from a level it never saw, so such rows could not be tested on.
    """
    unseen = np.zeros((len(test), len(columns.columns)), dtype=bool)
    for i, column in enumerate(columns.columns):
        known, asked = numbers[train, i], numbers[test, i]
        if column.kind == "text" or np.isnan(known).all():
            unseen[:, i] = ~np.isnan(asked) & ~np.isin(asked, known)
    strange = unseen.any(1) if task == "regression" else unseen.any(1) | ~np.isin(y[test], y[train])
    if not strange.any():
        return train, test, ""
    if strange.all() and unseen.any():
        name = columns.names[int(unseen.sum(0).argmax())]
        raise InputError(
            "each row that was to be tested has a string that no other row has, most of them in "
            f"column {name!r}, so none can be predicted. Leave it out with --drop {name} if it is "
            "an identifier, or use --test-share 0."
        )
    remark = (
        f"{int(strange.sum())} rows with classes or strings that no other rows have were taken for "
        "training."
    )
    return np.sort(np.concatenate([train, test[strange]])), test[~strange], remark
