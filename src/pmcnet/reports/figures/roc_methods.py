"""ROC curves of several methods in one panel, which differ by shade and by dashes."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from matplotlib.axes import Axes

from pmcnet.reports.figures import canvas
from pmcnet.reports.figures.inline_svg import VARIABLES
from pmcnet.reports.figures.panels import Legend, figure
from pmcnet.reports.figures.roc import Curve, checked_curve, roc_axes, roc_frame
from pmcnet.reports.html import Markup, real, tag

_FIRST_WIDTH = 2.8
_WIDTH = 1.8
_DASHES: tuple[tuple[float, ...], ...] = ((), (5, 2), (1.2, 1.4), (6, 1.5, 1.2, 1.5))  # in widths
_GREYS = (canvas.INK, canvas.GREY)


class MethodCurve(NamedTuple):
    """A method, its curve, and the area under it."""

    method: str
    curve: Curve
    auc: float


class Style(NamedTuple):
    """How a line looks: its colour, its width in points, and lengths drawn and left out in turn."""

    colour: str
    width: float
    dashes: tuple[float, ...]


def method_curve(method: str, data: Mapping[str, Any]) -> MethodCurve:
    """Return the checked curve of `method`; where no area is given, that under the curve."""
    curve = checked_curve({"class": 0, **data}, f"roc of {method}")
    auc = data.get("auc")
    return MethodCurve(method, curve, float(auc) if real(auc) else curve.auc)


def methods_figure(curves: Sequence[MethodCurve]) -> Markup:
    """Return one figure with the curves of all methods, the first in the accent colour."""
    worst, best = (pick(curves, key=lambda one: one.auc) for pick in (min, max))
    areas = ", ".join(f"{one.method} {one.auc:.3f}" for one in curves)
    words = f"ROC curves on the same test rows; area under the curve: {areas}."
    caption = f"The area under the curve is largest for {best.method} ({best.auc:.3f})"
    caption += f" and smallest for {worst.method} ({worst.auc:.3f})" if worst.auc < best.auc else ""
    caption += ". The higher the curve above the dashed line, the better."
    legend: Legend = [
        *(
            (line_mark(style_of(i)), f"{one.method}, AUC {one.auc:.3f}")
            for i, one in enumerate(curves)
        ),
        ("dashes", "chance"),
    ]
    panel = roc_axes(None, words, partial(methods_panel, curves=curves))
    return figure("compare-roc", [panel], caption, legend)


def methods_panel(ax: Axes, curves: Sequence[MethodCurve]) -> None:
    """Draw all curves over the line of chance; the first is thick and lies below the others."""
    roc_frame(ax)
    for i, one in enumerate(curves):
        look = style_of(i)
        line = (0, look.dashes) if look.dashes else "solid"
        ax.plot(
            one.curve.grid, one.curve.mean, color=look.colour, linewidth=look.width, linestyle=line
        )


def style_of(i: int) -> Style:
    """Return the look of line `i`: the accent, then dashes and greys in turn; nine differ."""
    if i == 0:
        return Style(canvas.ACCENT, _FIRST_WIDTH, ())
    j = (i - 1) % (len(_GREYS) * len(_DASHES))
    return Style(_GREYS[j % len(_GREYS)], _WIDTH, _DASHES[(j + j // len(_DASHES)) % len(_DASHES)])


def line_mark(look: Style) -> Markup:
    """Return a piece of the line for the legend, drawn by the page."""
    colour, ends, at = f"var({VARIABLES[look.colour]})", [], 0.0
    for i, length in enumerate(look.dashes or (1.0,)):
        start, at = at, at + length * look.width * 4 / 3  # pixels of points
        ends.append(f"{'transparent' if i % 2 else colour} {start:.1f}px {at:.1f}px")
    style = f"height:{look.width * 4 / 3:.1f}px;"
    style += f"background:repeating-linear-gradient(90deg,{','.join(ends)})"
    return tag("span", class_="mark line", style=style, aria_hidden="true")
