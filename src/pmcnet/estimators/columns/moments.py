"""Weighted averages and standard deviations of columns with missing values, in any unit."""

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


def moments(rows: Matrix, weight: Matrix) -> tuple[Matrix, Matrix]:
    """Weighted mean and standard deviation of each column (d,), missing values left out.

    The standard deviation of a column that does not vary is 1.

    Args:
        rows: (N, d).
        weight: (N, d), 0 where a value is missing.
    """
    known = np.where(weight > 0, rows, 0.0)
    # powers of 2, so that squares stay in range
    unit = np.ldexp(1.0, np.frexp(np.abs(known).max(0))[1] - 1)
    known, total = known / unit, weight.sum(0)
    mean = (weight * known).sum(0) / total
    std = unit * np.sqrt((weight * np.square(known - mean)).sum(0) / total)
    mean = unit * mean
    low = np.where(weight > 0, rows, np.inf).min(0)
    # rounding must not make a constant vary
    constant = low == np.where(weight > 0, rows, -np.inf).max(0)
    return np.where(constant, low, mean), np.where(constant | (std == 0), 1.0, std)


def common_moments(rows: Matrix, weight: Matrix) -> tuple[float, float]:
    """One mean and one standard deviation for all columns."""
    mean, std = moments(rows.reshape(-1, 1), weight.reshape(-1, 1))
    return float(mean[0]), float(std[0])


def scaled(rows: Matrix, mean: Matrix | float, std: Matrix | float) -> Matrix:
    """(x - mean) / std; what overflows is refused in any case."""
    with np.errstate(over="ignore"):
        found: Matrix = (rows - mean) / std
    return found
