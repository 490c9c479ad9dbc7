"""The figures of docs/results and docs/explanation, drawn from the JSON files of results.

`make results` calls this script.

python benchmarks/result_figures.py
"""

import json
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

RESULTS = Path(__file__).parents[1] / "docs" / "results"
INK, ACCENT, GREY, PALE = "#262626", "#c2410c", "#737373", "#e5e5e5"


def stored(name: str) -> Any:
    """What a JSON file of docs/results holds."""
    return json.loads((RESULTS / f"{name}.json").read_text())


def save(figure: plt.Figure, name: str) -> None:
    """Write an SVG that is the same whenever it is drawn."""
    figure.savefig(RESULTS / f"{name}.svg", metadata={"Date": None})
    plt.close(figure)


def plain(axes: plt.Axes) -> None:
    """No frame but the two axes."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=GREY, labelcolor=INK)


def stated_errors() -> None:
    """Stated against true errors of the bank, with the band of a factor 2."""
    rows = stored("bank")["rows"]
    true, stated = (np.array([row[key] for row in rows]) for key in ("true", "stated"))
    figure, axes = plt.subplots(figsize=(6.4, 4.6), layout="constrained")
    ends = np.array([min(true.min(), stated.min()) / 1.6, true.max() * 2.5])
    axes.fill_between(ends, ends / 2, ends * 2, color=PALE, linewidth=0)
    axes.plot(ends, ends, color=GREY, linewidth=0.8)
    outside = abs(np.log2(stated / true)) > 1
    axes.scatter(true[~outside], stated[~outside], s=26, color=INK)
    axes.scatter(true[outside], stated[outside], s=26, color=ACCENT)
    for row, x, y, out in zip(rows, true, stated, outside, strict=True):
        if out:
            axes.annotate(
                row["name"],
                (x, y),
                xytext=(0, -15),
                textcoords="offset points",
                ha="center",
                color=ACCENT,
                fontsize=9,
            )
    axes.set(xscale="log", yscale="log", xlim=ends, ylim=ends)
    axes.set(
        xlabel="true error at the median row (standard deviations, or total variation of classes)",
        ylabel="stated error",
    )
    axes.text(ends[0] * 1.6, ends[0] * 1.1, "within a factor 2", color=GREY, fontsize=9)
    plain(axes)
    save(figure, "stated_errors")


def messy_tables() -> None:
    """The score of each table beside that of boosting."""
    rows = sorted(stored("messy_tables")["rows"], key=lambda row: row["score"] - row["boosting"])
    place = np.arange(len(rows))
    ours, theirs = (np.clip([row[key] for row in rows], -0.3, 1) for key in ("score", "boosting"))
    figure, axes = plt.subplots(figsize=(6.4, 7.2), layout="constrained")
    axes.hlines(place, theirs, ours, color=PALE, linewidth=3, zorder=0)
    axes.scatter(theirs, place, s=22, facecolors="white", edgecolors=GREY, label="boosting")
    axes.scatter(ours, place, s=22, color=ACCENT, label="pmcnet")
    axes.set_yticks(place, [row["table"] for row in rows], fontsize=8)
    axes.set(xlabel="R squared or accuracy of test rows (below -.3 drawn at -.3)")
    axes.legend(frameon=False, loc="lower left")
    plain(axes)
    save(figure, "messy_tables")


def degeneracy() -> None:
    """Effective draws of each run of the paper's shallow tables."""
    names = ("ionosphere", "wine", "glass", "control-sizes", "control-variants")
    figure, axes = plt.subplots(figsize=(6.4, 3), layout="constrained")
    spread = np.random.default_rng(0)
    for place, name in enumerate(reversed(names)):
        effective = [run["diagnostics"]["ess"] for run in stored(name)["runs"]]
        height = place + spread.uniform(-0.15, 0.15, len(effective))
        axes.scatter(effective, height, s=14, color=ACCENT, alpha=0.6, linewidths=0)
    axes.axvline(5000, color=GREY, linestyle="--")
    axes.text(4300, len(names) - 0.45, "all 5000 draws", ha="right", color=GREY, fontsize=9)
    axes.set_yticks(range(len(names)), [name.replace("-", ", ") for name in reversed(names)])
    axes.set(xscale="log", xlim=(0.8, 8000), ylim=(-0.5, len(names) - 0.2))
    axes.set(xlabel="effective draws of the last step")
    plain(axes)
    save(figure, "../explanation/degeneracy")


def main() -> None:
    """Draw all."""
    plt.rcParams["svg.hashsalt"] = "pmcnet"
    degeneracy()
    stated_errors()
    messy_tables()


if __name__ == "__main__":
    main()
