"""Columns of predictions that a method may not know."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

ERROR = "monte_carlo_error"


def known_columns(columns: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The columns without the Monte Carlo error, where no islands or chains tell it."""
    if np.isnan(columns[ERROR]).any():
        return {name: column for name, column in columns.items() if name != ERROR}
    return columns
