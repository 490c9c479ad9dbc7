"""Columns of predictions that a method may not know."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pmcnet.estimators.novelty import Novelty

ERROR = "monte_carlo_error"
SET = "prediction_set"
NOVELTY = ("novelty", "is_novel")
COVERAGE = 0.9
"""Of the intervals and sets of test rows."""


def known_columns(columns: Mapping[str, NDArray[Any] | None]) -> dict[str, NDArray[Any]]:
    """The columns that are known: without islands or chains there is no Monte Carlo error."""
    return {name: column for name, column in columns.items() if column is not None}


def novelty_columns(found: Novelty | None) -> dict[str, NDArray[Any] | None]:
    """How unlike the training rows each row is, and 1 where that is beyond 99 % of them."""
    if found is None:
        return dict.fromkeys(NOVELTY)
    return dict(zip(NOVELTY, (found.percentile, found.is_novel.astype(np.int64)), strict=True))


def novelty_entry(found: Novelty | None, row: int) -> dict[str, float]:
    """That of one row, as the page has it."""
    return {} if found is None else {"novelty": float(found.percentile[row])}
