"""Figures of the page: drawings side by side as far as there is room, a legend, and a caption that says what is seen."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from matplotlib.axes import Axes

from pmcnet.reports import canvas
from pmcnet.reports.inline import inline_svg
from pmcnet.reports.markup import Markup, folded, tag

ALONE = (4.9, 4.0)  # inches; as wide as a phone, so that letters keep their size there
BESIDE = (3.6, 3.2)
MOST = 9  # panels shown at once

Legend = Sequence[tuple[str, str]]  # what a mark looks like (a class of the style sheet), what it means


class Panel(NamedTuple):
    """One drawing: its title, what it shows in words, its axes, and the function that draws it."""

    title: str | None
    words: str
    x: str
    y: str
    draw: Callable[[Axes], None]


def figure(key: str, panels: Sequence[Panel], caption: str, legend: Legend = ()) -> Markup:
    """Return a figure of all panels; beyond nine, the rest is folded away."""
    size = ALONE if len(panels) == 1 else BESIDE
    drawn = [_drawn(panel, f"{key}-{i}", size) for i, panel in enumerate(panels)]
    kind = "panels alone" if len(panels) == 1 else "panels"
    shown = tag("div", *drawn[:MOST], class_=kind)
    rest = folded(f"The other {len(drawn) - MOST}", tag("div", *drawn[MOST:], class_=kind)) if drawn[MOST:] else None
    return tag("figure", _legend(legend) if legend else None, shown, rest, tag("figcaption", caption))


def _drawn(panel: Panel, key: str, size: tuple[float, float]) -> Markup:
    drawing, ax = canvas.single(size)
    panel.draw(ax)
    canvas.axis_names([ax], panel.x, panel.y)
    title = tag("h3", panel.title) if panel.title is not None else None
    return tag("div", title, inline_svg(drawing, key, panel.words), class_="panel")


def _legend(legend: Legend) -> Markup:
    marks = [tag("li", tag("span", class_=f"mark {mark}", aria_hidden="true"), words) for mark, words in legend]
    return tag("ul", *marks, class_="legend")
