"""The response of a regression as finite numbers."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_array, column_or_1d  # type: ignore[import-untyped]

from pmcnet.bnn.likelihoods.multi_target import PREFIX
from pmcnet.errors import InputError
from pmcnet.estimators.columns import are_times
from pmcnet.estimators.predictions import Array
from pmcnet.estimators.two_columns import TIMES, times_and_events


def checked_numbers(y: Any, likelihood: str) -> Array:
    """Y as finite numbers (N,), (N, 2) where it may be times and events, or (N, T).

    Args:
        y: as it was given.
        likelihood: what the estimator's means for it.
    """
    two_columns = likelihood.startswith(TIMES)
    if y is None:
        raise InputError("requires y to be passed, but the target y is None")
    y = times_and_events(y) if two_columns else y
    if are_times(np.asarray(y).ravel()):
        raise InputError(
            "y holds dates; it must hold numbers. Turn them into numbers, e.g. days since the "
            "first."
        )
    try:
        # it looks for infinities by a sum, which may overflow
        with np.errstate(over="ignore", invalid="ignore"):
            array = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    except OverflowError as error:
        raise InputError(
            f"y holds a number too large for double precision ({error}). Scale y."
        ) from error
    except ValueError as error:
        if "could not convert" not in str(error):
            raise
        raise InputError(
            f"y must be numbers ({error}). For classes use PMCNetClassifier."
        ) from error
    several = likelihood.startswith(PREFIX) and array.ndim == 2
    if several or (two_columns and array.ndim > 1 and array.shape[1] == 2):
        return np.asarray(array, dtype=np.float64)
    if array.ndim > 1 and array.shape[1] > 1:
        raise InputError(
            f"y must be one number per row, (N,); got {array.shape}. Fit one model for each column "
            "of y."
        )
    return np.asarray(column_or_1d(array, warn=True), dtype=np.float64)
