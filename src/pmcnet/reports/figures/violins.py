"""Squared errors of several methods: a box on a violin for each, on one logarithmic axis."""

from collections.abc import Sequence
from math import ceil, floor, log10
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator, NullLocator

from pmcnet.errors import InputError
from pmcnet.reports.figures import canvas
from pmcnet.reports.figures.arrays import Array, finite_list
from pmcnet.reports.figures.inline_svg import inline_svg
from pmcnet.reports.figures.panels import marks
from pmcnet.reports.html import Markup, count, number, span, tag

_WIDTH, _HEIGHT, _AXIS = 4.3, 0.62, 0.5  # inches: of a row, and of the axis below the last
_BELOW = 1e-4  # of the smallest median: what is smaller, zeros among it, is drawn at the left end
_MOST = 2000  # values of a violin; more change nothing that is seen
_POINTS = 120  # of the outline
_MOST_TICKS = 7
_BOX = 0.26  # height of the box where the violin is 2 high

MARKS = (
    ("tint-95", "how the rows spread"),
    ("frame", "middle half; the line covers 90 %"),
    ("diamond", "median"),
)


class Axis(NamedTuple):
    """The powers of ten between which errors are drawn."""

    low: float
    high: float

    def placed(self, errors: Array) -> Array:
        """Return log10 of `errors`, those below the axis at its left end."""
        return np.asarray(np.log10(np.maximum(errors, 10.0**self.low)))


def squared_errors(method: str, values: Any) -> Array:
    """Return the checked squared errors of `method`, one per test row."""
    errors = finite_list(values, f"squared_errors of {method}")
    if errors.min() < 0:
        raise InputError(
            f"squared_errors of {method} must be at least 0; got {errors.min():.6g}. Give the "
            "squares."
        )
    return errors


def violins_figure(by_method: Sequence[tuple[str, Array]]) -> Markup:
    """Return one row per method: its name, the median and the spread of its squared errors."""
    axis = common_axis([errors for _, errors in by_method])
    last = len(by_method) - 1
    rows = [
        _row(i, method, errors, axis, i == last) for i, (method, errors) in enumerate(by_method)
    ]
    medians = ", ".join(
        f"{method} {number(float(np.median(errors)))}" for method, errors in by_method
    )
    found = [errors for _, errors in by_method]
    caption = f"Squared errors of {rows_of(found)} on a logarithmic axis; medians: {medians}. "
    caption += f"The farther left, the better.{left_out(np.concatenate(found), axis)}"
    return tag("figure", marks(MARKS), *rows, tag("figcaption", caption), class_="forest violins")


def rows_of(found: Sequence[Array]) -> str:
    """Return how many test rows the errors are of, where all methods have as many."""
    sizes = {errors.size for errors in found}
    return (
        f"{count(min(sizes))} test row{'s' * (min(sizes) > 1)}" if len(sizes) == 1 else "test rows"
    )


def common_axis(found: list[Array]) -> Axis:
    """Return limits that hold all errors but those far below every median.

    Where all are zero, the limits are 0.1 and 1.
    """
    positive = [errors[errors > 0] for errors in found if np.any(errors > 0)]
    if not positive:
        return Axis(-1.0, 0.0)
    least = min(float(errors.min()) for errors in positive)
    least = max(least, _BELOW * min(float(np.median(errors)) for errors in positive))
    low, high = log10(least), log10(max(float(errors.max()) for errors in positive))
    return Axis(low, high) if high - low > 0.5 else Axis(low - 0.5, high + 0.5)


