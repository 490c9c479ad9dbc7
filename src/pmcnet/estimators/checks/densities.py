"""Densities of observed and of replicated responses on one grid, for the page."""

from typing import NamedTuple

import numpy as np

from pmcnet.bnn.likelihoods.support import Support
from pmcnet.estimators.predictions import Array

N_GRID = 61
N_CURVES = 20
_MOST_VALUES = 40  # whole numbers that are shown one by one
_OUTSIDE = 0.25  # of the range of the data, by which the grid goes beyond it at most


class Densities(NamedTuple):
    """Of the observed (G,) and of some replicates (R, G), at points of a grid (G,)."""

    grid: Array
    observed: Array
    replicates: Array


def densities(y: Array, drawn: Array, support: Support, *, wide: bool = False) -> Densities:
    """Densities by normal kernels, folded at the ends of the support.

    Args:
        y: observed (n,).
        drawn: replicates (S, n).
        support: the values that y can have.
        wide: whether the grid has the range of the replicates, and not only that of the data.
    """
    chosen = drawn[np.linspace(0, len(drawn) - 1, min(N_CURVES, len(drawn))).astype(int)]
    low, high = _range(y, drawn, support, wide)
    if support.whole and high - low <= _MOST_VALUES:
        grid = np.arange(np.floor(low), np.ceil(high) + 1)
        return Densities(grid, _shares(y, grid), np.stack([_shares(one, grid) for one in chosen]))
    grid = np.linspace(low, high, N_GRID)
    each = np.stack([_smooth(one, grid, support) for one in chosen])
    return Densities(grid, _smooth(y, grid, support), each)


def _range(y: Array, drawn: Array, support: Support, wide: bool) -> tuple[float, float]:
    """Ends of the grid: those of the data, and of most replicates where they are not far."""
    low, high = float(y.min()), float(y.max())
    ends = np.quantile(drawn, (0.025, 0.975) if wide else (0.005, 0.995))
    far = np.inf if wide else _OUTSIDE * (high - low or abs(high) or 1.0)
    low, high = max(min(low, ends[0]), low - far), min(max(high, ends[1]), high + far)
    low, high = max(low, support.least), min(high, support.most)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _shares(values: Array, grid: Array) -> Array:
    """The share of the values that each whole number has (G,)."""
    return np.asarray((values[:, None] == grid).mean(0))


def _smooth(values: Array, grid: Array, support: Support) -> Array:
    """The density of values at points (G,), its bandwidth by Silverman's rule."""
    low, high = np.quantile(values, (0.25, 0.75))
    spread = min(float(values.std()), float(high - low) / 1.34) or float(values.std())
    width = max(0.9 * spread * len(values) ** -0.2, 1e-3 * float(np.ptp(grid)))
    found = _kernels(values, grid, width)
    for end in (support.least, support.most):
        if np.isfinite(end):
            found = found + _kernels(2 * end - values, grid, width)
    return found


def _kernels(values: Array, grid: Array, width: float) -> Array:
    z = (grid[:, None] - values) / width
    return np.asarray(np.exp(-0.5 * z * z).mean(1) / (width * np.sqrt(2 * np.pi)))
