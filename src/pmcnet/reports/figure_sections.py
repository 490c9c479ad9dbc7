"""The sections of the page that are figures, each a function of the record."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from pmcnet.reports.figures.arrays import entry, finite_list
from pmcnet.reports.figures.calibration import (
    coverage,
    coverage_panel,
    reliability,
    reliability_panel,
)
from pmcnet.reports.figures.histograms import PROBABILITY_LEGEND, probability_panels, value_panel
from pmcnet.reports.figures.history import Course, course, course_panel
from pmcnet.reports.figures.panels import SQUARE, Legend, Panel, figure
from pmcnet.reports.figures.roc import (
    Curve,
    curves_to_draw,
    roc_axes,
    roc_legend,
    roc_panel,
)
from pmcnet.reports.figures.scatter import MOST, intervals, scatter_panel
from pmcnet.reports.html import (
    Markup,
    count,
    folded,
    joined,
    number,
    real,
    seconds,
    setting,
    share,
    span,
    table,
    tag,
)
from pmcnet.reports.record import class_names
from pmcnet.reports.sections import Section

_COURSES = {
    "ess": "effective draws",
    "temperature": "inverse temperature",
    "log_evidence": "log evidence",
    "acceptance": "acceptance",
    "step_size": "step size",
    "error": "error of predictions",
}
_MOST_ROWS = 60  # of the table of steps


def roc(record: Mapping[str, Any]) -> Section | None:
    """Return the ROC curves with their bands: one, or one per class."""
    if not record.get("roc"):
        return None
    curves = curves_to_draw(record["roc"])
    named = [(f"class {_class(record, curve.label)}", curve) for curve in curves]
    panels = [
        roc_axes(name, _roc_words(name, curve), partial(roc_panel, curve=curve))
        for name, curve in named
    ]
    if len(curves) == 1:
        title = "ROC curve"
        caption = f"{panels[0].words} The higher the curve above the dashed line, the better; "
        caption += "the bands show how much the draws disagree."
    else:
        title = "ROC curves"
        worst, best = (pick(named, key=lambda pair: pair[1].auc) for pick in (min, max))
        caption = f"Each class against all others. The area is largest for {best[0]} "
        caption += f"({best[1].auc:.3f}) and smallest for {worst[0]} ({worst[1].auc:.3f})."
    return Section("roc", title, figure("roc", panels, caption, roc_legend(curves), SQUARE))


def _roc_words(name: str, curve: Curve) -> str:
    found = float(np.interp(0.1, curve.grid, curve.mean))
    words = f"{name[0].upper()}{name[1:]}: the area under the mean curve is {curve.auc:.3f}. "
    words += f"At a false positive rate of 10 % it finds {share(found)} of the rows of this class"
    if "95" not in curve.bands:
        return words + "."
    low, high = (float(np.interp(0.1, curve.grid, side)) for side in curve.bands["95"])
    return words + f" (95 % of draws: {share(low)} to {share(high)})."


def scatter(record: Mapping[str, Any]) -> Section | None:
    """Return predicted against observed values with intervals."""
    if not record.get("scatter"):
        return None
    found = intervals(record["scatter"])
    n, inside = found.y.size, int(found.covered.sum())
    level = record.get("scatter_coverage")
    named = f"intervals of level {share(level)}" if real(level) else "intervals"
    caption = f"{count(inside)} of {count(n)} {named} contain the observed value, that is, "
    caption += f"{share(inside / n)}. On the dashed line the prediction is exact."
    if n > MOST:
        caption += f" {MOST} of the rows are drawn."
    if record.get("scatter_note"):
        caption += f" {record['scatter_note']}"
    legend = [
        ("dot grey", "inside its interval"),
        ("cross", "outside its interval"),
        ("dashes", "exact"),
    ]
    panel = Panel(None, caption, "observed", "predicted", partial(scatter_panel, found=found))
    return Section(
        "scatter", "Predicted against observed", figure("scatter", [panel], caption, legend)
    )


def calibration(record: Mapping[str, Any]) -> Section | None:
    """Return how well probabilities, or intervals, are calibrated."""
    data = record.get("calibration")
    if not data:
        return None
    body = _coverage(data) if "levels" in data else _reliability(data)
    return Section("calibration", "Calibration", body) if body else None


def _reliability(data: Mapping[str, Any]) -> Markup | None:
    bins = reliability(entry(data, "bins", "calibration"))
    if bins is None:
        return None
    total, near = bins.n.sum(), (bins.low <= bins.confidence) & (bins.confidence <= bins.high)
    off = (
        f" On average confidence and accuracy differ by {number(data['ece'])}."
        if real(data.get("ece"))
        else ""
    )
    caption = (
        f"{count(total)} predictions in {bins.n.size} bin{'s' * (bins.n.size > 1)} by confidence; "
        f"in {int(near.sum())} of them the interval of the accuracy contains the confidence.{off} "
        "Below the dashed line predictions are overconfident, above it underconfident."
    )
    rows = [
        [number(c), number(a), span(low, high), count(n)]
        for c, a, n, low, high in zip(*bins, strict=True)
    ]
    listed = table(["confidence", "accuracy", "interval", "rows"], rows, "Calibration in numbers")
    legend = [
        ("stroke", "accuracy and its interval"),
        ("box", "rows in the bin"),
        ("dashes", "perfect"),
    ]
    panel = Panel(None, caption, "confidence", "accuracy", partial(reliability_panel, bins=bins))
    return joined([figure("calibration", [panel], caption, legend), folded("The numbers", listed)])


def _coverage(data: Mapping[str, Any]) -> Markup:
    found = coverage(data)
    worst = int(np.argmax(np.abs(found.coverage - found.levels)))
    caption = (
        f"Of the {share(found.levels[-1])} intervals, {share(found.coverage[-1])} contain the "
        f"observed value. The largest difference is at the {share(found.levels[worst])} level, "
        f"with {share(found.coverage[worst])}. Below the dashed line intervals are too narrow, "
        "above it too wide."
    )
    rows = [
        [share(level), share(c), f"{share(low)} to {share(high)}"]
        for level, c, low, high in zip(*found, strict=True)
    ]
    listed = table(["level", "coverage", "interval of the coverage"], rows, "Coverage in numbers")
    legend = [("stroke", "coverage"), ("tint-95", "its interval"), ("dashes", "perfect")]
    draw = partial(coverage_panel, found=found)
    panel = Panel(None, caption, "level of the interval", "share of rows inside", draw)
    return joined([figure("calibration", [panel], caption, legend), folded("The numbers", listed)])


def histograms(record: Mapping[str, Any]) -> Section | None:
    """Return, for chosen rows, how the draws spread."""
    rows = record.get("histograms")
    if not rows:
        return None
    if record["task"] == "regression":
        panels = [_value_panel(row, f"histograms[{i}]") for i, row in enumerate(rows)]
        legend: Legend = [("box", "draws"), ("stroke", "observed value")]
        caption = (
            "Each panel is one row of the test set. A wide histogram is an uncertain prediction."
        )
    else:
        panels = probability_panels(rows, "histograms", partial(_class, record))
        legend = PROBABILITY_LEGEND
        caption = (
            "Each panel is one row of the test set, and shows the probability that single draws "
            "give to its true class. Near 1 they are right and confident, near 0 wrong and "
            "confident; in a wide histogram they disagree."
        )
    return Section("histograms", "Single rows", figure("histograms", panels, caption, legend))


def _value_panel(row: Mapping[str, Any], name: str) -> Panel:
    draws = finite_list(entry(row, "draws", name), f"{name} draws")
    observed = float(row["y"]) if real(row.get("y")) else None
    title = f"row {setting(entry(row, 'row', name))}"
    moments = f"mean {number(draws.mean())}, std {number(draws.std())}"
    words = f"{title}; predicted values over draws: {moments}, observed {number(observed)}"
    draw = partial(value_panel, draws=draws, observed=observed)
    return Panel(title, words, "predicted value", "density", draw)


def history(record: Mapping[str, Any]) -> Section | None:
    """Return effective draws, inverse temperature, evidence and the like along the run."""
    steps = record.get("history")
    if not steps:
        return None
    found = {
        name: line for key, name in _COURSES.items() if (line := course(steps, key)) is not None
    }
    if not found:
        return None
    panels = [
        Panel(name, _course_words(name, line), "step", "", partial(course_panel, found=line))
        for name, line in found.items()
    ]
    times = [step["seconds"] for step in steps if real(step.get("seconds"))]
    spent = f" in {seconds(sum(times))}" if times else ""
    caption = f"{count(len(steps))} step{'s' * (len(steps) > 1)}{spent}. "
    caption += " ".join(panel.words for panel in panels)
    body = [figure("history", panels, caption), folded("The numbers", _step_table(steps))]
    return Section("history", "Along the run", joined(body))


def _course_words(name: str, line: Course) -> str:
    first, last = number(line.value[0]), number(line.value[-1])
    start = name[0].upper() + name[1:]
    if line.step.size == 1:
        return f"{start}: {first}."
    return f"{start}: {first} at first, {last} at the end."


def _step_table(steps: Sequence[Mapping[str, Any]]) -> Markup:
    """Return at most 60 steps, evenly spread, the first and the last among them."""
    spread = np.linspace(0, len(steps) - 1, min(_MOST_ROWS, len(steps))).round()
    kept = sorted(set(spread.astype(int).tolist()))
    keys = dict.fromkeys(key for step in steps for key in step)
    names = [str(key) for key in keys if key != "step"]
    rows = [
        [setting(steps[i].get("step", 1 + i)), *(_measured(steps[i].get(name)) for name in names)]
        for i in kept
    ]
    note = None
    if len(kept) < len(steps):
        note = tag("p", f"{len(kept)} of {count(len(steps))} steps.", class_="note")
    header = ["step", *(_COURSES.get(name, name.replace("_", " ")) for name in names)]
    return joined([table(header, rows, "The run, step by step"), note])


def _measured(value: Any) -> str:
    return number(value) if isinstance(value, float) else setting(value)


def _class(record: Mapping[str, Any], label: int) -> str:
    names = class_names(record)
    return names[label] if 0 <= label < len(names) else str(label)
