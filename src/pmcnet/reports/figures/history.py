"""How a run went: one number against the step."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

from pmcnet.reports.figures import canvas
from pmcnet.reports.figures.arrays import LARGEST, Array
from pmcnet.reports.html import real

_DECADES = 30.0  # positive numbers that span more than this ratio are drawn on a logarithmic axis


class Course(NamedTuple):
    """One number along the run, where it was measured."""

    step: Array  # (n,)
    value: Array  # (n,)


def course(history: Sequence[Mapping[str, Any]], key: str) -> Course | None:
    """Return the values of `key` that can be drawn, or None where there is none.

    A step without number counts from 1.
    """
    steps = [
        item["step"] if _drawable(item.get("step")) else 1 + i for i, item in enumerate(history)
    ]
    pairs = [
        (step, item[key])
        for step, item in zip(steps, history, strict=True)
        if _drawable(item.get(key))
    ]
    return Course(*np.asarray(pairs, dtype=np.float64).T) if pairs else None


def _drawable(value: Any) -> bool:
    return real(value) and abs(value) <= LARGEST


def course_panel(ax: Axes, found: Course) -> None:
    """Draw the values against the step; powers of ten where they span decades."""
    few = found.step.size <= 40
    ax.plot(
        found.step,
        found.value,
        color=canvas.ACCENT,
        linewidth=1.8,
        marker="o" if few else "",
        markersize=3.5,
    )
    ax.grid(axis="y", color=canvas.PALE, linewidth=0.6)
    first, last = float(found.step.min()), float(found.step.max())
    margin = 0.5 if last - first < 3 else 0.03 * (last - first)
    ax.set_xlim(first - margin, last + margin)
    ax.xaxis.set_major_locator(MaxNLocator(5, integer=True, min_n_ticks=1, steps=[1, 2, 5, 10]))
    low, high = float(found.value.min()), float(found.value.max())
    if low > 0 and high / low > _DECADES:
        ax.set_yscale("log")
        ax.yaxis.set_major_locator(LogLocator(numticks=6))
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        ax.yaxis.set_minor_locator(NullLocator())
    else:
        ax.yaxis.set_major_locator(MaxNLocator(5))
        ax.ticklabel_format(axis="y", useOffset=False)
        if low >= 0:
            ax.set_ylim(0, 1.08 * high or 1.0)
