"""The target column: numbers to predict or classes, checked before anything is fitted."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pmcnet.errors import InputError
from pmcnet.estimators.columns import are_dates
from pmcnet.runs.config import Task

MOST_CLASSES = 10
"""Different whole numbers in a target up to which "auto" takes them for classes."""


def response_of(column: Any, name: str, task: str) -> tuple[NDArray[Any], Task, str]:
    """The target as an array, the task, and a remark where the task was guessed from numbers.

    Args:
        column: of the whole table.
        name: of the column.
        task: "auto", "regression" or "classification".
    """
    values, remark = present(column, name), ""
    if task == "auto":
        numeric = values.dtype.kind in "iuf"
        distinct = np.unique(values) if numeric else ()
        few = (
            numeric
            and len(distinct) <= MOST_CLASSES
            and all(float(value).is_integer() for value in distinct)
        )
        task = "regression" if numeric and not few else "classification"
        if few:
            remark = (
                f"{len(distinct)} different whole numbers were taken for classes; "
                "--task regression changes that."
            )
    if task == "regression":
        numbers = numbers_of(values, name)
        if numbers.min() == numbers.max():
            raise InputError(
                f"the target {name!r} is {numbers[0]:g} in every row, so there is nothing to "
                "learn. Give rows that differ, or another --target."
            )
        return numbers, "regression", remark
    return _classes(values, name), "classification", remark


def present(column: Any, name: str) -> NDArray[Any]:
    """The values of a target of which none is missing, an infinity or a date."""
    missing = np.flatnonzero(column.isna().to_numpy())
    if len(missing):
        raise InputError(
            f"the target {name!r} is missing in {len(missing)} of {len(column)} rows, first in row "
            f"{missing[0] + 1}. Fill those rows in or drop them."
        )
    values: NDArray[Any] = column.to_numpy()
    if are_dates(values):
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
            f"the target {name!r} holds strings such as {str(values[0])!r}; a regression predicts "
            "numbers. Correct the strings, or use a classification."
        )
    return values.astype(np.float64)


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
    if n_classes == len(labels) > 2:
        raise InputError(
            f"the target {name!r} has a class of its own in each of its {n_classes} rows, so there "
            "is nothing to learn. Give several rows of each class, or another --target."
        )
    return labels
