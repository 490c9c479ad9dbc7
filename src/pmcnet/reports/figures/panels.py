"""Figures of the page: drawings side by side, a legend, and a caption that says what is seen."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pmcnet.reports.figures import canvas
from pmcnet.reports.figures.inline_svg import inline_svg
from pmcnet.reports.html import Markup, folded, tag

ALONE = (4.4, 3.7)  # inches; as wide as a phone, so that letters keep their size there
BESIDE = (3.6, 2.7)
SQUARE = (3.6, 3.4)
MOST = 9  # panels shown at once

Size = tuple[float, float]  # width and height in inches
Legend = Sequence[tuple[str, str]]  # a mark (its class in the style sheet, or HTML), what it means


class Panel(NamedTuple):
    """One drawing: its title, what it shows in words, its axes, and the function that draws it."""

    title: str | None
    words: str
    x: str
    y: str
    draw: Callable[[Axes], None]


def figure(
    key: str,
    panels: Sequence[Panel],
    caption: str,
    legend: Legend = (),
    size: Size = BESIDE,
    *,
    below: Markup | None = None,
    alone: Size = ALONE,
) -> Markup:
    """Return a figure of all panels; beyond nine, the rest is folded away.

    Args:
        key: what the ids of its drawings start with.
        panels: what to draw.
        caption: what is seen.
        legend: marks and what each means.
        size: of one panel where there are several.
        below: what follows the drawings.
        alone: of the only panel.
    """
    size = alone if len(panels) == 1 else size
    drawn = [_drawn(panel, f"{key}-{i}", size) for i, panel in enumerate(panels)]
    shown = tag("div", *drawn[:MOST], below, class_="panels")
    n_rest = len(drawn) - MOST
    named = "The other panel" if n_rest == 1 else f"The other {n_rest} panels"
    rest = folded(named, tag("div", *drawn[MOST:], class_="panels")) if n_rest > 0 else None
    kind = "alone" if len(panels) == 1 else None
    return tag(
        "figure",
        marks(legend) if legend else None,
        shown,
        rest,
        tag("figcaption", caption),
        class_=kind,
    )


def marks(legend: Legend) -> Markup:
    """Return a legend as a list."""
    return tag("ul", *(tag("li", _mark(mark), words) for mark, words in legend), class_="legend")


def _mark(mark: str) -> Markup:
    return (
        mark if isinstance(mark, Markup) else tag("span", class_=f"mark {mark}", aria_hidden="true")
    )


def places(panel: Panel, size: Size = ALONE) -> dict[str, list[float]]:
    """Return where 0 and 1 of each axis are in the drawing, for what is drawn over it later."""
    drawing, ax = _canvas(panel, size)
    canvas.svg(drawing)  # axes have their place once they are drawn
    low, high = ax.transData.transform([(0, 0), (1, 1)]) * 72 / drawing.dpi
    height = 72 * drawing.get_figheight()
    across, up = [low[0], high[0]], [height - low[1], height - high[1]]
    return {"x": [round(at, 2) for at in across], "y": [round(at, 2) for at in up]}


def _drawn(panel: Panel, key: str, size: Size) -> Markup:
    drawing, _ = _canvas(panel, size)
    title = tag("h4", panel.title) if panel.title is not None else None
    return tag("div", title, inline_svg(drawing, key, panel.words), class_="panel")


def _canvas(panel: Panel, size: Size) -> tuple[Figure, Axes]:
    drawing, ax = canvas.single(size)
    panel.draw(ax)
    canvas.axis_names([ax], panel.x, panel.y)
    return drawing, ax
