"""Squared errors of several methods as a file: the violins of the page, one below the other."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from pmcnet.reports.figures import canvas
from pmcnet.reports.figures.arrays import Array, non_empty
from pmcnet.reports.figures.panel_file import handles
from pmcnet.reports.figures.violins import MARKS, Axis, common_axis, left_out, rows_of, violin_panel
from pmcnet.reports.figures.violins import squared_errors as checked
from pmcnet.reports.published_tables import number

_WIDTH, _HEIGHT, _AXIS = 6.4, 0.72, 1.0  # inches: of a row, and of all that is below the last
_NAME = 1.75  # inches before a method's name is wrapped


def squared_errors(by_method: Mapping[str, Sequence[float]], path: Path | str, title: str) -> Path:
    """Draw one row per method on a common logarithmic axis: its squared errors and their median.

    Args:
        by_method: squared errors, one per test row, by what to call the method.
        path: where to write; `.png` or `.svg`.
        title: the title of the figure.
    """
    non_empty(by_method, "by_method")
    errors = {str(method): checked(str(method), values) for method, values in by_method.items()}
    axis = common_axis(list(errors.values()))
    panel = (_WIDTH, _HEIGHT + _AXIS / len(errors))
    figure, axes = canvas.sheet(len(errors), title, panel=panel, most=1, beside=2.2)
    for ax, (method, values) in zip(axes, errors.items(), strict=True):
        violin_panel(ax, values, axis, named=ax is axes[-1])
        name = canvas.wrapped(method, _NAME, canvas.LABEL_SIZE)
        ax.set_ylabel(
            name, rotation=0, ha="right", va="center", size=canvas.LABEL_SIZE, color=canvas.INK
        )
        _beside(ax, 0.5, number(float(np.median(values))))
    _beside(axes[0], 1.12, "median")
    axes[-1].set_xlabel(
        _axis_name(list(errors.values()), axis), size=canvas.LABEL_SIZE, color=canvas.INK
    )
    canvas.legend(figure, handles(MARKS), [words for _, words in MARKS])
    return canvas.save(figure, path)


def _axis_name(found: list[Array], axis: Axis) -> str:
    """Say below the axis what is drawn, and what is too small for it."""
    lines = [f"squared error of {rows_of(found)}", left_out(np.concatenate(found), axis).strip()]
    return "\n".join(
        canvas.wrapped(line, _WIDTH - _NAME, canvas.LABEL_SIZE) for line in lines if line
    )


def _beside(ax: Axes, height: float, words: str) -> None:
    """Write at the right of a row, `height` being a share of the row's."""
    align = "center" if height < 1 else "bottom"
    ax.text(
        1.02,
        height,
        words,
        transform=ax.transAxes,
        va=align,
        size=canvas.TICK_SIZE,
        color=canvas.INK,
    )
