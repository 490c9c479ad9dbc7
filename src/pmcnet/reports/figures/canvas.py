"""The look of every figure: one accent colour, greys, open axes, and files that need no display."""

import io
import textwrap
from collections.abc import Sequence
from math import ceil
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pmcnet.errors import InputError

ACCENT = "#c2410c"
INK = "#262626"
GREY = "#737373"
PALE = "#d4d4d4"
BARS = "#bdbdbd"
TINTS = {"80": "#f0a988", "95": "#f7cfbb", "99": "#fce9df"}
"""Of the accent by level in percent, darker where likelier."""

TITLE_SIZE = 14.0
PANEL_SIZE = 12.0
LABEL_SIZE = 11.5
TICK_SIZE = 10.5

PNG_DPI = 130
SUFFIXES = (".png", ".svg")


def n_columns(n_panels: int, most: int) -> int:
    """Return the number of columns that leaves the fewest holes in the fewest rows."""
    n_rows = ceil(n_panels / most)
    return ceil(n_panels / n_rows)


def sheet(
    n_panels: int, title: str, *, panel: tuple[float, float], most: int = 3, beside: float = 0.0
) -> tuple[Figure, list[Axes]]:
    """Return a titled figure with `n_panels` open axes, at most `most` in a row.

    Args:
        n_panels: how many axes to make.
        title: written at the top left, wrapped to the width of the figure.
        panel: width and height of one panel in inches.
        most: the largest number of panels in a row.
        beside: inches kept free at the right for a legend.
    """
    columns = n_columns(n_panels, most)
    n_rows = ceil(n_panels / columns)
    width, height = panel[0] * columns + beside, panel[1] * n_rows + 0.5
    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.08)  # type: ignore[union-attr, call-arg]
    words = wrapped(title, 0.9 * width, TITLE_SIZE)  # bold letters are wider
    figure.suptitle(words, x=0.12 / width, ha="left", size=TITLE_SIZE, color=INK, weight="bold")
    axes = [figure.add_subplot(n_rows, columns, 1 + i) for i in range(n_panels)]
    for ax in axes:
        _open(ax)
    return figure, axes


def single(size: tuple[float, float]) -> tuple[Figure, Axes]:
    """Return a bare figure of one open panel on no background, of a `size` in inches."""
    figure = Figure(figsize=size, layout="constrained", facecolor="none")
    ax = figure.add_subplot(facecolor="none")
    _open(ax)
    return figure, ax


def drawn_words(text: Any, most: int | None = None) -> str:
    """Return a name as matplotlib can draw it: no control characters, no mathematics, cut short."""
    words = "".join(letter if letter.isprintable() else " " for letter in str(text))
    if most is not None and len(words) > most:
        words = f"{words[: most - 1]}…"
    return words.replace("$", r"\$")


def axis_names(axes: Sequence[Axes], x: str, y: str) -> None:
    """Name the axes of the outer panels only: the first of each row, the last of each column."""
    for ax in axes[:: _n_columns(axes)]:
        ax.set_ylabel(drawn_words(y), size=LABEL_SIZE, color=INK)
    for ax in axes[-_n_columns(axes) :]:
        ax.set_xlabel(drawn_words(x), size=LABEL_SIZE, color=INK)


def outer_ticks(axes: Sequence[Axes]) -> None:
    """Take the names of ticks from all but the outer panels, where all panels have the same."""
    for i, ax in enumerate(axes):
        ax.tick_params(
            labelleft=i % _n_columns(axes) == 0, labelbottom=i + _n_columns(axes) >= len(axes)
        )


def legend(figure: Figure, handles: Sequence[Artist], names: Sequence[str]) -> None:
    """Say what is what at the right of all panels, over no data."""
    lines = [wrapped(name, 2.0, TICK_SIZE) for name in names]
    figure.legend(
        handles,
        lines,
        loc="outside right center",
        frameon=False,
        fontsize=TICK_SIZE,
        labelcolor=INK,
        handlelength=2.4,
    )


def panel_title(ax: Axes, text: str) -> None:
    """Write the title of a panel at its left edge, its lines wrapped to the panel's width."""
    width = ax.get_position().width * ax.figure.get_figure(root=True).get_figwidth()
    lines = [wrapped(line, width, PANEL_SIZE) for line in text.splitlines()]
    ax.set_title("\n".join(lines), loc="left", size=PANEL_SIZE, color=INK)


def wrapped(text: str, width: float, size: float) -> str:
    """Break `text` into lines that fit `width` inches at `size` points."""
    n_letters = max(12, int(width * 72 / (0.62 * size)))
    return textwrap.fill(text, n_letters, break_on_hyphens=False)


def checked_path(path: Path | str) -> Path:
    """Return `path`; refuse a suffix no figure is written in."""
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(
            f"a figure is written as one of {', '.join(SUFFIXES)}; got {path.name!r}. Change the "
            "suffix."
        )
    return path


def save(figure: Figure, path: Path | str) -> Path:
    """Write `figure` in the format of its suffix, making the folder if needed; return the path."""
    path = checked_path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix.lower() == ".svg":
        path.write_text(svg(figure), encoding="utf-8")
        return path
    _settle(figure)
    figure.savefig(path, format="png", dpi=PNG_DPI)
    return path


def svg(figure: Figure) -> str:
    """Return `figure` as SVG whose words are text, the same for the same data."""
    _settle(figure)
    written = io.BytesIO()
    # fonttype has no argument of its own; with this salt and no date, equal data give equal files
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "pmcnet"}):
        figure.savefig(written, format="svg", metadata={"Date": None})
    return written.getvalue().decode()


def _n_columns(axes: Sequence[Axes]) -> int:
    return int(axes[0].get_gridspec().ncols)  # type: ignore[union-attr]


def _settle(figure: Figure) -> None:
    # square panels move in the first layout; the second, on saving, is right
    figure.draw_without_rendering()


def _open(ax: Axes) -> None:
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(GREY)
    ax.tick_params(colors=GREY, labelcolor=INK, labelsize=TICK_SIZE, length=3)
    ax.set_axisbelow(True)
