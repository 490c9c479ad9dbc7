"""From settings to rows: the table is read and checked before anything is written."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pmcnet import data
from pmcnet.data.readers.cells import replaced
from pmcnet.errors import InputError
from pmcnet.estimators.columns import Columns, ColumnsAsked, Matrix
from pmcnet.estimators.evaluation.known_columns import ERROR, NOVELTY, SET
from pmcnet.estimators.evaluation.number_predictions import NumberColumns
from pmcnet.estimators.evaluation.second_column import NO_COLUMN, SecondColumn
from pmcnet.runs.config import RunSettings, Task
from pmcnet.runs.exposures_and_events import (
    ColumnNames,
    check_response,
    missing,
    second_of,
    task_of,
)
from pmcnet.runs.held_out import split, with_all_classes
from pmcnet.runs.target_cells import target_cells
from pmcnet.runs.target_column import response_of, rows_with_target

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]

ADDED = {
    "classification": ("prediction", SET, "epistemic", "aleatoric", ERROR, *NOVELTY),
    "regression": NumberColumns._fields,
}
"""Columns that `pmcnet predict` adds; a classification adds probability_CLASS too."""
NO_ROWS = np.arange(0)
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
    x_missing: "DataFrame | None" = None
    missing_rows: NDArray[np.int64] = NO_ROWS  # whose target is missing, positions in the table
    described: str = ""  # how the table was read
    train_rows: NDArray[np.int64] = NO_ROWS  # positions in the table, from 0


def prepare(settings: RunSettings) -> RunRows:
    """Read the table, find target and task, split the rows."""
    table = data.open_table(settings.data, settings.reading)
    whole = table.frame()
    settings = replace(settings, data=table.place, target=_target(settings, whole))
    cells = target_cells(whole[settings.target], settings.task)
    named = rows_with_target(cells.column, settings)
    frame = replaced(whole, {settings.target: cells.column}).iloc[named.rows]
    _check_size(frame, settings)
    names = ColumnNames(settings.exposure, settings.event)
    second = second_of(frame, names, settings.target, settings.data)
    response = response_of(frame[settings.target], settings.target, task_of(settings))
    y, task = response.y, response.task
    if task == "regression":
        check_response(y, second, settings)
    everything = _features(whole, settings, task)
    x = everything.iloc[named.rows]
    columns = Columns.of(x, columns_asked(settings))
    numbers = columns.matrix(everything)
    _check_varied(columns, numbers[named.rows], settings)
    far = _far(columns, numbers)
    train, test = split(y, _groups(y, task, second), settings.test_share, settings.seed)
    moved = ""
    if task == "classification":
        train, test, moved = with_all_classes(train, test, y)
    remarks = (cells.remark, response.remark, named.remark, _left_out(columns), far, moved)
    return RunRows(
        settings,
        task,
        x.iloc[train].reset_index(drop=True),
        y[train],
        x.iloc[test].reset_index(drop=True),
        y[test],
        named.rows[test],
        data.fingerprint(whole),
        tuple(remark for remark in remarks if remark),
        second.at(train),
        second.at(test),
        everything.iloc[named.missing].reset_index(drop=True),
        named.missing,
        table.described(whole),
        named.rows[train],
    )


def with_validation(prepared: RunRows, share: float, seed: int) -> RunRows:
    """The training rows alone, a share of them held out in the place of the test rows."""
    y = prepared.y_train
    groups = _groups(y, prepared.task, prepared.second_train)
    train, held_out = split(y, groups, share, seed)
    if prepared.task == "classification":
        train, held_out, _ = with_all_classes(train, held_out, y)
    return prepared._replace(
        x_train=prepared.x_train.iloc[train].reset_index(drop=True),
        y_train=y[train],
        x_test=prepared.x_train.iloc[held_out].reset_index(drop=True),
        y_test=y[held_out],
        test_rows=held_out,
        train_rows=train,
        second_train=prepared.second_train.at(train),
        second_test=prepared.second_train.at(held_out),
    )


def columns_asked(settings: RunSettings) -> ColumnsAsked:
    """What the settings say of columns."""
    return ColumnsAsked(settings.column_types, settings.keep)


def _check_varied(columns: Columns, numbers: Matrix, settings: RunSettings) -> None:
    """Refuse a table in which no column varies, unless they are to be kept."""
    same = (numbers == numbers[0]) | (np.isnan(numbers) & np.isnan(numbers[0]))
    names = [column.name for column in columns.columns if column.name not in settings.keep]
    if same.all() and names:
        shown = "; ".join(f"{name!r}: it is constant" for name in names[:5])
        raise InputError(
            f"no column is left to predict from ({shown}). Give columns that vary, or name those "
            "to keep."
        )


def _left_out(columns: Columns) -> str:
    """A remark about the columns that the model does without."""
    if not columns.left_out:
        return ""
    shown = "; ".join(f"{name!r}, {why}" for name, why in columns.left_out[:5])
    more = f"; and {len(columns.left_out) - 5} more" if len(columns.left_out) > 5 else ""
    return f"columns left out: {shown}{more}. --keep NAME keeps one."


def _target(settings: RunSettings, frame: "DataFrame") -> str:
    if settings.target == "" and settings.data in data.names():
        return data.built_in_target(settings.data)
    if settings.target not in map(str, frame.columns):
        raise InputError(missing(frame.columns, settings.target, settings.data, "target"))
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


def _far(columns: Columns, numbers: Matrix) -> str:
    """A remark about a number so large that scaling would leave its column without variation."""
    for column, part in zip(columns.columns, columns.slices, strict=True):
        values = numbers[:, part.start]
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
