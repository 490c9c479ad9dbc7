"""Which training rows are held out of the fit, to calibrate on.

Copies are drawn at random, so the rows held out, those trained on and rows to come are
exchangeable. A row of weight k is k copies, and the draw depends on the rows and the seed alone: a
row given twice is as good as one of weight 2, and the order of the rows has no say.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing  # type: ignore[import-untyped]

from pmcnet.errors import InputError
from pmcnet.estimators.columns import Matrix
from pmcnet.estimators.predictions import Array
from pmcnet.estimators.two_columns import TIMES
from pmcnet.requirements import MAPIE
from pmcnet.rng import stream

SHARE = 0.2
LEAST = 19
"""Rows that intervals of 95 % need: ceil((n + 1) .95) <= n."""
MOST = 2000
"""With n rows the coverage varies by sqrt(c (1 - c) / n) from one calibration to the next."""

_MOST_COPIES = float(1 << 53)
_SPLIT_STEP = (1 << 62) + 2  # far from the steps of any sampler with the same seed


class GivenRows(NamedTuple):
    """Checked rows (N, ...), their responses (N,) or (N, 2), and how often each counts (N,)."""

    x: Any
    y: Array
    weight: Array


class SplitRows(NamedTuple):
    """Rows to train on, and those held out, each of weight 1, if any are.

    `trained` are the positions of the rows to train on among those given, None for all.
    """

    training: GivenRows
    held_out: GivenRows | None
    trained: NDArray[np.int64] | None = None


def check_conformal(conformal: Any, likelihood: str) -> None:
    """Raise where an estimator's settings cannot go together."""
    if not isinstance(conformal, bool | np.bool_):
        raise InputError(f"conformal must be True or False; got {conformal!r:.60}.")
    if conformal and likelihood.startswith(TIMES):
        raise InputError(
            "conformal intervals need the value of every y, and times until an event may be "
            f"censored; got likelihood {likelihood}. Leave conformal out."
        )


def split(given: GivenRows, numbers: Matrix, seed: int) -> SplitRows:
    """Hold rows out: a fifth, at least 19 and at most 2000.

    Args:
        given: the training rows.
        numbers: the same rows as numbers (N, ...), by which equal ones are known.
        seed: of the draw.
    """
    MAPIE.require("conformal=True")
    x, y, weight = given
    n_copies = _n_copies(weight)
    order = _canonical_order(numbers, y)
    chosen = stream(seed, _SPLIT_STEP, 0).host.choice(
        n_copies, _n_held_out(n_copies), replace=False, shuffle=False
    )
    ends = np.cumsum(weight[order].astype(np.int64))
    held_out = order[np.searchsorted(ends, np.sort(chosen), side="right")]
    kept = weight - np.bincount(held_out, minlength=len(weight))
    trained = np.flatnonzero(kept > 0)
    return SplitRows(
        GivenRows(_safe_indexing(x, trained), y[trained], kept[trained]),
        GivenRows(_safe_indexing(x, held_out), y[held_out], np.ones(len(held_out))),
        trained,
    )


def readable(held_out: GivenRows, read: Callable[[Any], object]) -> GivenRows:
    """Those of the rows that a model does not refuse, as it does rows to predict.

    Args:
        held_out: rows that the model has not seen.
        read: raises `InputError` where it refuses one.
    """

    def accepted(places: Any) -> Any:
        try:
            read(_safe_indexing(held_out.x, places))
        except InputError:
            half = len(places) // 2
            if not half:
                return places[:0]
            return np.concatenate([accepted(places[:half]), accepted(places[half:])])
        return places

    places = accepted(np.arange(len(held_out.weight)))
    if len(places) < LEAST:
        raise InputError(
            f"only {len(places)} of the {len(held_out.weight)} rows held out have cells of the "
            f"kinds that the others have, and conformal needs {LEAST}. Correct the table, or leave "
            "conformal out."
        )
    x, y, weight = held_out
    return GivenRows(_safe_indexing(x, places), y[places], weight[places])


def _n_copies(weight: Array) -> int:
    broken = np.flatnonzero(weight != np.floor(weight))
    if len(broken):
        raise InputError(
            "conformal counts a row of weight k as k rows, so sample_weight must be whole numbers; "
            f"got {weight[broken[0]]:g} in row {broken[0] + 1}. Round them, or leave conformal out."
        )
    total = float(weight.sum())
    if total > _MOST_COPIES:
        raise InputError(
            f"conformal counts a row of weight k as k rows, at most {_MOST_COPIES:g} together; got "
            f"{total:g}. Divide the weights."
        )
    return int(total)


def _n_held_out(n_copies: int) -> int:
    n = min(max(round(SHARE * n_copies), LEAST), MOST)
    if 2 * n > n_copies:
        raise InputError(
            f"conformal holds at least {n} rows out of the fit, as intervals of 95 % need, and no "
            f"more than half of all; got {n_copies} rows. Give {2 * n} rows, or leave conformal "
            "out."
        )
    return n


def _canonical_order(numbers: Matrix, y: Array) -> Any:
    """Positions of the rows in an order of their own (N,); images stay in the order given."""
    if numbers.ndim > 2:
        return np.arange(len(numbers))
    return np.lexsort(np.column_stack([numbers, y]).T[::-1])  # the first column comes first
