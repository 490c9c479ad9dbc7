"""The section of calibration: of probabilities, of single classes, or of intervals."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from pmcnet.reports.figures.arrays import entry
from pmcnet.reports.figures.calibration import (
    Reliability,
    coverage,
    coverage_panel,
    reliability,
    reliability_panel,
)
from pmcnet.reports.figures.panels import Legend, Panel, figure
from pmcnet.reports.html import (
    Markup,
    count,
    folded,
    joined,
    number,
    real,
    share,
    span,
    table,
    tag,
)
from pmcnet.reports.record import class_label, class_names
from pmcnet.reports.sections import Section

_LEGEND: Legend = [
    ("stroke", "accuracy and its interval"),
    ("box", "rows in the bin"),
    ("dashes", "perfect"),
]


def calibration(record: Mapping[str, Any]) -> Section | None:
    """Return how well probabilities, or intervals, are calibrated."""
    data = record.get("calibration")
    if not data:
        return None
    if "levels" in data:
        return Section("calibration", "Calibration", _coverage(data))
    body = _reliability(data)
    if body is None:
        return None
    return Section("calibration", "Calibration", joined([body, _classes(record, data)]))


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
    header = ["confidence", "accuracy", "interval", "rows"]
    listed = table(header, _bin_rows(bins), "Calibration in numbers")
    panel = Panel(None, caption, "confidence", "accuracy", partial(reliability_panel, bins=bins))
    drawn = figure("calibration", [panel], caption, _LEGEND)
    return joined([drawn, folded("The numbers", listed)])


def _bin_rows(bins: Reliability) -> list[list[str]]:
    return [
        [number(c), number(a), span(low, high), count(n)]
        for c, a, n, low, high in zip(*bins, strict=True)
    ]


def _classes(record: Mapping[str, Any], data: Mapping[str, Any]) -> Markup | None:
    """Return how often a class occurs against its probability, a panel for each class."""
    panels, rows, errors = [], [], {}
    for i, item in enumerate(data.get("classes") or ()):
        name = f"calibration classes[{i}]"
        bins = reliability(entry(item, "bins", name))
        if bins is None:
            continue
        label = f"class {class_label(record, int(entry(item, 'class', name)))}"
        rows += [[label, *row] for row in _bin_rows(bins)]
        error = item.get("ece")
        words = f"How often {label} occurs, against the probability of it"
        if real(error):
            errors[label] = error
            words += f": on average they differ by {number(error)}"
        draw = partial(reliability_panel, bins=bins, counted=False)
        panels.append(Panel(label, f"{words}.", "probability of the class", "share of rows", draw))
    if not panels:
        return None
    caption = _class_caption(record, len(panels), errors)
    legend: Legend = [("stroke", "share of the class and its interval"), *_LEGEND[1:]]
    if len(panels) == 1:
        panels[0] = panels[0]._replace(title=None)
        caption = f"{panels[0].words} {caption}"
    header = ["class", "probability", "share", "interval", "rows"]
    listed = table(header, rows, "Calibration of classes in numbers")
    heading = tag("h4", "By class" if len(panels) > 1 else f"C{label[1:]}", class_="part")
    drawn = figure("calibration-classes", panels, caption, legend)
    return joined([heading, drawn, folded("The numbers by class", listed)])


def _class_caption(record: Mapping[str, Any], n: int, errors: Mapping[str, float]) -> str:
    caption = "Bins are by the probability of the class, whether or not it is the likeliest; "
    caption += "intervals are of level 95 %. Below the dashed line the class is predicted with too "
    caption += "large a probability, above it with too small a one."
    if len(errors) > 1:
        worst = max(errors, key=lambda label: errors[label])
        caption += f" The mean distance is largest for {worst} ({number(errors[worst])})."
    n_classes = len(class_names(record))
    if 2 < n < n_classes:
        caption += f" The {n} classes with the most test rows are drawn, of {n_classes}."
    return caption


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
