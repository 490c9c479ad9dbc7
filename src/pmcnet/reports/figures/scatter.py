"""Predicted against observed values, with intervals."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from pmcnet.errors import InputError
from pmcnet.reports.figures import canvas
from pmcnet.reports.figures.arrays import Array, entry, finite_list

MOST = 400  # intervals drawn; more would be a blot

_FAINT = 60  # beyond so many rows lines are thin


class Intervals(NamedTuple):
    """Observed values and the intervals predicted for them."""

    y: Array  # (n,)
    mean: Array  # (n,)
    low: Array  # (n,)
    high: Array  # (n,)

    @property
    def covered(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which intervals contain the observed value, (n,)."""
        return np.asarray((self.low <= self.y) & (self.y <= self.high))

    def thinned(self) -> "Intervals":
        """Return at most 400 of them, evenly spread over the rows."""
        if self.y.size <= MOST:
            return self
        kept = np.linspace(0, self.y.size - 1, MOST).round().astype(int)
        return Intervals(*(values[kept] for values in self))


def intervals(rows: Sequence[Mapping[str, Any]]) -> Intervals:
    """Return the checked columns of `rows`: y, mean, low, high."""
    columns = [
        finite_list(
            [entry(row, key, f"scatter[{i}]") for i, row in enumerate(rows)], f"scatter {key}"
        )
        for key in Intervals._fields
    ]
    found = Intervals(*columns)
    upside_down = int(np.count_nonzero(found.low > found.high))
    if upside_down:
        raise InputError(
            f"scatter low must not exceed high; it does in {upside_down} of {found.y.size} rows."
        )
    return found


def scatter_panel(ax: Axes, found: Intervals) -> None:
    """Draw every interval over the observed value; one that misses it has a cross."""
    found = found.thinned()
    covered = found.covered
    thin = found.y.size > _FAINT
    for kept, line, dot, marker in (
        (covered, canvas.BARS, canvas.GREY, "o"),
        (~covered, canvas.ACCENT, canvas.ACCENT, "X"),
    ):
        ax.vlines(
            found.y[kept],
            found.low[kept],
            found.high[kept],
            color=line,
            linewidth=0.8 if thin else 1.4,
        )
        size = (4.0 if thin else 5.0) + (marker == "X")
        ax.plot(
            found.y[kept],
            found.mean[kept],
            marker,
            color=dot,
            markersize=size,
            markeredgewidth=0,
            zorder=3,
        )
    _same_limits(ax, found)


def _same_limits(ax: Axes, found: Intervals) -> None:
    everything = np.concatenate(found)
    low, high = float(everything.min()), float(everything.max())
    margin = 0.04 * (high - low) or 0.5 * abs(high) or 0.5
    limits = low - margin, high + margin
    ax.plot(limits, limits, color=canvas.GREY, linewidth=1, linestyle=(0, (4, 3)))
    ax.set(xlim=(float(found.y.min()) - margin, float(found.y.max()) + margin), ylim=limits)
    ax.locator_params(nbins=5)
