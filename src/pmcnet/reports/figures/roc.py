"""ROC curves with their credible envelopes over the draws of one posterior."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from pmcnet.errors import InputError
from pmcnet.reports.figures import canvas
from pmcnet.reports.figures.arrays import (
    Array,
    class_name,
    entry,
    finite_list,
    non_empty,
    probabilities,
)
from pmcnet.reports.figures.panel_file import panel_file
from pmcnet.reports.figures.panels import Legend, Panel

_POSITIVE = 0  # the paper calls class 0 positive
_PANEL = (3.7, 3.7)

Bands = dict[str, tuple[Array, Array]]  # level in percent -> low, high, each (n,)


class Curve(NamedTuple):
    """One checked curve: true positive rate against false positive rate."""

    label: int
    grid: Array  # (n,)
    mean: Array  # (n,)
    bands: Bands

    @property
    def auc(self) -> float:
        """Area under the mean curve, by trapezoids."""
        return float(np.trapezoid(self.mean, self.grid))


def roc(
    curves: Sequence[Mapping[str, Any]], path: Path | str, title: str, class_names: Sequence[str]
) -> Path:
    """Draw one panel per class; of two classes only class 0, since the other is its mirror image.

    Args:
        curves: `{"class", "grid", "mean", "bands": {"80": [low, high], ...}}`, one per class.
        path: where to write; `.png` or `.svg`.
        title: the title of the figure.
        class_names: one name per class.
    """
    non_empty(curves, "curves")
    named = [(class_name(curve.label, class_names), curve) for curve in curves_to_draw(curves)]
    return _write(named, path, title)


def roc_grid(
    by_label: Mapping[str, Sequence[Mapping[str, Any]]], path: Path | str, title: str
) -> Path:
    """Draw class 0 of every label, one panel each.

    Args:
        by_label: the curves of each run, as in `roc`, by what to call it: a training size, a
            variant.
        path: where to write; `.png` or `.svg`.
        title: the title of the figure.
    """
    non_empty(by_label, "by_label")
    named = [(str(k), _positive(curves, f"curves of {k}")) for k, curves in by_label.items()]
    return _write(named, path, title)


def curves_to_draw(curves: Sequence[Mapping[str, Any]]) -> list[Curve]:
    """Return the checked curves; of two classes that of class 0, the other being its mirror."""
    if len(curves) == 2:
        return [_positive(curves, "curves")]
    return [checked_curve(item, f"curves[{i}]") for i, item in enumerate(curves)]


def roc_axes(title: str | None, words: str, draw: Callable[[Axes], None]) -> Panel:
    """Return a panel of rates against each other."""
    return Panel(title, words, "false positive rate", "true positive rate", draw)


def roc_legend(curves: Sequence[Curve]) -> Legend:
    """Return what the lines and bands of these curves mean."""
    levels = sorted({level for curve in curves for level in curve.bands}, key=float)
    bands = [(f"tint-{level}", f"{level} % of draws") for level in levels]
    return [("stroke", "mean"), *bands, ("dashes", "chance")]


def _write(named: Sequence[tuple[str, Curve]], path: Path | str, title: str) -> Path:
    panels = [roc_axes(name, "", partial(roc_panel, curve=curve)) for name, curve in named]
    legend = roc_legend([curve for _, curve in named])
    return panel_file(panels, legend, path, title, size=_PANEL, beside=1.7)


def roc_panel(ax: Axes, curve: Curve) -> None:
    """Draw one curve over its bands and the line of chance."""
    draw_bands(ax, curve.grid, curve.bands)
    roc_frame(ax)
    ax.plot(curve.grid, curve.mean, color=canvas.ACCENT, linewidth=2)
    ax.text(
        0.98, 0.05, f"AUC {curve.auc:.3f}", ha="right", size=canvas.PANEL_SIZE, color=canvas.INK
    )


def draw_bands(ax: Axes, grid: Array, bands: Bands) -> None:
    """Draw bands by their level, the narrowest on top."""
    for level in sorted(bands, key=float, reverse=True):
        ax.fill_between(grid, *bands[level], color=canvas.TINTS[level], linewidth=0)


def roc_frame(ax: Axes) -> None:
    """Draw the square of rates and the line of chance in it."""
    ax.plot([0, 1], [0, 1], color=canvas.GREY, linewidth=1, linestyle=(0, (4, 3)))
    ax.set(
        xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xticks=(0, 0.5, 1), yticks=(0, 0.5, 1), box_aspect=1
    )


def _positive(curves: Sequence[Mapping[str, Any]], name: str) -> Curve:
    for i, item in enumerate(curves):
        if entry(item, "class", f"{name}[{i}]") == _POSITIVE:
            return checked_curve(item, f"{name}[{i}]")
    raise InputError(
        f"{name} must hold a curve of class {_POSITIVE}; got the classes "
        f"{[c['class'] for c in curves]}."
    )


def checked_curve(item: Mapping[str, Any], name: str) -> Curve:
    """Return one curve and its bands, along one grid that does not decrease."""
    grid = checked_grid(item, name)
    mean = along(grid, entry(item, "mean", name), f"{name} mean")
    return Curve(int(entry(item, "class", name)), grid, mean, checked_bands(item, name, grid))


def checked_grid(item: Mapping[str, Any], name: str) -> Array:
    """Return the grid of one curve, which does not decrease."""
    grid = probabilities(entry(item, "grid", name), f"{name} grid")
    if np.any(np.diff(grid) < 0):
        raise InputError(
            f"{name} grid must not decrease; sort the false positive rates and their curves "
            "together."
        )
    return grid


def checked_bands(item: Mapping[str, Any], name: str, grid: Array) -> Bands:
    """Return the bands of one curve by their level, each along its grid."""
    bands = {
        str(level): _band(grid, pair, f"{name} band {level}")
        for level, pair in item.get("bands", {}).items()
    }
    unknown = sorted(set(bands) - set(canvas.TINTS))
    if unknown:
        raise InputError(
            f"{name} bands must be among {list(canvas.TINTS)} percent; got {unknown}. Leave the "
            "others out."
        )
    return bands


def _band(grid: Array, pair: Sequence[Any], name: str) -> tuple[Array, Array]:
    if len(pair) != 2:
        raise InputError(f"{name} must be [low, high]; got {len(pair)} lists.")
    return along(grid, pair[0], f"{name} low"), along(grid, pair[1], f"{name} high")


def along(grid: Array, values: Any, name: str) -> Array:
    """Return `values`, one for each point of the grid."""
    array = finite_list(values, name)
    if array.shape != grid.shape:
        raise InputError(
            f"{name} must have one value per grid point ({grid.size}); got {array.size}."
        )
    return array
