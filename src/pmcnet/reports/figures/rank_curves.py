"""ROC, and precision against recall: of the averaged prediction, over the bands of draws."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from pmcnet.errors import InputError
from pmcnet.reports.figures import canvas
from pmcnet.reports.figures.arrays import Array, entry, probabilities
from pmcnet.reports.figures.panels import Legend
from pmcnet.reports.figures.roc import (
    Bands,
    along,
    checked_bands,
    checked_grid,
    draw_bands,
    roc_frame,
)
from pmcnet.reports.html import real

AVERAGED = "averaged"
"""The key of a curve that has the averaged prediction; those of earlier versions lack it."""
_LOW = 0.2  # share of a class below which words do not fit under its line


class RankCurve(NamedTuple):
    """The checked curve of one class: of the averaged prediction, and the bands of draws."""

    label: int
    x: Array  # (k,)
    y: Array  # (k,)
    area: float
    area_draws: tuple[float, float] | None  # their 95 % interval
    grid: Array  # (n,)
    bands: Bands
    share: float | None  # of the class among the rows


def rank_curve(item: Mapping[str, Any], name: str) -> RankCurve:
    """Return the checked curve of one class."""
    grid, found = checked_grid(item, name), entry(item, AVERAGED, name)
    x = probabilities(entry(found, "x", name), f"{name} x")
    if np.any(np.diff(x) < 0):
        raise InputError(f"{name} x must not decrease; sort x and y together.")
    y = along(x, entry(found, "y", name), f"{name} y").clip(0, 1)
    area, draws, share = entry(found, "area", name), found.get("area_draws"), item.get("share")
    if not real(area):
        raise InputError(f"{name} area must be a number; got {area!r:.40}.")
    known = draws and len(draws) == 2 and all(map(real, draws))
    return RankCurve(
        int(entry(item, "class", name)),
        x,
        y,
        float(area),
        (draws[0], draws[1]) if known else None,
        grid,
        checked_bands(item, name, grid),
        float(share) if real(share) else None,
    )


def roc_of_average(ax: Axes, curve: RankCurve) -> None:
    """Draw the corners of the averaged prediction's curve over bands and the line of chance."""
    draw_bands(ax, curve.grid, curve.bands)
    roc_frame(ax)
    ax.plot(curve.x, curve.y, color=canvas.ACCENT, linewidth=2)
    _note(ax, f"AUC {curve.area:.3f}", 0.98, "right")


def precision_recall_panel(ax: Axes, curve: RankCurve) -> None:
    """Draw precision against recall in steps; the dashed line is the share of the class."""
    draw_bands(ax, curve.grid, curve.bands)
    if curve.share is not None:
        ax.axhline(curve.share, color=canvas.GREY, linewidth=1, linestyle=(0, (4, 3)))
    recall, precision = np.append(0.0, curve.x), np.append(curve.y[0], curve.y)
    ax.step(recall, precision, where="pre", color=canvas.ACCENT, linewidth=2)
    limits, ticks = (-0.02, 1.02), (0, 0.5, 1)
    ax.set(xlim=limits, ylim=limits, xticks=ticks, yticks=ticks, box_aspect=1)
    above = curve.share is not None and curve.share < _LOW  # the line, which has no room below
    _note(ax, f"AP {curve.area:.3f}", 0.02, "left", (curve.share or 0.0) * above + 0.05)


def rank_legend(curves: Sequence[RankCurve], chance: str) -> Legend:
    """Return what the lines and bands of these curves mean."""
    levels = sorted({level for curve in curves for level in curve.bands}, key=float)
    bands = [(f"tint-{level}", f"{level} % of draws") for level in levels]
    return [("stroke", "averaged prediction"), *bands, ("dashes", chance)]


def _note(ax: Axes, words: str, x: float, side: str, y: float = 0.05) -> None:
    ax.text(x, y, words, ha=side, size=canvas.PANEL_SIZE, color=canvas.INK)
