"""Responses that are counts, with the exposure of each row as a second column."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pmcnet.bnn.likelihoods.response import Array
from pmcnet.bnn.likelihoods.support import Support
from pmcnet.errors import InputError

MOST_COUNT = 1e15
"""Beyond about ten times that, double precision has no fractions, and whole numbers mean little."""
MOST_EXPOSURE = 1e20
COUNTED = Support(least=0, whole=True)


class CountMoments(NamedTuple):
    """Log of the mean count per exposure, spread of the rates' logarithm, mean count of a row."""

    centre: float
    spread: float
    mean: float


def check_counts(y: Array, *, numbered: bool) -> None:
    """Raise unless y (N,) holds counts, or (N, 2) counts and exposures.

    Args:
        y: the response.
        numbered: whether rows are in the order in which they were given, so that a row's number
            says where the fault is.
    """
    if y.ndim > 2 or y.shape[1:] not in ((), (2,)):
        raise InputError(
            f"y must be counts, (n_rows,), or counts and exposures, (n_rows, 2); got {y.shape}."
        )
    count = y if y.ndim == 1 else y[:, 0]
    _refuse(
        count,
        ~((count >= 0) & (count <= MOST_COUNT) & (np.floor(count) == count)),
        f"y must hold counts, whole numbers from 0 to {MOST_COUNT:g}",
        "Correct that row, or use likelihood gaussian.",
        1 if numbered else None,
    )
    if y.ndim == 2:
        check_exposure(y[:, 1], 1 if numbered else None)


def check_exposure(exposure: Array, first_row: int | None) -> None:
    """Raise unless all are positive and finite (N,).

    Args:
        exposure: of each row.
        first_row: the number of the first row in errors; without it they name none.
    """
    _refuse(
        exposure,
        ~((exposure >= 1 / MOST_EXPOSURE) & (exposure <= MOST_EXPOSURE)),
        f"exposure must be positive, from {1 / MOST_EXPOSURE:g} to {MOST_EXPOSURE:g}",
        "Correct or drop that row.",
        first_row,
    )


def _refuse(
    value: Array, bad: NDArray[np.bool_], wanted: str, remedy: str, first_row: int | None
) -> None:
    """Raise for the first bad row of a column (N,)."""
    if bad.any():
        row = int(bad.argmax())
        place = "" if first_row is None else f" in row {first_row + row}"
        raise InputError(f"{wanted}; got {value[row]:g}{place}. {remedy}")


def count_moments(y: Array, weight: Array) -> CountMoments:
    """What the data say of the rate.

    The spread is that of the log-normal distribution with mean and variance of the rates y /
    exposure, which are weighted by exposure: log(1 + variance / mean^2), its square. Poisson noise
    alone has variance / mean^2 = 1 / mean count, the least that is taken. Where all counts are 0,
    half a count in one row of average weight stands for the sum.
    """
    count, exposure = (y, np.ones(len(y))) if y.ndim == 1 else (y[:, 0], y[:, 1])
    seen = float(weight @ count) or 0.5 * float(weight.mean())
    exposed = weight * exposure
    rate, mean = seen / float(exposed.sum()), seen / float(weight.sum())
    relative = float(exposed @ np.square(count / exposure / rate - 1)) / float(exposed.sum())
    spread = math.sqrt(math.log1p(max(relative, 1 / mean)))
    return CountMoments(math.log(rate), spread, mean)
