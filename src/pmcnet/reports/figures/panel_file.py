"""Panels of the page as a file: side by side, one title, a legend at the right."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.artist import Artist
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from pmcnet.reports.figures import canvas
from pmcnet.reports.figures.panels import Legend, Panel, Size


def panel_file(
    panels: Sequence[Panel],
    legend: Legend,
    path: Path | str,
    title: str,
    *,
    size: Size,
    beside: float,
    most: int = 3,
) -> Path:
    """Write panels that share their axes, and return the path.

    Args:
        panels: what to draw; each needs a title.
        legend: marks of the page's style sheet, and what each means.
        path: where to write; `.png` or `.svg`.
        title: of the figure.
        size: of one panel.
        beside: inches kept free for the legend.
        most: panels in a row, at most.
    """
    figure, axes = canvas.sheet(len(panels), title, panel=size, most=most, beside=beside)
    for ax, panel in zip(axes, panels, strict=True):
        canvas.panel_title(ax, panel.title or "")
        panel.draw(ax)
    canvas.axis_names(axes, panels[0].x, panels[0].y)
    canvas.legend(figure, handles(legend), [words for _, words in legend])
    return canvas.save(figure, path)


def handles(legend: Legend) -> list[Artist]:
    """Return the marks of a legend as matplotlib draws them."""
    accent, dashes = canvas.ACCENT, (0, (4, 3))
    known: dict[str, Artist] = {
        "stroke": Line2D([], [], color=accent, linewidth=2),
        "pale": Line2D([], [], color=canvas.PALE, linewidth=1),
        "dashes": Line2D([], [], color=canvas.GREY, linewidth=1, linestyle=dashes),
        "diamond": Line2D(
            [], [], color=accent, marker="D", markersize=6.5, markeredgewidth=0, linestyle="none"
        ),
        "box": Patch(color=canvas.BARS),
        "frame": Patch(fill=False, edgecolor=canvas.INK, linewidth=1.4),
        **{f"tint-{level}": Patch(color=colour) for level, colour in canvas.TINTS.items()},
    }
    return [known[mark] for mark, _ in legend]
