"""How much the draws of a posterior disagree about single rows of the test set."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from scipy.special import betaln  # type: ignore[import-untyped]

from pmcnet.reports.figures import canvas
from pmcnet.reports.figures.arrays import Array, class_name, entry, non_empty, probabilities
from pmcnet.reports.figures.panel_file import panel_file
from pmcnet.reports.figures.panels import Legend, Panel
from pmcnet.reports.html import number, setting

_LEAST_VARIANCE = 1e-8
_PANEL = (3.5, 2.9)

PROBABILITY_LEGEND: Legend = (("box", "draws"), ("stroke", "Beta fit"))


class Beta(NamedTuple):
    """A Beta distribution on [0, 1]."""

    a: float
    b: float

    def density(self, x: Array) -> Array:
        """Return x^(a-1) (1-x)^(b-1) / B(a, b) at points inside (0, 1)."""
        log_density = (
            (self.a - 1) * np.log(x) + (self.b - 1) * np.log1p(-x) - betaln(self.a, self.b)
        )
        return np.asarray(np.exp(log_density))


def beta_by_moments(draws: Array) -> Beta | None:
    """Return the Beta with the mean and variance of `draws`, or None where no Beta has them.

    With mean m and variance v, a + b = m (1 - m) / v - 1, a = m (a + b), b = (1 - m) (a + b).
    """
    mean, variance = float(draws.mean()), float(draws.var())
    if variance <= _LEAST_VARIANCE:
        return None
    total = mean * (1 - mean) / variance - 1
    if total <= 1e-9:  # draws at 0 and 1 only: as spread out as can be, no density
        return None
    return Beta(mean * total, (1 - mean) * total)


def histograms(
    rows: Sequence[Mapping[str, Any]], path: Path | str, title: str, class_names: Sequence[str]
) -> Path:
    """Draw, for each row, the histogram over draws of the probability of its true class.

    A Beta density fitted by moments lies over it. Where the draws do not differ there is a line in
    its place; where they are all 0 or 1 but differ, the bars stand alone, since no Beta density has
    those moments.

    Args:
        rows: `{"row", "class", "probability": [one per draw]}`, one per panel.
        path: where to write; `.png` or `.svg`.
        title: the title of the figure.
        class_names: one name per class.
    """
    non_empty(rows, "rows")
    panels = probability_panels(rows, "rows", partial(class_name, names=class_names))
    legend = PROBABILITY_LEGEND
    return panel_file(panels, legend, path, title, size=_PANEL, beside=1.2, most=4)


def probability_panels(
    rows: Sequence[Mapping[str, Any]], name: str, class_of: Callable[[int], str]
) -> list[Panel]:
    """Return one panel per row, `name` being what the rows are called in errors."""
    return [_panel(row, f"{name}[{i}]", class_of) for i, row in enumerate(rows)]


def _panel(row: Mapping[str, Any], name: str, class_of: Callable[[int], str]) -> Panel:
    draws = probabilities(entry(row, "probability", name), f"{name} probability")
    title = f"row {setting(entry(row, 'row', name))}: {class_of(int(entry(row, 'class', name)))}"
    moments = f"mean {number(draws.mean())}, std {number(draws.std())}"
    words = f"{title}; probability of the true class over draws: {moments}"
    draw = partial(probability_panel, draws=draws)
    return Panel(title, words, "probability of the true class", "density", draw)


def probability_panel(ax: Axes, draws: Array) -> None:
    """Draw the histogram of probabilities over draws, and the Beta density with their moments."""
    ax.set(xlim=(-0.02, 1.02), xticks=(0, 0.5, 1))
    mean, std = float(draws.mean()), float(draws.std())
    if std**2 <= _LEAST_VARIANCE:
        ax.axvline(mean, color=canvas.INK, linewidth=2.5)
        ax.set(ylim=(0, 1), yticks=())
        _note(ax, f"all draws agree\non {mean:.3f}", 0 if mean > 0.5 else 2)
        return
    edges = _edges(std)
    heights, _ = np.histogram(draws, edges, density=True)
    ax.stairs(heights, edges, fill=True, color=canvas.BARS)
    tallest = float(heights.max())
    ax.set_ylim(0, 1.1 * max(tallest, _overlay(ax, draws, tallest)))
    ax.locator_params(axis="y", nbins=5)
    emptiest = int(np.argmin([third.max() for third in np.array_split(heights, 3)]))
    _note(ax, f"mean {mean:.3f}\nstd {std:.2g}", emptiest)


def value_panel(ax: Axes, draws: Array, observed: float | None) -> None:
    """Draw the histogram of predicted values over draws, and a line at the observed value."""
    low, high = float(draws.min()), float(draws.max())
    if high - low <= 1e-9 * max(abs(low), abs(high), 1.0):
        ax.axvline(low, color=canvas.GREY, linewidth=2.5)
        ax.set(ylim=(0, 1), yticks=())
    else:
        heights, edges = np.histogram(draws, int(np.clip(np.sqrt(draws.size), 8, 40)), density=True)
        ax.stairs(heights, edges, fill=True, color=canvas.BARS)
        ax.set_ylim(0, 1.1 * float(heights.max()))
        ax.locator_params(axis="y", nbins=5)
    if observed is not None:
        ax.axvline(observed, color=canvas.ACCENT, linewidth=2)
    ax.locator_params(axis="x", nbins=4)
    ax.ticklabel_format(axis="x", useOffset=False)


def _edges(std: float) -> Array:
    """Bars about half a standard deviation wide, between 20 and 100 over [0, 1]."""
    n_bars = int(np.clip(2 / std, 20, 100))
    return np.linspace(0.0, 1.0, n_bars + 1)


def _overlay(ax: Axes, draws: Array, tallest: float) -> float:
    """Draw the Beta density where there is one; return the height to show of it."""
    beta = beta_by_moments(draws)
    if beta is None:
        return tallest
    x = np.linspace(0.0, 1.0, 2001)[1:-1]  # the density may be infinite at both ends
    y = beta.density(x)
    ax.plot(x, y, color=canvas.ACCENT, linewidth=1.8)
    return min(float(y.max()), 1.5 * tallest)


def _note(ax: Axes, text: str, third: int) -> None:
    """Write in the left, middle or right third of a panel, where there is room."""
    x, align = ((0.04, "left"), (0.5, "center"), (0.96, "right"))[third]
    for i, line in enumerate(text.splitlines()):  # each is aligned in whatever font is shown
        down = (0, -1.3 * canvas.TICK_SIZE * i)
        ax.annotate(
            line,
            (x, 0.95),
            down,
            xycoords="axes fraction",
            textcoords="offset points",
            ha=align,
            va="top",
            size=canvas.TICK_SIZE,
            color=canvas.INK,
        )
