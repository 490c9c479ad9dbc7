"""Confusion matrices averaged over draws, side by side."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, PowerNorm
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from pmcnet.errors import InputError
from pmcnet.reports.figures import canvas
from pmcnet.reports.figures.arrays import Array, finite, non_empty

_SCALE = LinearSegmentedColormap.from_list("accent", ["#ffffff", "#f7cfbb", canvas.ACCENT])
_STEEP = 0.5  # the colour goes with this power of the share, so that rare mistakes are seen
_DARK = 0.64  # cells above this share carry white numbers
_FEW = 6  # classes with large cells
_LETTER = 0.085  # inches per letter of a class name
_LONGEST = 14  # letters before a class name is wrapped


def confusion(
    by_label: Mapping[str, Sequence[Sequence[float]]],
    path: Path | str,
    title: str,
    class_names: Sequence[str],
) -> Path:
    """Draw one heat map per label, numbers being counts and colours shares of the true class.

    Args:
        by_label: matrices of mean counts, rows the truth and columns the prediction, by what to
            call each.
        path: where to write; `.png` or `.svg`.
        title: the title of the figure.
        class_names: one name per class.
    """
    non_empty(by_label, "by_label")
    counts = {
        str(label): checked_counts(matrix, str(label), len(class_names))
        for label, matrix in by_label.items()
    }
    names = [
        canvas.wrapped(str(name), _LONGEST * 0.62 * canvas.TICK_SIZE / 72, canvas.TICK_SIZE)
        for name in class_names
    ]
    figure, axes = canvas.sheet(len(counts), title, panel=_size(names, len(counts)), beside=1.2)
    figure.set_layout_engine("compressed", w_pad=0.12, h_pad=0.1)  # panels must be square
    for ax, (label, matrix) in zip(axes, counts.items(), strict=True):
        canvas.panel_title(ax, f"{label}\n{_right(matrix)}")
        image = _panel(ax, matrix, names)
    canvas.outer_ticks(axes)
    canvas.axis_names(axes, "predicted", "truth")
    _bar(figure, image, axes)
    return canvas.save(figure, path)


def shares(counts: Array) -> Array:
    """Divide each row by its sum; a class without rows has no shares and stays at zero."""
    total = counts.sum(1, keepdims=True)  # (C, 1)
    return counts / np.where(total > 0, total, 1.0)


def cell_text(count: float) -> str:
    """Return a count as an integer where it is whole or has three digits, else with one decimal."""
    return f"{count:.0f}" if abs(count - round(count)) < 1e-9 or count >= 99.95 else f"{count:.1f}"


def checked_counts(matrix: Sequence[Sequence[float]], label: str, n_classes: int) -> Array:
    """Return a square matrix of counts, one row and one column per class."""
    counts = finite(matrix, f"the matrix of {label}")
    if counts.shape != (n_classes, n_classes):
        raise InputError(
            f"the matrix of {label} must be (n_classes={n_classes}, n_classes={n_classes}); got "
            f"{counts.shape}. Give one class name per row and column."
        )
    if counts.min() < 0:
        raise InputError(
            f"the matrix of {label} must hold counts of at least 0; got {counts.min():.6g}."
        )
    return counts


def _panel(ax: Axes, counts: Array, names: Sequence[str]) -> AxesImage:
    share = shares(counts)  # (C, C)
    image = ax.imshow(share, cmap=_SCALE, norm=PowerNorm(_STEEP, 0.0, 1.0))
    size = canvas.LABEL_SIZE if len(names) <= _FEW else canvas.TICK_SIZE
    for (i, j), count in np.ndenumerate(counts):
        colour = "white" if share[i, j] > _DARK else canvas.INK if count else canvas.BARS
        ax.text(j, i, cell_text(float(count)), ha="center", va="center", size=size, color=colour)
    ticks = range(len(names))
    ax.set_yticks(ticks, names)
    slanted: dict[str, Any] = (
        {"rotation": 40, "ha": "right", "rotation_mode": "anchor"} if _crowded(names) else {}
    )
    ax.set_xticks(ticks, names, **slanted)
    ax.tick_params(length=0)
    # without a frame white cells would join the next panel's
    ax.spines[:].set(visible=True, color=canvas.PALE, linewidth=0.8)
    return image


def _bar(figure: Figure, image: AxesImage, axes: Sequence[Axes]) -> None:
    shrink = 0.7 * axes[0].get_position().height  # as high as one panel, however many there are
    bar = figure.colorbar(
        image, ax=list(axes), shrink=shrink, aspect=16, ticks=[0, 0.05, 0.2, 0.5, 1]
    )
    bar.set_label("share of the true class", size=canvas.LABEL_SIZE, color=canvas.INK)
    bar.ax.set_yticklabels(["0", "5 %", "20 %", "50 %", "100 %"])
    bar.ax.tick_params(labelsize=canvas.TICK_SIZE, length=0, labelcolor=canvas.INK)
    bar.outline.set_visible(False)


def _right(counts: Array) -> str:
    """Return the share of rows on the diagonal as words."""
    total = float(counts.sum())
    return f"{100 * float(counts.trace()) / total:.1f} % right" if total else "no rows"


def _longest(names: Sequence[str]) -> int:
    return max(len(line) for name in names for line in name.splitlines() or [""])


def _crowded(names: Sequence[str]) -> bool:
    return len(names) > 1 and _longest(names) * _LETTER > _cell(names)


def _cell(names: Sequence[str]) -> float:
    """Return the side of a cell in inches."""
    return max(0.62 if len(names) <= _FEW else 0.44, 2.0 / len(names))


def _size(names: Sequence[str], n_panels: int) -> tuple[float, float]:
    """Return width and height of a panel in inches; outer panels carry the names of classes."""
    side, columns = _cell(names) * len(names), canvas.n_columns(n_panels, 3)
    left = 0.4 + _LETTER * _longest(names)
    below = 0.3 + (0.75 * left if _crowded(names) else 0.4)
    return side + 0.35 + left / columns, side + 0.5 + below / -(-n_panels // columns)
