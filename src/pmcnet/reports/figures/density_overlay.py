"""Densities of replicated responses, and that of the observed one over them."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from pmcnet.errors import InputError
from pmcnet.reports.figures import canvas
from pmcnet.reports.figures.arrays import Array, entry, finite, finite_list

OVERLAY_LEGEND = (("stroke", "observed"), ("mark-thin", "replicated"))


class Overlay(NamedTuple):
    """At points of a grid (G,): the observed density (G,) and those of replicates (R, G)."""

    grid: Array
    observed: Array
    replicates: Array


def overlay(data: Mapping[str, Any], name: str) -> Overlay:
    """Return the checked densities, `name` being what they are called in errors."""
    grid = finite_list(entry(data, "grid", name), f"{name} grid")
    observed = finite_list(entry(data, "observed", name), f"{name} observed")
    replicates = finite(entry(data, "replicates", name), f"{name} replicates")
    if observed.size != grid.size or replicates.ndim != 2 or replicates.shape[1] != grid.size:
        raise InputError(
            f"{name} must have one density per point of the grid ({grid.size}); got "
            f"{observed.size} observed ones and replicates of shape {replicates.shape}."
        )
    return Overlay(grid, observed, replicates)


def overlay_panel(ax: Axes, found: Overlay) -> None:
    """Draw each replicate as a thin line, and what was observed over them."""
    for line in found.replicates:
        ax.plot(found.grid, line, color=canvas.BARS, linewidth=0.8)
    ax.plot(found.grid, found.observed, color=canvas.ACCENT, linewidth=2.2)
    tallest = max(float(found.observed.max()), float(np.quantile(found.replicates, 0.99)), 1e-300)
    ax.set(ylim=(0, 1.1 * tallest), yticks=())
    ax.spines["left"].set_visible(False)
    ax.locator_params(axis="x", nbins=5)
    ax.ticklabel_format(axis="x", useOffset=False)


def functions_panel(ax: Axes, grid: Array, means: Array) -> None:
    """Draw functions (R, G) along a grid (G,)."""
    for line in means:
        ax.plot(grid, line, color=canvas.GREY, linewidth=1.1)
    ax.locator_params(nbins=5)
    ax.ticklabel_format(useOffset=False)
