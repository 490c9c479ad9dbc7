"""What each column contributes to one prediction: bars from zero, with credible intervals."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from pmcnet.reports.figures import canvas
from pmcnet.reports.figures.arrays import finite_list
from pmcnet.reports.html import number

_LONGEST = 28  # letters of a name beside a bar
IMPORTANCE = "loss in nats per row"

Intervals = Mapping[str, Any]
"""`mean`, `low80`, `high80`, `low95`, `high95`, each a list of numbers."""


def contribution_figure(
    names: Sequence[str], intervals: Intervals, *, base: float, prediction: float, of: str
) -> Figure:
    """Return bars of the contributions to one prediction, in the order given.

    Args:
        names: of the columns.
        intervals: of the contributions.
        base: the average prediction.
        prediction: of the row.
        of: what is predicted.
    """
    title = f"{of}: {number(prediction)}, on average {number(base)}"
    figure, (ax,) = canvas.sheet(1, title, panel=(6.6, 0.34 * len(names) + 1.1))
    contribution_panel(ax, names, intervals)
    ax.set_xlabel(
        canvas.drawn_words(f"contribution to the {of}"), size=canvas.LABEL_SIZE, color=canvas.INK
    )
    return figure


def importance_figure(names: Sequence[str], intervals: Intervals) -> Figure:
    """Return bars of what columns are worth, in the order given.

    Args:
        names: of the columns.
        intervals: of their importance.
    """
    title = "What each column is worth to the predictions"
    figure, (ax,) = canvas.sheet(1, title, panel=(6.6, 0.34 * len(names) + 1.1))
    contribution_panel(ax, names, intervals)
    ax.set_xlabel(IMPORTANCE, size=canvas.LABEL_SIZE, color=canvas.INK)
    return figure


def contribution_panel(ax: Axes, names: Sequence[str], intervals: Intervals) -> None:
    """Draw contributions from the top, with lines that hold 95 and 80 % of the draws.

    Args:
        ax: where to draw.
        names: of the bars.
        intervals: of the contributions.
    """
    found = {key: finite_list(values, key) for key, values in intervals.items()}
    place = np.arange(len(names), dtype=float)
    ax.axvline(0, color=canvas.GREY, linewidth=1)
    ax.barh(place, found["mean"], height=0.62, color=canvas.BARS, linewidth=0)
    for level, width in (("95", 1.4), ("80", 4.0)):
        ax.hlines(
            place, found[f"low{level}"], found[f"high{level}"], color=canvas.ACCENT, linewidth=width
        )
    ax.set_yticks(place, [canvas.drawn_words(name, _LONGEST) for name in names])
    ax.invert_yaxis()
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.xaxis.set_major_locator(MaxNLocator(5))
