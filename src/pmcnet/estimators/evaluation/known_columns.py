"""Columns of predictions that a method may not know."""

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

ERROR = "monte_carlo_error"
SET = "prediction_set"
COVERAGE = 0.9
"""Of the intervals and sets of test rows."""


def known_columns(columns: Mapping[str, NDArray[Any] | None]) -> dict[str, NDArray[Any]]:
    """The columns that are known: without islands or chains there is no Monte Carlo error."""
    return {name: column for name, column in columns.items() if column is not None}
