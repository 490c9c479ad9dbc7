"""The target column: numbers to predict or classes, checked before anything is fitted."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pmcnet.data.readers.cells import listed
from pmcnet.errors import InputError
from pmcnet.estimators.columns import are_times
from pmcnet.estimators.columns.date import written_as
from pmcnet.estimators.columns.given import is_number
from pmcnet.runs.config import RunSettings, Task
from pmcnet.runs.target_cells import MOST_CLASSES

_RARE = 0.1  # share of the rows below which the smallest class is remarked


_MOST_DIFFERENT = 0.5  # classes in a row of the target


class TargetRows(NamedTuple):
    """Positions of the rows to fit and test, of those without a target, and what was noticed."""

    rows: NDArray[np.int64]
    missing: NDArray[np.int64]
    remark: str


class ResponseFound(NamedTuple):
    """The target as an array, the task, and a remark on how it was inferred, or on its classes."""

    y: NDArray[Any]
    task: Task
    remark: str


def rows_with_target(column: Any, settings: RunSettings) -> TargetRows:
    """Leave out rows without a target, and those of classes that are too small."""
    absent = column.isna().to_numpy()
    missing, rows = np.flatnonzero(absent), np.flatnonzero(~absent)
    if not len(rows):
        raise InputError(
            f"the target {settings.target!r} is missing in every row. Name another --target."
        )
    remarks = []
    if len(missing):
        remarks.append(
            f"the target is missing in {len(missing)} of {len(column)} rows; these are not fitted "
            "but predicted."
        )
    if settings.min_class_rows > 1:
        values = column.to_numpy()[rows].astype(str)
        names, place, counts = np.unique(values, return_inverse=True, return_counts=True)
        small = counts < settings.min_class_rows
        if small.any():
            remarks.append(
                f"{int(counts[small].sum())} rows of {int(small.sum())} classes with fewer than "
                f"{settings.min_class_rows} rows are left out: {listed(tuple(names[small]))}."
            )
            rows = rows[~small[place]]
        if small.all():
            raise InputError(
                f"no class has {settings.min_class_rows} rows; the largest has {counts.max()}. Use "
                "a smaller --min-class-rows."
            )
    return TargetRows(rows, missing, " ".join(remarks))


def response_of(column: Any, name: str, task: str) -> ResponseFound:
    """The target, the task, and why.

    Args:
        column: of the rows that have a target.
        name: of the column.
        task: "auto", "regression" or "classification".
    """
    values, why = present(column, name), ""
    if task == "auto":
        task, why = _inferred(values)
    if task == "regression":
        numbers = numbers_of(values, name)
        if numbers.min() == numbers.max():
            raise InputError(
                f"the target {name!r} is {numbers[0]:g} in every row, so there is nothing to "
                "learn. Give rows that differ, or another --target."
            )
        return ResponseFound(numbers, "regression", why)
    labels = _classes(values, name)
    remarks = filter(None, (why, _uneven(labels)))
    return ResponseFound(labels, "classification", " ".join(remarks))


def _inferred(values: NDArray[Any]) -> tuple[Task, str]:
    """The task, and why."""
    distinct = np.unique(values if values.dtype.kind in "biuf" else values.astype(str))
    if values.dtype.kind not in "iuf":
        what = "booleans" if values.dtype.kind == "b" else "strings"
        return "classification", f"classification: the target is {len(distinct)} different {what}."
    if len(distinct) <= MOST_CLASSES and (distinct == np.round(distinct)).all():
        return "classification", (
            f"classification: {len(distinct)} different whole numbers were taken for classes; "
            "--task regression changes that."
        )
    return "regression", f"regression: the target is numbers, {len(distinct)} of them different."


def _uneven(labels: NDArray[Any]) -> str:
    """A remark about rare classes, and how often the commonest is right."""
    names, counts = np.unique(labels, return_counts=True)
    share, rare = counts.max() / len(labels), int(counts.argmin())
    remarks = []
    if counts[rare] == 1:
        remarks.append(
            f"class {str(names[rare])!r} has one row, so nothing can be tested about it; "
            "--min-class-rows 2 leaves such classes out."
        )
    if counts[rare] < _RARE * len(labels):
        remarks.append(
            f"classes are uneven: {str(names[rare])!r} is {counts[rare] / len(labels):.1%} of the "
            f"rows, and always saying {str(names[counts.argmax()])!r} is right in {share:.1%}."
        )
    return " ".join(remarks)


def present(column: Any, name: str) -> NDArray[Any]:
    """The values of a target of which none is missing, an infinity or a date."""
    missing = np.flatnonzero(column.isna().to_numpy())
    if len(missing):
        raise InputError(
            f"the target {name!r} is missing in {len(missing)} of {len(column)} rows, first in row "
            f"{missing[0] + 1}. Fill those rows in or drop them."
        )
    values: NDArray[Any] = column.to_numpy()
    if are_times(values) or (values.dtype.kind == "O" and written_as(values) is not None):
        raise InputError(
            f"the target {name!r} holds dates; it must hold numbers or classes. Turn them into "
            "numbers, e.g. days since the first, or name another --target."
        )
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0]) + 1
        raise InputError(
            f"the target {name!r} has an infinity in row {row}; it must be finite. Correct that "
            "row or drop it."
        )
    return values


def numbers_of(values: NDArray[Any], name: str) -> NDArray[np.float64]:
    """A target as numbers."""
    if values.dtype.kind not in "biuf":
        raise InputError(
            f"the target {name!r} holds strings such as {_no_number(values)!r:.60}; a regression "
            "predicts numbers. Correct the strings, or use a classification."
        )
    return values.astype(np.float64)


def _no_number(values: NDArray[Any]) -> str:
    """The first string that is no number, or the first of all."""
    strings = list(map(str, values))
    return next((cell for cell in strings if not is_number(cell)), strings[0])


def _classes(values: NDArray[Any], name: str) -> NDArray[Any]:
    if values.dtype.kind == "f" and (values != np.round(values)).any():
        raise InputError(
            f"the target {name!r} holds numbers such as {values[values != np.round(values)][0]:g}, "
            "which are no classes. Use --task regression, or write classes as strings or whole "
            "numbers."
        )
    labels = values if values.dtype.kind in "biuf" else values.astype(str)
    n_classes = len(np.unique(labels))
    if n_classes < 2:
        raise InputError(
            f"the target {name!r} has one class only, {str(labels[0])!r}; at least two are needed. "
            "Give rows of another class, or another --target."
        )
    if n_classes == len(labels) > 2 or n_classes > max(MOST_CLASSES, _MOST_DIFFERENT * len(labels)):
        raise InputError(
            f"the target {name!r} has {n_classes} classes in {len(labels)} rows, so there is "
            "nothing to learn of most. Give several rows of each class, or another --target."
        )
    return labels
