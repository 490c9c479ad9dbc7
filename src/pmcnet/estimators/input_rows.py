"""Rows as scikit-learn checks them, and cells that training had nothing like."""

import warnings
from typing import Any, Literal

import numpy as np
from narwhals.stable.v2.dependencies import is_into_dataframe
from sklearn.base import BaseEstimator  # type: ignore[import-untyped]
from sklearn.utils.validation import check_array, validate_data  # type: ignore[import-untyped]

from pmcnet.errors import InputError, UnseenLevelsWarning
from pmcnet.estimators.columns import Matrix
from pmcnet.estimators.encoding import Encoder

Unseen = Literal["missing", "error"]


def checked_rows(estimator: BaseEstimator, X: Any, *, reset: bool) -> Any:
    """X after scikit-learn's checks: a table as it is, anything else as an array.

    Args:
        estimator: whose rows they are.
        X: rows or images.
        reset: whether the estimator takes number and names of columns from them.
    """
    if hasattr(X, "collect") and not hasattr(X, "to_numpy"):
        raise InputError("X is a lazy frame, whose rows are not there yet. Give X.collect().")
    if is_into_dataframe(X):
        validate_data(estimator, X, skip_check_array=True, reset=reset)
        if len(X) == 0:
            raise InputError("Found array with 0 sample(s), while a minimum of 1 is required.")
        return X
    with np.errstate(over="ignore", invalid="ignore"):  # of a sum that looks for infinities
        array = check_array(
            X, dtype=None, ensure_all_finite="allow-nan", allow_nd=True, estimator=estimator
        )
    if array.dtype.kind == "U" and not hasattr(X, "dtype"):
        array = np.array(X, dtype=object)  # numpy writes the numbers of such lists as strings
    flat = array if array.ndim == 2 else array.reshape(len(array), -1)
    validate_data(estimator, flat, skip_check_array=True, reset=reset)
    return array


def check_seen(encoder: Encoder, rows: Matrix, unseen: Unseen, first_row: int = 1) -> None:
    """Warn of cells that training had nothing like, or refuse them.

    Args:
        encoder: that knows the levels of categories, and how numbers and dates are written.
        rows: as numbers.
        unseen: what to do.
        first_row: number of the first row, for errors.
    """
    found = encoder.unseen(rows)
    if not found:
        return
    if unseen == "error":
        name, where = next(iter(found.items()))
        raise InputError(
            f"column {name!r} has a cell in row {where[0] + first_row} that is unlike those of "
            "training: a new level, or no number or date. Correct it, leave it empty, or use "
            "unseen='missing'."
        )
    counts = {name: len(where) for name, where in found.items()}
    warnings.warn(UnseenLevelsWarning(counts), stacklevel=3)
