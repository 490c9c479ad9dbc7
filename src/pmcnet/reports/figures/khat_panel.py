"""How far leaving each row out would move the posterior: k-hat of all rows."""

import numpy as np
from matplotlib.axes import Axes

from pmcnet.reports.figures import canvas
from pmcnet.reports.figures.arrays import Array

KHAT_LEGEND = (("box", "rows"), ("mark-bad", "influential rows"), ("dashes", "limit"))
_LOW, _HIGH, _WIDTH = -0.3, 1.2, 0.05


def khat_panel(ax: Axes, khat: Array, limit: float) -> None:
    """Draw the histogram of k-hat, coloured beyond the limit; the last bar has all above."""
    edges = np.arange(_LOW, _HIGH + _WIDTH / 2, _WIDTH)
    inside = khat.clip(_LOW + 1e-9, _HIGH - 1e-9)
    for rows, colour in ((khat <= limit, canvas.BARS), (khat > limit, canvas.ACCENT)):
        counts = np.histogram(inside[rows], edges)[0]
        shown = counts > 0
        ax.bar(edges[:-1][shown], counts[shown], 0.9 * _WIDTH, align="edge", color=colour)
    ax.axvline(limit, color=canvas.GREY, linewidth=1.2, linestyle=(0, (4, 3)))
    ax.set(xlim=(_LOW, _HIGH), xticks=(0, 0.5, 1))
    ax.locator_params(axis="y", nbins=5)
