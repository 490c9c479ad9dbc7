"""Observed numbers of rows of each class, and the ranges that replicates give."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from pmcnet.reports.figures import canvas
from pmcnet.reports.figures.arrays import Array

RANGE_LEGEND = (("dot", "observed"), ("mark-wide", "95 % of replicates"))
MOST_CLASSES = 20
_LONGEST = 10  # letters of a name beside a bar


def ranges_panel(ax: Axes, names: Sequence[str], observed: Array, low: Array, high: Array) -> None:
    """Draw the range of each class as a bar, classes from the top, and a dot at the observed.

    Where a name is long, all classes are called by their places in the table.
    """
    place = np.arange(1, observed.size + 1)
    ax.hlines(place, low, high, color=canvas.BARS, linewidth=7)
    outside = (observed < low) | (observed > high)
    for chosen, colour in ((~outside, canvas.INK), (outside, canvas.ACCENT)):
        ax.plot(observed[chosen], place[chosen], "o", color=colour, markersize=7, markeredgewidth=0)
    ax.set(ylim=(observed.size + 0.6, 0.4))
    short = all(len(name) <= _LONGEST for name in names)
    ax.set_yticks(place, [canvas.drawn_words(name) for name in names] if short else place)
    ax.set_xlim(left=0)
    ax.locator_params(axis="x", nbins=5)
