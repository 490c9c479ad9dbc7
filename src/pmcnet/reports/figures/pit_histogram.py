"""Where observed values are among their replicates, and the range of heights that chance gives."""

import numpy as np
from matplotlib.axes import Axes
from scipy.stats import binom  # type: ignore[import-untyped]

from pmcnet.reports.figures import canvas
from pmcnet.reports.figures.arrays import Array

PIT_LEGEND = (("box", "rows"), ("tint-95", "95 % of counts by chance"), ("dashes", "equal counts"))


def chance(counts: Array) -> tuple[float, float]:
    """The interval of 95 % of a bin's count where all bins are as likely."""
    low, high = binom.interval(0.95, int(counts.sum()), 1 / counts.size)
    return float(low), float(high)


def pit_panel(ax: Axes, counts: Array) -> None:
    """Draw the histogram over the band of counts that chance gives."""
    low, high = chance(counts)
    edges = np.linspace(0, 1, counts.size + 1)
    ax.fill_between([0, 1], low, high, color=canvas.TINTS["95"], linewidth=0)
    inset = 0.12 / counts.size
    ax.bar(edges[:-1] + inset, counts, 1 / counts.size - 2 * inset, align="edge", color=canvas.BARS)
    ax.axhline(counts.mean(), color=canvas.GREY, linewidth=1, linestyle=(0, (4, 3)))
    ax.set(xlim=(-0.02, 1.02), xticks=(0, 0.5, 1))
    ax.set_ylim(0, 1.15 * max(float(counts.max()), high))
    ax.locator_params(axis="y", nbins=5)
