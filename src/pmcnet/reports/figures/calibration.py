"""Calibration: accuracy against confidence, coverage against the level of intervals."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from pmcnet.errors import InputError
from pmcnet.reports.figures import canvas
from pmcnet.reports.figures.arrays import Array, entry, probabilities

_STRIP = -0.3  # the bars of counts lie between this and a little below zero
_TALLEST = 0.17
_GAP = 0.065  # of confidence, between bins whose counts can be written side by side


class Reliability(NamedTuple):
    """Bins of predictions: their confidence, their accuracy, their number."""

    confidence: Array  # (n,)
    accuracy: Array  # (n,)
    n: Array  # (n,)
    low: Array  # (n,)
    high: Array  # (n,)


class Coverage(NamedTuple):
    """The share of observed values inside intervals of each level."""

    levels: Array  # (n,)
    coverage: Array  # (n,)
    low: Array  # (n,)
    high: Array  # (n,)


def reliability(bins: Sequence[Mapping[str, Any]]) -> Reliability | None:
    """Return the checked bins that hold rows, or None where none does."""
    filled = [
        (i, item) for i, item in enumerate(bins) if entry(item, "n", f"calibration bins[{i}]")
    ]
    if not filled:
        return None

    def column(key: str, otherwise: str = "") -> Array:
        values = [
            item.get(key) if item.get(key) is not None else item.get(otherwise)
            for _, item in filled
        ]
        return probabilities(values, f"calibration {key}")

    counts = np.asarray([item["n"] for _, item in filled], dtype=np.float64)
    return Reliability(
        column("confidence"),
        column("accuracy"),
        counts,
        column("low", "accuracy"),
        column("high", "accuracy"),
    )


def coverage(data: Mapping[str, Any]) -> Coverage:
    """Return the checked levels and coverages; absent ends of an interval are the coverage."""
    levels = probabilities(entry(data, "levels", "calibration"), "calibration levels")
    given = {
        key: data.get(key) if data.get(key) is not None else data.get("coverage")
        for key in Coverage._fields[1:]
    }
    found = Coverage(
        levels, *(probabilities(values, f"calibration {key}") for key, values in given.items())
    )
    if {values.size for values in found} != {levels.size}:
        raise InputError(
            f"calibration must have one coverage, low and high per level ({levels.size}); "
            f"got {[values.size for values in found[1:]]}."
        )
    return found


def reliability_panel(ax: Axes, bins: Reliability, *, counted: bool = True) -> None:
    """Draw accuracy against confidence with intervals, and below it the rows of each bin.

    Args:
        ax: where to draw.
        bins: what to draw.
        counted: whether numbers of rows are written where they fit.
    """
    _diagonal(ax)
    ax.plot(bins.confidence, bins.accuracy, color=canvas.TINTS["80"], linewidth=1)
    ax.vlines(bins.confidence, bins.low, bins.high, color=canvas.ACCENT, linewidth=1.6)
    ax.plot(bins.confidence, bins.accuracy, "o", color=canvas.ACCENT, markersize=5.5)
    closest = float(np.diff(np.sort(bins.confidence)).min()) if bins.n.size > 1 else 1.0
    heights = _TALLEST * bins.n / bins.n.max()
    ax.bar(
        bins.confidence,
        heights,
        bottom=_STRIP,
        width=min(0.05, 0.8 * max(closest, 0.005)),
        color=canvas.BARS,
    )
    if counted and closest >= _GAP:
        for x, height, n in zip(bins.confidence, heights, bins.n, strict=True):
            ax.text(
                x,
                _STRIP + height + 0.015,
                f"{n:.0f}",
                ha="center",
                size=canvas.TICK_SIZE,
                color=canvas.INK,
            )
    ax.set(xlim=(-0.04, 1.04), ylim=(_STRIP, 1.04))
    ax.spines["left"].set_bounds(0, 1)


def coverage_panel(ax: Axes, found: Coverage) -> None:
    """Draw the share of covered values against the level, with its band."""
    ax.fill_between(found.levels, found.low, found.high, color=canvas.TINTS["95"], linewidth=0)
    _diagonal(ax)
    ax.plot(found.levels, found.coverage, "o-", color=canvas.ACCENT, linewidth=2, markersize=4.5)
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.04))


def _diagonal(ax: Axes) -> None:
    ax.plot([0, 1], [0, 1], color=canvas.GREY, linewidth=1, linestyle=(0, (4, 3)))
    ax.set(xticks=(0, 0.25, 0.5, 0.75, 1), yticks=(0, 0.25, 0.5, 0.75, 1))
    ax.set_xticklabels(("0", "", "0.5", "", "1"))
    ax.set_yticklabels(("0", "", "0.5", "", "1"))
