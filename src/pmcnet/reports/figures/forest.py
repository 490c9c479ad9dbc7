"""Metrics with credible intervals: a table, and a line for each on its own scale."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from pmcnet.errors import InputError
from pmcnet.reports.figures import canvas
from pmcnet.reports.figures.inline_svg import inline_svg
from pmcnet.reports.figures.panels import marks
from pmcnet.reports.html import MISSING, Markup, number, real, span, table, tag

_SIZE = (4.3, 0.56)  # inches


class Spread(NamedTuple):
    """A metric over the draws: its 95 % interval, its mean, and the averaged prediction's value."""

    low: float
    high: float
    mean: float | None
    value: float | None


def metric_table(metrics: Sequence[Mapping[str, Any]]) -> Markup:
    """Return one row per metric: of the averaged prediction, and over single draws."""
    header = [
        "metric",
        "averaged prediction",
        "95 % of draws",
        "mean of draws",
        "std of draws",
        "better",
    ]
    rows = []
    for metric in metrics:
        draws = metric.get("per_draw") or {}
        low, high = draws.get("interval95") or (None, None)
        measured = [
            number(metric["value"]),
            span(low, high),
            number(draws.get("mean")),
            number(draws.get("std")),
        ]
        rows.append([name_of(metric), *measured, str(metric.get("better") or MISSING)])
    return table(header, rows, "Metrics on the test set")


def name_of(metric: Mapping[str, Any]) -> str:
    """Return what to call a metric, its unit in brackets."""
    name = str(metric.get("label") or metric["name"])
    return f"{name} ({metric['unit']})" if metric.get("unit") else name


def spread_of(metric: Mapping[str, Any]) -> Spread | None:
    """Return the spread of a metric over the draws, or None where it was not measured."""
    draws = metric.get("per_draw") or {}
    interval = draws.get("interval95") or ()
    if len(interval) != 2 or not all(real(end) for end in interval):
        return None
    low, high = map(float, interval)
    if low > high:
        raise InputError(f"interval95 of {metric['name']} must be [low, high]; got {[low, high]}.")
    mean, value = draws.get("mean"), metric["value"]
    return Spread(
        low, high, float(mean) if real(mean) else None, float(value) if real(value) else None
    )


def forest(metrics: Sequence[Mapping[str, Any]]) -> Markup | None:
    """Return one line per metric that has an interval, or None where none has."""
    found = [(metric, spread) for metric in metrics if (spread := spread_of(metric)) is not None]
    if not found:
        return None
    lines = [_line(metric, spread, f"forest-{i}") for i, (metric, spread) in enumerate(found)]
    legend = [
        ("diamond", "averaged prediction"),
        ("dot", "mean of single draws"),
        ("bar", "95 % of single draws"),
    ]
    caption = (
        "Each metric on its own scale. A wide bar says that single draws of the posterior disagree "
        "about it; a diamond on the better side of the bar, that averaging over the draws pays."
    )
    return tag("figure", marks(legend), *lines, tag("figcaption", caption), class_="forest")


def forest_panel(ax: Axes, spread: Spread) -> None:
    """Draw one interval, its mean and the averaged prediction on a line."""
    ax.plot(
        [spread.low, spread.high], [0, 0], color=canvas.BARS, linewidth=7, solid_capstyle="round"
    )
    if spread.mean is not None:
        ax.plot([spread.mean], [0], "o", color=canvas.INK, markersize=6, markeredgewidth=0)
    if spread.value is not None:
        ax.plot([spread.value], [0], "D", color=canvas.ACCENT, markersize=7.5, markeredgewidth=0)
    ends = [end for end in spread if end is not None]
    margin = 0.08 * (max(ends) - min(ends)) or 0.05 * abs(ends[0]) or 0.05
    ax.set(xlim=(min(ends) - margin, max(ends) + margin), ylim=(-1, 1), yticks=())
    ax.spines["left"].set_visible(False)
    ax.xaxis.set_major_locator(MaxNLocator(4))
    ax.ticklabel_format(axis="x", useOffset=False)


def _line(metric: Mapping[str, Any], spread: Spread, key: str) -> Markup:
    drawing, ax = canvas.single(_SIZE)
    drawing.set_layout_engine("none")  # all lines begin and end at the same place
    ax.set_position((0.05, 0.42, 0.9, 0.55))
    forest_panel(ax, spread)
    name = name_of(metric)
    words = (
        f"{name}: averaged prediction {number(spread.value)}, mean of draws {number(spread.mean)}, "
    )
    words += f"95 % of draws from {span(spread.low, spread.high)}"
    better = f"{metric['better']} is better" if metric.get("better") else None
    label = tag("div", tag("strong", name), tag("small", better), class_="name")
    return tag("div", label, inline_svg(drawing, key, words), class_="line")
