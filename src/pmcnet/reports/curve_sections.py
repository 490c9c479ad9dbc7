"""The sections of curves that order the rows: ROC, and precision against recall."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from pmcnet.reports.figures.panels import SQUARE, Legend, Panel, figure
from pmcnet.reports.figures.rank_curves import (
    AVERAGED,
    RankCurve,
    precision_recall_panel,
    rank_curve,
    rank_legend,
    roc_of_average,
)
from pmcnet.reports.figures.roc import (
    Curve,
    curves_to_draw,
    roc_axes,
    roc_legend,
    roc_panel,
)
from pmcnet.reports.html import real, share
from pmcnet.reports.record import class_label, class_names
from pmcnet.reports.sections import Section

_RATE = 0.1  # of false positives at which a ROC curve is read in words
_RECALL = 0.9  # at which a precision is

Named = Sequence[tuple[str, RankCurve]]


def roc(record: Mapping[str, Any]) -> Section | None:
    """Return the ROC curve of the averaged prediction with the bands of draws, by class."""
    if not record.get("roc"):
        return None
    if not all(AVERAGED in item for item in record["roc"]):
        return _roc_of_draws(record)
    named = _named(record, "roc")
    panels = [
        roc_axes(name, _roc_words(name, curve), partial(roc_of_average, curve=curve))
        for name, curve in named
    ]
    areas = [(name, curve.area) for name, curve in named]
    legend = rank_legend([curve for _, curve in named], "chance")
    return _roc_section(panels, _extremes("The area", areas) + _weighted(record), legend)


def precision_recall(record: Mapping[str, Any]) -> Section | None:
    """Return precision against recall of the averaged prediction with the bands of draws."""
    if not record.get("precision_recall"):
        return None
    named = _named(record, "precision_recall")
    panels = [
        Panel(
            name,
            _precision_words(name, curve),
            "recall",
            "precision",
            partial(precision_recall_panel, curve=curve),
        )
        for name, curve in named
    ]
    if len(named) == 1:
        caption = f"{panels[0].words} Precision is the share of the rows called positive that are; "
        caption += "recall is the share of the positive rows that are called so."
    else:
        caption = "Each class against all others. "
        areas = [(name, curve.area) for name, curve in named]
        caption += _extremes("The average precision", areas)
        n_classes = len(class_names(record))
        if n_classes > len(named):
            caption += f" The {len(named)} classes with the most test rows are drawn, of "
            caption += f"{n_classes}."
    legend = rank_legend([curve for _, curve in named], "share of the class")
    drawn = figure("precision-recall", panels, caption, legend, SQUARE)
    return Section("precision_recall", "Precision and recall", drawn)


def _named(record: Mapping[str, Any], key: str) -> Named:
    curves = [rank_curve(item, f"{key}[{i}]") for i, item in enumerate(record[key])]
    return [(f"class {class_label(record, curve.label)}", curve) for curve in curves]


def _roc_words(name: str, curve: RankCurve) -> str:
    words = f"{_start(name)}: the area under the curve of the averaged prediction is "
    words += f"{curve.area:.3f}{_of_draws(curve)}. "
    found = curve.y[np.searchsorted(curve.x, _RATE + 1e-9, side="right") - 1]
    words += f"At a false positive rate of {share(_RATE)} it finds {share(found)} of the rows of "
    return f"{words}this class{_band_at(curve, _RATE)}."


def _precision_words(name: str, curve: RankCurve) -> str:
    words = f"{_start(name)}: the average precision, the area under the steps, is "
    words += f"{curve.area:.3f}{_of_draws(curve)}. "
    found = curve.y[min(int(np.searchsorted(curve.x, _RECALL - 1e-9)), curve.y.size - 1)]
    words += f"At a recall of {share(_RECALL)} the precision is {share(found)}"
    words += f"{_band_at(curve, _RECALL)}"
    if curve.share is not None:
        words += f"; the class has {share(curve.share)} of the rows"
    return f"{words}."


def _of_draws(curve: RankCurve) -> str:
    """What single networks reach, where there are several."""
    if curve.area_draws is None or curve.area_draws[0] == curve.area_draws[1]:
        return ""
    low, high = curve.area_draws
    return f"; single networks reach {low:.3f} to {high:.3f} (95 % of draws)"


def _band_at(curve: RankCurve, x: float) -> str:
    if "95" not in curve.bands:
        return ""
    low, high = (float(np.interp(x, curve.grid, side)) for side in curve.bands["95"])
    return f" (single networks: {share(low)} to {share(high)})" if low < high else ""


def _extremes(what: str, areas: Sequence[tuple[str, float]]) -> str:
    worst, best = (pick(areas, key=lambda pair: pair[1]) for pick in (min, max))
    if f"{best[1]:.3f}" == f"{worst[1]:.3f}":
        return f"{what} is {best[1]:.3f} for every class."
    words = f"{what} is largest for {best[0]} ({best[1]:.3f})"
    return f"{words} and smallest for {worst[0]} ({worst[1]:.3f})."


def _weighted(record: Mapping[str, Any]) -> str:
    """What the metrics say of all classes together, where they do."""
    values = [metric["value"] for metric in record["metrics"] if metric["name"] == "auc"]
    if not values or not real(values[0]):
        return ""
    return f" The {values[0]:.3f} of the metrics is their mean, weighted by the rows of each class."


def _start(name: str) -> str:
    return name[0].upper() + name[1:]


def _roc_of_draws(record: Mapping[str, Any]) -> Section:
    """Return what records of earlier versions have: the means of the draws' curves."""
    curves = curves_to_draw(record["roc"])
    named = [(f"class {class_label(record, curve.label)}", curve) for curve in curves]
    panels = [
        roc_axes(name, _mean_words(name, curve), partial(roc_panel, curve=curve))
        for name, curve in named
    ]
    areas = [(name, curve.auc) for name, curve in named]
    return _roc_section(panels, _extremes("The area", areas), roc_legend(curves))


def _roc_section(panels: Sequence[Panel], areas: str, legend: Legend) -> Section:
    """Return the section of these panels; `areas` says of several which is largest."""
    if len(panels) == 1:
        title, caption = "ROC curve", f"{panels[0].words} The higher the curve above the dashed "
        caption += "line, the better; the bands show how much single networks disagree."
    else:
        title, caption = "ROC curves", f"Each class against all others. {areas}"
    return Section("roc", title, figure("roc", panels, caption, legend, SQUARE))


def _mean_words(name: str, curve: Curve) -> str:
    found = float(np.interp(_RATE, curve.grid, curve.mean))
    words = f"{_start(name)}: the area under the mean curve is {curve.auc:.3f}. "
    words += f"At a false positive rate of {share(_RATE)} it finds {share(found)} of the rows of "
    words += "this class"
    if "95" not in curve.bands:
        return words + "."
    low, high = (float(np.interp(_RATE, curve.grid, side)) for side in curve.bands["95"])
    return words + f" (95 % of draws: {share(low)} to {share(high)})."
