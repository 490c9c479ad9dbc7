"""How good the predictions are after each step of a run."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from pmcnet.reports.figures import canvas
from pmcnet.reports.figures.arrays import Array, entry, finite_list, non_empty

METRICS = ("auc", "accuracy")

_NAMES = {"auc": "AUC", "accuracy": "accuracy"}
_GREYS = ("#404040", "#8a8a8a", "#b8b8b8")
_DASHES = ("solid", (0, (5, 2)), (0, (1.5, 1.5)))
_MARKERS = ("s", "^", "D", "v", "P", "X", "<", ">")
_MOST_MARKERS = 12
_PANEL = (4.2, 3.4)


def metric_by_step(
    by_label: Mapping[str, Sequence[Mapping[str, float]]], path: Path | str, title: str
) -> Path:
    """Draw AUC and accuracy against the step, one line per label, the first in the accent colour.

    Args:
        by_label: `[{"auc", "accuracy"}, ...]`, one entry per step, by what to call the run.
        path: where to write; `.png` or `.svg`.
        title: the title of the figure.
    """
    non_empty(by_label, "by_label")
    series = {
        metric: {str(k): _values(v, metric, str(k)) for k, v in by_label.items()}
        for metric in METRICS
    }
    figure, axes = canvas.sheet(len(METRICS), title, panel=_PANEL, beside=1.6)
    for ax, metric in zip(axes, METRICS, strict=True):
        canvas.panel_title(ax, _NAMES[metric])
        _panel(ax, list(series[metric].values()))
        ax.set_ylabel(_NAMES[metric], size=canvas.LABEL_SIZE, color=canvas.INK)
    canvas.legend(figure, axes[0].get_lines(), list(series[METRICS[0]]))
    return canvas.save(figure, path)


def _panel(ax: Axes, lines: Sequence[Array]) -> None:
    for i, values in enumerate(lines):
        every = max(1, -(-values.size // _MOST_MARKERS))
        ax.plot(range(1, values.size + 1), values, markevery=every, markersize=5, **_style(i))
    ax.grid(axis="y", color=canvas.PALE, linewidth=0.6)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1, steps=[1, 2, 5, 10]))
    ax.yaxis.set_major_locator(MaxNLocator(5))
    longest = max(values.size for values in lines)
    margin = 0.5 if longest < 3 else 0.03 * longest
    ax.set_xlim(1 - margin, longest + margin)
    ax.set_xlabel("step", size=canvas.LABEL_SIZE, color=canvas.INK)


def _style(i: int) -> dict[str, Any]:
    if i == 0:
        return {"color": canvas.ACCENT, "linewidth": 2.2, "marker": "o", "zorder": 3}
    j = i - 1
    grey, dash = _GREYS[j % len(_GREYS)], _DASHES[j // len(_GREYS) % len(_DASHES)]
    return {
        "color": grey,
        "linestyle": dash,
        "linewidth": 1.5,
        "marker": _MARKERS[j % len(_MARKERS)],
    }


def _values(steps: Sequence[Mapping[str, float]], metric: str, label: str) -> Array:
    name = f"{metric} of {label}"
    return finite_list(
        [entry(step, metric, f"step {1 + i} of {label}") for i, step in enumerate(steps)], name
    )
