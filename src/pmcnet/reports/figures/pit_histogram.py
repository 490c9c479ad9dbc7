"""Where observed values are among their replicates, and the range that replicates give."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from pmcnet.errors import InputError
from pmcnet.reports.figures import canvas
from pmcnet.reports.figures.arrays import Array, entry, finite_list

PIT_LEGEND = (("box", "rows"), ("tint-95", "95 % of replicates"), ("dashes", "equal counts"))


class Ranks(NamedTuple):
    """Rows in bins of the rank, and the range that replicates in place of the data give."""

    counts: Array  # (n_bins,)
    low: Array
    high: Array

    @property
    def n_outside(self) -> int:
        """Bins outside their range."""
        return int(((self.counts < self.low) | (self.counts > self.high)).sum())


def ranks(data: Mapping[str, Any], name: str) -> Ranks:
    """Return the checked counts and ranges, `name` being what they are called in errors."""
    found = Ranks(*(finite_list(entry(data, key, name), f"{name} {key}") for key in Ranks._fields))
    if len({part.size for part in found}) > 1:
        raise InputError(
            f"{name} must have one low and high per count ({found.counts.size}); got "
            f"{[part.size for part in found[1:]]}."
        )
    return found


def pit_panel(ax: Axes, found: Ranks) -> None:
    """Draw the histogram over the ranges of its bins."""
    counts, n = found.counts, found.counts.size
    edges = np.linspace(0, 1, n + 1)
    ax.bar(
        edges[:-1], found.high - found.low, 1 / n, found.low, align="edge", color=canvas.TINTS["95"]
    )
    inset = 0.12 / n
    ax.bar(edges[:-1] + inset, counts, 1 / n - 2 * inset, align="edge", color=canvas.BARS)
    ax.axhline(counts.mean(), color=canvas.GREY, linewidth=1, linestyle=(0, (4, 3)))
    ax.set(xlim=(-0.02, 1.02), xticks=(0, 0.5, 1))
    ax.set_ylim(0, 1.15 * max(float(counts.max()), float(found.high.max())))
    ax.locator_params(axis="y", nbins=5)
