"""The effect of a column on predictions: bands over the draws, single rows, where the data are."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from pmcnet.reports.figures import canvas
from pmcnet.reports.figures.arrays import Array, entry, finite, finite_list
from pmcnet.reports.figures.panel_file import handles
from pmcnet.reports.figures.panels import Legend
from pmcnet.reports.html import real

Limits = tuple[float, float]

DASHES: tuple[tuple[float, ...], ...] = ((), (5, 2), (1.5, 1.5), (7, 2, 1.5, 2), (3, 1, 1, 1))
"""Of lines that stand for classes or for values, in widths, in their order."""
LEGEND: Legend = [
    ("stroke", "average effect"),
    ("tint-80", "80 % of draws"),
    ("tint-95", "95 % of draws"),
    ("dashes", "accumulated local effect"),
    ("pale", "single rows, moved to the average"),
    ("box", "where the rows are"),
]
MARKERS = "oDs^"
"""The same of levels."""
WIDTH = 2.0
_LONGEST = 12  # letters of a level
_UNDER = 0.16  # of the height, for the data
_PANEL = (3.4, 2.8)


class Line(NamedTuple):
    """A curve with its bands: its name, the mean and the ends of the bands, each (m,)."""

    name: str
    intervals: dict[str, Array]


class Effect(NamedTuple):
    """A checked effect: points (m,), what they are, where the rows are, and its curves."""

    feature: str
    scale: str
    labels: list[str]
    x: Array
    share: Array
    counts: Array
    lines: list[Line]
    local: Array | None
    individual: Array

    @property
    def ends(self) -> Limits:
        """The lowest and highest number of the panel."""
        numbers = [line.intervals[key] for line in self.lines for key in ("low95", "high95")]
        every = np.concatenate([*numbers, self.individual.ravel()])
        return float(every.min()), float(every.max())


def effect(item: Mapping[str, Any], name: str, classes: Sequence[str] = ()) -> Effect:
    """Return the checked effect of a column: that on one output, or on several classes."""
    outputs = entry(item, "outputs", name)
    names = [str(each) for each in classes] if len(outputs) > 1 else [""]
    lines = [
        Line(label, _intervals(each["partial"], name))
        for label, each in zip(names, outputs, strict=True)
    ]
    local, individual = None, np.empty((0, 0))
    if len(outputs) == 1:
        only = outputs[0]
        individual = finite(only.get("individual") or np.empty((0, 0)), f"{name} individual")
        if only.get("accumulated"):
            mean = finite_list(only["accumulated"]["mean"], f"{name} accumulated")
            local = mean + float(only["average"])
    axis = _axis(item, name)
    if individual.size:
        weight = axis[3] / axis[3].sum()
        moved = individual - (individual @ weight)[:, None]  # each to the average effect
        individual = moved + lines[0].intervals["mean"] @ weight
    return Effect(str(entry(item, "feature", name)), *axis, lines, local, individual)


def joint_effect(item: Mapping[str, Any], name: str) -> Effect:
    """Return the checked effect of one column at values of another one."""
    first, second = entry(item, "features", name)
    lines = [
        Line(
            f"{second} = {canvas.drawn_words(line['value'], _LONGEST)}",
            _intervals(line["partial"], name),
        )
        for line in entry(item, "lines", name)
    ]
    return Effect(str(first), *_axis(item, name), lines, None, np.empty((0, 0)))


def common_limits(effects: Sequence[Effect]) -> Limits:
    """Return limits that hold all panels, room for the data included."""
    low, high = min(each.ends[0] for each in effects), max(each.ends[1] for each in effects)
    margin = 0.04 * (high - low) or 0.05 * abs(high) or 0.05
    return low - margin - _UNDER * (high - low), high + margin


def effect_panel(ax: Axes, found: Effect, limits: Limits | None = None) -> None:
    """Draw one effect over the data: bands and curves, or intervals of levels."""
    low, high = limits or common_limits([found])
    ax.set_ylim(low, high)
    _data(ax, found, low, _UNDER * 0.85 * (high - low))
    draw = _draw_levels if found.scale == "level" else _draw_curves
    draw(ax, found)
    ax.yaxis.set_major_locator(MaxNLocator(5))
    if found.scale == "date":
        locator = AutoDateLocator(maxticks=5)  # type: ignore[no-untyped-call]
        ax.xaxis.set_major_locator(locator)
        ax.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    elif found.scale == "number":
        ax.xaxis.set_major_locator(MaxNLocator(5))


def effects_figure(items: Sequence[Mapping[str, Any]], of: str) -> Figure:
    """Return a panel for each effect, all of one height.

    Args:
        items: effects on one output.
        of: what is predicted.
    """
    found = [effect(item, f"effects[{i}]") for i, item in enumerate(items)]
    limits = common_limits(found)
    figure, axes = canvas.sheet(len(found), f"Effects on the {of}", panel=_PANEL, beside=2.6)
    for ax, each in zip(axes, found, strict=True):
        canvas.panel_title(ax, each.feature)
        effect_panel(ax, each, limits)
    canvas.axis_names(axes, "", of)
    canvas.legend(figure, handles(LEGEND), [words for _, words in LEGEND])
    return figure


def _draw_curves(ax: Axes, found: Effect) -> None:
    for row in found.individual:
        ax.plot(found.x, row, color=canvas.PALE, linewidth=0.8, zorder=1)
    several = len(found.lines) > 1
    for i, line in enumerate(found.lines):
        for level in ("95",) if several else ("95", "80"):
            ax.fill_between(
                found.x,
                line.intervals[f"low{level}"],
                line.intervals[f"high{level}"],
                color=canvas.TINTS[level],
                linewidth=0,
                alpha=0.5 if several else 1,
                zorder=2,
            )
        dashes = (0, DASHES[i % len(DASHES)])
        ax.plot(
            found.x,
            line.intervals["mean"],
            color=canvas.ACCENT,
            linewidth=WIDTH,
            linestyle=dashes,
            zorder=4,
        )
    if found.local is not None:
        ax.plot(
            found.x, found.local, color=canvas.GREY, linewidth=1.4, linestyle=(0, (4, 3)), zorder=3
        )
    if len(found.x) > 1:
        ax.set_xlim(found.x[0], found.x[-1])


def _draw_levels(ax: Axes, found: Effect) -> None:
    n = len(found.lines)
    for i, line in enumerate(found.lines):
        x = found.x + 0.5 * ((i + 0.5) / n - 0.5) * (n > 1)
        for level, width in (("95", 1.6), ("80", 5.0)):
            ax.vlines(
                x,
                line.intervals[f"low{level}"],
                line.intervals[f"high{level}"],
                color=canvas.TINTS["80"] if level == "80" else canvas.ACCENT,
                linewidth=width,
            )
        marker = MARKERS[i % len(MARKERS)]
        ax.plot(
            x,
            line.intervals["mean"],
            marker,
            color=canvas.ACCENT,
            markersize=5.5,
            markeredgewidth=0,
        )
    names = [canvas.drawn_words(label, _LONGEST) for label in found.labels]
    turned = sum(map(len, names)) > 30
    ax.set_xticks(found.x, names, rotation=40 if turned else 0, ha="right" if turned else "center")
    ax.set_xlim(-0.6, len(names) - 0.4)


def _data(ax: Axes, found: Effect, low: float, height: float) -> None:
    """Draw how many rows there are, from the lower edge."""
    if found.scale == "level":
        ax.bar(found.x, height * found.share / found.share.max(), 0.7, low, color=canvas.BARS)
    elif len(found.counts) and len(found.x) > 1:
        edges = np.linspace(found.x[0], found.x[-1], len(found.counts) + 1)
        heights = height * found.counts / (found.counts.max() or 1)
        ax.stairs(low + heights, edges, baseline=low, fill=True, color=canvas.BARS, linewidth=0)


def _axis(item: Mapping[str, Any], name: str) -> tuple[str, list[str], Array, Array, Array]:
    """Return scale, labels, points, shares and counts of a column."""
    scale, values = str(entry(item, "scale", name)), entry(item, "values", name)
    levels = scale == "level" or not all(map(real, values))
    labels = [str(value) for value in values] if levels else []
    x = np.arange(len(labels), dtype=float) if labels else finite_list(values, f"{name} values")
    share = finite_list(entry(item, "share", name), f"{name} share")
    return (
        ("level" if levels else scale),
        labels,
        x,
        share,
        finite(item.get("counts") or [], f"{name} counts"),
    )


def _intervals(given: Mapping[str, Any], name: str) -> dict[str, Array]:
    keys = ("mean", "low80", "high80", "low95", "high95")
    return {key: finite_list(entry(given, key, name), f"{name} {key}") for key in keys}
