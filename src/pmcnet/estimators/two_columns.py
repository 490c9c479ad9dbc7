"""Responses with two numbers per row: a value and its known noise, or a time and its event."""

from numbers import Real
from typing import Any

import numpy as np

from pmcnet.bnn.likelihoods.normal_noise import NormalNoise
from pmcnet.bnn.likelihoods.response import Units
from pmcnet.errors import InputError
from pmcnet.estimators.predictions import Array

TIMES = "censored"
"""How the names of likelihoods begin whose response is times and events."""


def is_by_row(noise: Any) -> bool:
    """Whether an estimator's noise is a standard deviation for each row."""
    return not (noise is None or isinstance(noise, str | Real))


def with_noise(y: Array, noise: Any, likelihood: str) -> Array:
    """Values (N,) and the standard deviation of each: (N, 2).

    Args:
        y: the values.
        noise: one number per row, in units of y.
        likelihood: the estimator's.
    """
    if likelihood not in ("auto", "gaussian"):
        raise InputError(
            f"noise of each row is for likelihood gaussian; got likelihood {likelihood}. Leave "
            "noise out."
        )
    try:
        sigma = np.asarray(noise, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"noise must be numbers, the standard deviation of each y ({error}). Or learn it."
        ) from error
    if sigma.shape != y.shape:
        raise InputError(
            f"noise must be one number, or one for each of the {len(y)} rows; got shape "
            f"{sigma.shape}. Select rows of noise as you select rows of X and y."
        )
    return NormalNoise.targets(np.column_stack([y, sigma]), Units())


def times_and_events(y: Any) -> Any:
    """A structured array of times and events as two columns; anything else as it is.

    One field is boolean, whether the event was observed, and the other one is the time.
    """
    fields = getattr(getattr(y, "dtype", None), "fields", None)
    if not fields:
        return y
    events = [name for name, (dtype, *_) in fields.items() if dtype == np.bool_]
    if len(fields) != 2 or len(events) != 1:
        raise InputError(
            "y must have one boolean field, whether the event was observed, and one of numbers, "
            f"the time; got {y.dtype}. Or give two columns, time and event."
        )
    (time,) = set(fields) - set(events)
    return np.column_stack([y[time], y[events[0]]])


def as_numbers(y: Any) -> Array:
    """(N,) or (N, 2)."""
    return np.asarray(times_and_events(y), dtype=np.float64)


def scored_values(y: Any, likelihood: str, n_targets: int) -> Any:
    """The responses (N,) or (N, T) that R squared is of; others are refused.

    Args:
        y: as it was given.
        likelihood: of the model.
        n_targets: that it predicts.
    """
    if not likelihood.startswith(TIMES):
        if n_targets == 1 and np.ndim(y) > 1 and np.shape(y)[1] > 1:
            raise InputError(
                f"y must be one number per row, (N,); got {np.shape(y)}. Give exposures of counts "
                "as exposure=."
            )
        return y
    numbers = as_numbers(y)
    if numbers.ndim == 1:
        return numbers
    n_late = int((numbers[:, 1] == 0).sum())
    if n_late:
        raise InputError(
            f"score is R squared, which needs the time of every event, and {n_late} of "
            f"{len(numbers)} rows are censored. Use log_predictive(X, y).mean(), also as scoring= "
            "of scikit-learn."
        )
    return numbers[:, 0]
