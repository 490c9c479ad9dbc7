"""A fan: predictive intervals of rows in the order of their prediction, and observed values."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from pmcnet.errors import InputError
from pmcnet.reports.figures import canvas
from pmcnet.reports.figures.arrays import Array, entry, finite_list

COLOURS = {"50": "80", "80": "95", "95": "99"}
"""The tint of each band, darker where likelier."""
_FAINT = 100  # beyond so many rows dots are small


class Fan(NamedTuple):
    """Rows in the order of their mean: observed values, means and bands by their level."""

    y: Array  # (f,)
    mean: Array  # (f,)
    bands: dict[str, tuple[Array, Array]]  # low, high, each (f,)

    def inside(self, level: str) -> NDArray[np.bool_]:
        """Which observed values a band holds, (f,)."""
        low, high = self.bands[level]
        return np.asarray((low <= self.y) & (self.y <= high))


def fan(data: Mapping[str, Any]) -> Fan:
    """Return the checked rows and bands."""
    mean = finite_list(entry(data, "mean", "fan"), "fan mean")

    def along(values: Any, name: str) -> Array:
        array = finite_list(values, f"fan {name}")
        if array.size != mean.size:
            raise InputError(
                f"fan {name} must have one value per row ({mean.size}); got {array.size}."
            )
        return array

    given = entry(data, "bands", "fan")
    bands = {
        level: (along(given[level][0], f"band {level}"), along(given[level][1], f"band {level}"))
        for level in COLOURS
        if level in given
    }
    for level, (low, high) in bands.items():
        if np.any(low > high):
            raise InputError(f"fan band {level} must not have a low end above its high one.")
    if not bands:
        raise InputError(f"fan bands must be among {list(COLOURS)} percent; got {list(given)}.")
    return Fan(along(entry(data, "y", "fan"), "y"), mean, bands)


def fan_panel(ax: Axes, found: Fan) -> None:
    """Draw bands, means and observed values; one outside the widest band has a cross."""
    rank = np.arange(1, found.y.size + 1)
    for level in reversed(found.bands):
        low, high = found.bands[level]
        tint = canvas.TINTS[COLOURS[level]]
        if found.y.size > 1:
            ax.fill_between(rank, low, high, color=tint, linewidth=0)
        else:
            ax.vlines(rank, low, high, color=tint, linewidth=30)
    mark = "_" if found.y.size == 1 else ""
    ax.plot(rank, found.mean, color=canvas.ACCENT, linewidth=1.5, marker=mark)
    inside = found.inside(next(reversed(found.bands)))
    size = 3.0 if found.y.size > _FAINT else 4.0
    for kept, colour, mark, more in (
        (inside, canvas.INK, "o", 0.0),
        (~inside, canvas.ACCENT, "X", 2.5),
    ):
        ax.plot(
            rank[kept],
            found.y[kept],
            mark,
            color=colour,
            markersize=size + more,
            markeredgewidth=0,
            zorder=3,
        )
    ax.set_xlim(0.5, found.y.size + 0.5)
    ax.xaxis.set_major_locator(MaxNLocator(5, integer=True, min_n_ticks=1))
    ax.locator_params(axis="y", nbins=5)
    ax.ticklabel_format(axis="y", useOffset=False)
