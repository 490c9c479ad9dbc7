"""The quantile of calibration scores that a new score stays below with the coverage asked for.

Among n + 1 exchangeable scores the rank of the new one is uniform, so that it exceeds the k-th
smallest of the other n with probability at most 1 - k / (n + 1). With k = ceil((n + 1) coverage) it
stays below with probability `coverage` or more.
"""

import math

import numpy as np

from pmcnet.errors import InputError
from pmcnet.estimators.predictions import Array

_ROUNDING = 1e-9
"""By how much (n + 1) coverage may exceed a whole number that it should be."""


def check_coverage(coverage: float) -> None:
    """Raise unless it lies between 0 and 1."""
    if not 0 < coverage < 1:
        raise InputError(f"coverage must lie between 0 and 1; got {coverage}. Use 0.95 for 95 %.")


def calibrated_score(scores: Array, coverage: float) -> float:
    """The k-th smallest score, k = ceil((n + 1) coverage).

    Args:
        scores: of the calibration rows (n,).
        coverage: between 0 and 1, at most n / (n + 1).
    """
    check_coverage(coverage)
    n = len(scores)
    rank = math.ceil((n + 1) * coverage - _ROUNDING)
    if rank > n:
        raise InputError(
            f"{n} calibration rows allow a coverage of at most {n / (n + 1):.6g}; got {coverage}. "
            "Ask for a smaller one, or fit with more rows."
        )
    return float(np.partition(scores, rank - 1)[rank - 1])