def violin_panel(ax: Axes, errors: Array, axis: Axis, *, named: bool) -> None:
    """Draw density, box, whiskers from 5 to 95 % and median; a `named` axis has its ticks named."""
    x = axis.placed(errors)
    _density(ax, x, canvas.TINTS["95"])
    lowest, low, median, high, highest = np.quantile(x, (0.05, 0.25, 0.5, 0.75, 0.95)).tolist()
    ax.plot([lowest, low], [0, 0], color=canvas.INK, linewidth=1.4)
    ax.plot([high, highest], [0, 0], color=canvas.INK, linewidth=1.4)
    ax.add_patch(
        Rectangle(
            (low, -_BOX), high - low, 2 * _BOX, fill=False, edgecolor=canvas.INK, linewidth=1.4
        )
    )
    ax.plot([median], [0], "D", color=canvas.ACCENT, markersize=6.5, markeredgewidth=0, zorder=4)
    margin = 0.03 * (axis.high - axis.low)
    ax.set(xlim=(axis.low - margin, axis.high + margin), ylim=(-1.08, 1.08), yticks=())
    ticks = _ticks(axis)
    ax.xaxis.set_major_locator(FixedLocator(ticks))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xticklabels([_tick(power) if named else "" for power in ticks])
    ax.grid(axis="x", color=canvas.PALE, linewidth=0.8)
    ax.spines["left"].set_visible(False)
    ax.spines["bottom"].set_visible(named)
    ax.tick_params(length=3 if named else 0)


def _density(ax: Axes, x: Array, colour: str) -> None:
    """Draw a Gaussian kernel density of `x`, one high, mirrored; none where all values are equal.

    The bandwidth is Silverman's, 0.9 min(std, interquartile range / 1.34) n^(-1/5).
    """
    if x.size > _MOST:
        x = np.quantile(x, (np.arange(_MOST) + 0.5) / _MOST)  # (MOST,)
    low, high = np.quantile(x, (0.25, 0.75))
    spread = min(float(x.std()), float(high - low) / 1.34) or float(x.std())
    width = 0.9 * spread * x.size**-0.2
    if width <= 1e-9:
        return
    at = np.linspace(x.min(), x.max(), _POINTS)  # (P,)
    heights = np.exp(-0.5 * ((at[:, None] - x) / width) ** 2).mean(1)  # (P,)
    heights /= heights.max()
    ax.fill_between(at, -heights, heights, color=colour, linewidth=0)


def _row(i: int, method: str, errors: Array, axis: Axis, last: bool) -> Markup:
    height = _HEIGHT + (_AXIS if last else 0.0)
    drawing, ax = canvas.single((_WIDTH, height))
    drawing.set_layout_engine("none")  # all rows begin and end at the same place
    ax.set_position((0.03, 1 - _HEIGHT / height, 0.94, _HEIGHT / height))
    violin_panel(ax, errors, axis, named=last)
    if last:
        ax.set_xlabel("squared error", size=canvas.LABEL_SIZE, color=canvas.INK)
    low, median, high = np.quantile(errors, (0.25, 0.5, 0.75)).tolist()
    words = f"{method}: median squared error {number(median)}, "
    words += f"middle half of the rows from {span(low, high)}"
    name = tag(
        "div", tag("strong", method), tag("small", f"median {number(median)}"), class_="name"
    )
    return tag("div", name, inline_svg(drawing, f"compare-errors-{i}", words), class_="line")


def left_out(errors: Array, axis: Axis) -> str:
    """Say how many errors are too small for the axis, or nothing where none is."""
    n, zeros = (
        int(np.count_nonzero(errors < (1 - 1e-9) * 10.0**axis.low)),
        int(np.count_nonzero(errors == 0)),
    )
    are, exact = (
        "errors are" if n > 1 else "error is",
        f" ({count(zeros)} of them zero)" if zeros else "",
    )
    return (
        f" {count(n)} {are} below {_tick(axis.low)}{exact} and drawn at the left end." if n else ""
    )


def _ticks(axis: Axis) -> list[float]:
    """Return at most seven whole powers of ten; where the axis holds fewer than two, more ticks."""
    first, last = ceil(axis.low), floor(axis.high)
    if last > first:
        return [
            float(power) for power in range(first, last + 1, ceil((last - first + 1) / _MOST_TICKS))
        ]
    fine = [power + log10(digit) for power in range(first - 1, last + 2) for digit in (1, 2, 5)]
    return [power for power in fine if axis.low <= power <= axis.high]


def _tick(power: float) -> str:
    return f"{10.0**power:.3g}".replace("-", "\N{MINUS SIGN}")
