"""Residuals against what is predicted, or against a feature, with their means in bins."""

import numpy as np
from matplotlib.axes import Axes

from pmcnet.reports.figures import canvas
from pmcnet.reports.figures.arrays import Array

RESIDUAL_LEGEND = (
    ("dot grey", "a row"),
    ("stroke", "mean of rows nearby, with its 95 % interval"),
    ("dashes", "no error; 95 % of rows by the model"),
)
FARTHEST = 6.0
"""Standard deviations; rows beyond are drawn at the edge."""
_MOST_BINS, _PER_BIN = 6, 12


def residual_panel(ax: Axes, values: Array, residual: Array, n_levels: int = 0) -> None:
    """Draw rows as dots, the means of bins with intervals, and lines at 0 and +-2.

    Args:
        ax: where to draw.
        values: of the rows (n,), not-a-number where missing, or places of levels from 0.
        residual: in standard deviations (n,).
        n_levels: how many levels there are; 0 for numbers.
    """
    known = np.isfinite(values)
    x, y = values[known], residual[known]
    for height in (-2.0, 0.0, 2.0):
        style = (0, (4, 3)) if height == 0 else (0, (1, 3))
        ax.axhline(height, color=canvas.GREY, linewidth=1, linestyle=style)
    place = x
    if n_levels:  # spread out, in an order that does not depend on chance
        place = 1 + x + 0.5 * ((np.arange(x.size) * 0.618) % 1 - 0.5)
    _dots(ax, place, y.clip(-FARTHEST, FARTHEST))
    for centre, mean, half in _means(x, y, n_levels):
        ax.plot([centre, centre], [mean - half, mean + half], color=canvas.ACCENT, linewidth=2)
        ax.plot([centre], [mean], "o", color=canvas.ACCENT, markersize=5, markeredgewidth=0)
    reach = min(FARTHEST, max(3.0, float(np.abs(y).max(initial=0.0)))) * 1.08
    ax.set_ylim(-reach, reach)
    if n_levels:
        ax.set_xticks(np.arange(1, n_levels + 1) if n_levels <= 8 else ())
    else:
        ax.locator_params(axis="x", nbins=4)
        ax.ticklabel_format(axis="x", useOffset=False)
    ax.locator_params(axis="y", nbins=7)


def _dots(ax: Axes, x: Array, y: Array) -> None:
    """One path of points, each a line of no length with round ends: a third of the bytes."""
    gap = np.full(x.size, np.nan)
    across = np.column_stack([x, x, gap]).ravel()
    up = np.column_stack([y, y, gap]).ravel()
    (line,) = ax.plot(
        across, up, color=canvas.GREY, linewidth=3.2, alpha=0.65, solid_capstyle="round"
    )
    line.get_path().should_simplify = False


def _means(x: Array, y: Array, n_levels: int) -> list[tuple[float, float, float]]:
    """Place, mean and half of its 95 % interval of each bin."""
    if n_levels:
        groups = [(1.0 + level, y[x == level]) for level in range(n_levels)]
    else:
        n_bins = int(np.clip(x.size // _PER_BIN, 1, _MOST_BINS))
        order = np.array_split(np.argsort(x, kind="stable"), n_bins)
        groups = [(float(x[rows].mean()), y[rows]) for rows in order if rows.size]
    return [
        (centre, float(own.mean()), 1.96 * float(own.std(ddof=1)) / own.size**0.5)
        for centre, own in groups
        if own.size > 2
    ]
