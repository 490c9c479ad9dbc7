"""The cells of a target column: numbers where they are, however they are written."""

from typing import Any, NamedTuple

import numpy as np

from pmcnet.errors import InputError
from pmcnet.estimators.columns.given import Given, given_columns
from pmcnet.estimators.columns.missing_words import without_missing_words
from pmcnet.estimators.columns.number import NumberColumn
from pmcnet.estimators.columns.written_numbers import numbers_among

MOST_CLASSES = 10
"""Different numbers in a target up to which they may be classes."""


class TargetCells(NamedTuple):
    """A target column, and a remark on how its cells were read."""

    column: Any
    remark: str


def target_cells(column: Any, task: str = "auto") -> TargetCells:
    """Strings without blanks around them, or as numbers, with words for missing as missing.

    Args:
        column: a Series as a reader gives it.
        task: "auto", "regression" or "classification".
    """
    import pandas as pd  # type: ignore[import-untyped]  # slow to import

    (given,) = given_columns(column.to_frame())
    if given.form != "strings" or given.declared:
        return TargetCells(column, "")
    strings = TargetCells(pd.Series(given.values, column.index, object, column.name), "")
    numbers = numbers_among(given)
    if numbers is None:
        return strings
    values = numbers.numbers(given, 1)[:, 0]
    if numbers.words:
        n_numbers = len(np.unique(values[np.isfinite(values)]))
        if task == "classification" or n_numbers <= MOST_CLASSES:
            return strings
        raise _no_number(given, numbers)
    remark = f"the target {given.name!r} is read as {numbers.why}."
    return TargetCells(pd.Series(values, column.index, name=column.name), remark)


def _no_number(given: Given, numbers: NumberColumn) -> InputError:
    present = without_missing_words(given.values)
    rows = np.flatnonzero(np.isin(present, numbers.words))
    return InputError(
        f"the target {given.name!r} holds numbers, and {len(rows)} cells that are none, first "
        f"{present[rows[0]]!r:.60} in row {rows[0] + 1}. Correct them, or leave them empty where "
        "it is not known."
    )
