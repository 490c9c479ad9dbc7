"""The sections of the page that are figures, each a function of the record."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from pmcnet.reports.figures.arrays import entry, finite_list
from pmcnet.reports.figures.fan import COLOURS, fan, fan_panel
from pmcnet.reports.figures.histograms import PROBABILITY_LEGEND, probability_panels, value_panel
from pmcnet.reports.figures.panels import Legend, Panel, figure
from pmcnet.reports.figures.scatter import MOST, intervals, scatter_panel
from pmcnet.reports.html import (
    count,
    number,
    real,
    setting,
    share,
)
from pmcnet.reports.record import class_label
from pmcnet.reports.sections import Section


def scatter(record: Mapping[str, Any]) -> Section | None:
    """Return predicted against observed values with intervals."""
    if not record.get("scatter"):
        return None
    found = intervals(record["scatter"])
    n, inside = found.y.size, int(found.covered.sum())
    n_test = record.get("summary", {}).get("n_test")
    level = record.get("scatter_coverage")
    named = f"intervals of level {share(level)}" if real(level) else "intervals"
    caption = f"{count(inside)} of {count(n)} {named} contain the observed value, that is, "
    caption += f"{share(inside / n)}. "
    if real(n_test) and n_test > n and not record.get("scatter_note"):
        caption += f"They are evenly spaced among {count(n_test)} test rows. "
    caption += "On the dashed line the prediction is exact."
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


def quantile_fan(record: Mapping[str, Any]) -> Section | None:
    """Return predictive intervals of rows in the order of their prediction."""
    if not record.get("fan"):
        return None
    found = fan(record["fan"])
    n, n_test = found.y.size, record["summary"].get("n_test")
    inside = [f"{share(found.inside(level).mean())} in the {level} % band" for level in found.bands]
    caption = f"{count(n)} test row{'s' * (n > 1)} in the order of the predicted mean"
    if real(n_test) and n_test > n:
        caption += f", of {count(n_test)}"
    caption += f". Of the observed values lie {', '.join(inside)}."
    caption += " Where many dots in a row leave the bands on the same side, predictions are off; "
    caption += "where they leave on both sides, intervals are too narrow."
    if record.get("scatter_note"):
        caption += f" {record['scatter_note']}"
    widest = next(reversed(found.bands))
    legend: Legend = [
        ("stroke", "predicted mean"),
        *((f"tint-{COLOURS[level]}", f"{level} % band") for level in found.bands),
        ("dot", "observed value"),
        ("cross", f"outside the {widest} % band"),
    ]
    x = "test rows, by predicted mean"
    panel = Panel(None, caption, x, "value", partial(fan_panel, found=found))
    return Section("fan", "Intervals of ordered rows", figure("fan", [panel], caption, legend))


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
        panels = probability_panels(rows, "histograms", partial(class_label, record))
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
