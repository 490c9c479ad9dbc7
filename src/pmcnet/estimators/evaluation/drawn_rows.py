"""The test rows that single networks predict: all, or some where there are very many."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pmcnet.rng import check_seed, stream

MOST_NUMBERS = 2_000_000
"""Predictions of single networks, all together: so memory does not grow with the rows."""
LEAST_ROWS = 1000
_CHOICE_STEP = (1 << 62) + 7  # far from the steps of any sampler with the same seed


def drawn_rows(n_rows: int, n_each: int, seed: int) -> NDArray[np.int64]:
    """Sorted positions of all rows, or of as many as there is room for, drawn at random.

    Args:
        n_rows: N.
        n_each: predictions of one row: networks times classes.
        seed: of the choice.
    """
    most = max(LEAST_ROWS, MOST_NUMBERS // n_each)
    if n_rows <= most:
        return np.arange(n_rows)
    source = stream(check_seed(seed), _CHOICE_STEP, 0).host
    return np.sort(source.choice(n_rows, most, replace=False))


def drawn_entry(n_drawn: int, n_rows: int) -> dict[str, Any]:
    """What the page says of the choice, where there was one."""
    return {"n_drawn": n_drawn} if n_drawn < n_rows else {}
