"""The section of the decision curve, and the slider that reads it at a threshold."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from pmcnet.reports.figures.decision_curve import DecisionCurve, decision_curve, decision_panel
from pmcnet.reports.figures.panels import Legend, Panel, figure, places
from pmcnet.reports.html import Markup, count, folded, joined, number, share, table, tag
from pmcnet.reports.record import class_label
from pmcnet.reports.scripts import script
from pmcnet.reports.sections import Section

_LISTED = 10  # every tenth threshold is in the table
_ODDS = "\N{NO-BREAK SPACE}".join(("p", "/", "(1", "\N{MINUS SIGN}", "p)"))
_FIRST = 0.5
"""The threshold at which the slider begins."""


def decision(record: Mapping[str, Any]) -> Section | None:
    """Return the net benefit of acting on rows beyond a threshold, with a slider."""
    if not record.get("decision"):
        return None
    curve = decision_curve(record["decision"])
    name = f"class {class_label(record, curve.label)}"
    caption = f"A row is acted on where the probability of {name} reaches the threshold p. The net "
    caption += f"benefit is the share of true positives less {_ODDS} times the "
    caption += "share of false positives: whoever acts from p on counts a false positive as that "
    caption += f"part of a true one (Vickers and Elkin, 2006). {_where_best(curve)}"
    panel = Panel(None, caption, "threshold", "net benefit", partial(decision_panel, curve=curve))
    legend: Legend = [
        ("stroke", "averaged prediction"),
        *((f"tint-{level}", f"{level} % of draws") for level in curve.bands),
        ("dashes", "act on all rows"),
        ("rule", "act on none"),
    ]
    parts = [
        figure("decision", [panel], caption, legend, below=_slider()),
        folded("The numbers", _listed(curve)),
        script("decision", _data(curve, panel)),
    ]
    return Section("decision", "Decision curve", joined(parts))


def _where_best(curve: DecisionCurve) -> str:
    """At how many thresholds the prediction is worth more than none."""
    other = np.maximum(curve.act_on_all, 0.0)
    n = int(np.count_nonzero(curve.net_benefit >= other - 1e-12))
    words = f"At {n} of {curve.threshold.size} thresholds the prediction is at least as good as "
    return f"{words}acting on all rows and as acting on none."


def _slider() -> Markup:
    """What the script shows once it runs: the threshold, and what it brings in words."""
    label = tag("label", "Threshold", for_="decision-threshold")
    name = tag("div", label, " ", tag("strong", id="decision-shown", aria_hidden="true"))
    slider = Markup('<input type="range" id="decision-threshold">')
    words = tag("p", id="decision-words", aria_live="polite")
    return tag("div", name, slider, words, class_="slider", id="decision-slider", hidden="")


def _listed(curve: DecisionCurve) -> Markup:
    """Every tenth threshold in numbers."""
    chosen = np.flatnonzero(np.arange(1, curve.threshold.size + 1) % _LISTED == 0)
    rows = [
        [
            share(curve.threshold[i]),
            count(curve.true_positive[i] + curve.false_positive[i]),
            count(curve.true_positive[i]),
            count(curve.false_positive[i]),
            number(curve.net_benefit[i]),
            number(curve.act_on_all[i]),
        ]
        for i in chosen
    ]
    header = ["threshold", "acted on", "true positives", "false positives"]
    header += ["net benefit", "acting on all"]
    return table(header, rows, "The decision curve in numbers")


def _data(curve: DecisionCurve, panel: Panel) -> dict[str, Any]:
    """What the script reads; `places` are those of the drawing."""
    return {
        "n": curve.n,
        "nPositive": curve.n_positive,
        "threshold": curve.threshold.tolist(),
        "truePositive": curve.true_positive.tolist(),
        "falsePositive": curve.false_positive.tolist(),
        "first": int(np.abs(curve.threshold - _FIRST).argmin()),
        "limits": list(curve.limits),
        "places": places(panel),
    }
