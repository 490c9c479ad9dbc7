"""The sections of the page that say what drives predictions, each a function of the record."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from pmcnet.reports.figures import canvas
from pmcnet.reports.figures.arrays import entry
from pmcnet.reports.figures.contribution_bars import IMPORTANCE, contribution_panel
from pmcnet.reports.figures.effect_curves import (
    DASHES,
    LEGEND,
    WIDTH,
    Effect,
    common_limits,
    effect,
    effect_panel,
    joint_effect,
)
from pmcnet.reports.figures.panels import Legend, Panel, figure
from pmcnet.reports.figures.roc_methods import Style, line_mark
from pmcnet.reports.html import Markup, count, folded, joined, number, share, span, table, tag
from pmcnet.reports.sections import Section

_MOST_BARS = 12
_ENDS = ("low80", "high80", "low95", "high95")
_BAR_LEGEND: Legend = [
    ("box", "mean over draws"),
    ("thick", "80 % of draws"),
    ("thin", "95 % of draws"),
]
_SYMBOLS = "\N{BLACK CIRCLE}\N{BLACK DIAMOND}\N{BLACK SQUARE}\N{BLACK UP-POINTING TRIANGLE}"
_LEVELS_LEGEND: Legend = [("thin", "95 % of draws, of levels"), ("tint-80", "80 %, of levels")]


def importance(record: Mapping[str, Any]) -> Section | None:
    """Return how much log score each column is worth."""
    data = record.get("importance")
    if not data:
        return None
    lines = entry(data, "columns", "importance")
    shown = lines[:_MOST_BARS]
    intervals = {key: [line[key] for line in shown] for key in _ENDS} | {
        "mean": [line["importance"] for line in shown]
    }
    names = [str(line["feature"]) for line in shown]
    panel = Panel(
        None,
        _importance_words(shown),
        IMPORTANCE,
        "",
        partial(contribution_panel, names=names, intervals=intervals),
    )
    rows = f"{count(data['n_rows'])} {_whose(data)} rows"
    caption = (
        f"{_importance_words(shown)} The cells of a column are shuffled among {rows}, "
        f"{data['n_repeats']} times; what the mean log predictive density of a network loses is "
        "what the column is worth to it, while the other columns stay. Of two columns that say the "
        "same, each is worth little."
    )
    height = 0.3 * len(shown) + 0.9
    drawn = figure("importance", [panel], caption, _BAR_LEGEND, alone=(4.4, max(2.0, height)))
    return Section(
        "importance",
        "What matters",
        joined([drawn, folded("The numbers", _importance_table(lines, data))]),
    )


def _whose(data: Mapping[str, Any]) -> str:
    return "test" if data.get("held_out") else "training"


def _importance_words(lines: Sequence[Mapping[str, Any]]) -> str:
    first = lines[0]
    words = f"Most is lost without {first['feature']}: {number(first['importance'])} nats per row "
    words += f"(95 % of draws: {span(first['low95'], first['high95'])})."
    if len(lines) > 1:
        second = lines[1]
        words += f" Next comes {second['feature']}, with {number(second['importance'])}."
    return words


def _importance_table(lines: Sequence[Mapping[str, Any]], data: Mapping[str, Any]) -> Markup:
    header = ["column", "log score", "95 % of draws", "averaged prediction", "its std error"]
    cells = [
        [
            str(line["feature"]),
            number(line["importance"]),
            span(line["low95"], line["high95"]),
            number(line["averaged"]),
            number(line["error"]),
        ]
        for line in lines
    ]
    notes = ["Losses in nats per row."]
    if "shapley" in lines[0]:
        header += ["Shapley size", "95 % of draws"]
        for row, line in zip(cells, lines, strict=True):
            ends = span(line["shapley_low95"], line["shapley_high95"])
            row += [number(line["shapley"]), ends]
        notes.append("The Shapley size is how far the column moves a prediction on average.")
    if "relevance" in lines[0]:
        header.append("relevance")
        for row, line in zip(cells, lines, strict=True):
            row.append(number(line["relevance"]))
        notes.append("Relevance is the scale of the column's weights; the prior's median is 1.")
    n_more = data["n_columns"] - len(lines)
    if n_more > 0:
        notes.append(
            f"{count(n_more)} more {'columns are' if n_more > 1 else 'column is'} worth less."
        )
    listed = table(header, cells, "Importance in numbers")
    return joined([listed, tag("p", " ".join(notes), class_="note")])


_LOCAL_WORDS = (
    " The dashed line goes only by rows that are near each value. Where it leaves the other one, "
    "the column goes along with others, and it is the safer one of the two."
)


def effects(record: Mapping[str, Any]) -> Section | None:
    """Return how predictions change with each column."""
    data = record.get("effects")
    if not data:
        return None
    classes = [str(name) for name in data.get("classes") or ()]
    items = entry(data, "columns", "effects")
    found = [effect(item, f"effects columns[{i}]", classes) for i, item in enumerate(items)]
    limits, of = common_limits(found), _of(record, classes)
    panels = [
        Panel(each.feature, _effect_words(each, of), "", of, _drawn(each, limits)) for each in found
    ]
    caption = (
        f"The average {of} of {count(data['n_rows'])} {_whose(data)} rows after one column of each "
        "was set to a value; all panels have the same vertical axis. Bands hold draws of the "
        "posterior: how well the average effect is known, not how far rows scatter."
    )
    if any(each.local is not None for each in found):
        caption += _LOCAL_WORDS
    if data.get("others"):
        names = data["others"]
        more = f", and {len(names) - 20} more" if len(names) > 20 else ""
        caption += f" Not drawn, since less important: {', '.join(map(str, names[:20]))}{more}."
    legend = _legend(found)
    return Section("effects", "Effects", figure("effects", panels, caption, legend))


def interaction(record: Mapping[str, Any]) -> Section | None:
    """Return the pair of columns that act together most."""
    data = record.get("interaction")
    if not data:
        return None
    found = joint_effect(data, "interaction")
    of = _of(record, [str(data["class"])] if data.get("class") is not None else [])
    strongest = entry(data, "pairs", "interaction")[0]
    first, second = data["features"]
    what = "probabilities" if record["task"] == "multiclass" else of
    words = (
        f"{first} and {second} act together most. Of what both do to the {what}, "
        f"{share(strongest['share']['mean'])} (95 % of draws: "
        f"{share(strongest['share']['low95'])} to {share(strongest['share']['high95'])}) is no sum "
        "of two effects."
    )
    caption = f"{words} Where the curves are parallel, the columns do not need each other."
    panel = Panel(None, words, first, of, partial(effect_panel, found=found))
    header = ["columns", "strength", "95 % of draws", "share", "95 % of draws"]
    lines = [
        [
            " and ".join(map(str, pair["features"])),
            number(pair["strength"]["mean"]),
            span(pair["strength"]["low95"], pair["strength"]["high95"]),
            share(pair["share"]["mean"]),
            f"{share(pair['share']['low95'])} to {share(pair['share']['high95'])}",
        ]
        for pair in data["pairs"]
    ]
    note = (
        "Strength is the standard deviation of the joint part, in units of the prediction; the "
        "share is H squared, its part of the variance of both effects together."
    )
    listed = [table(header, lines, "Pairs of columns"), tag("p", note, class_="note")]
    legend = [*_line_marks([found]), ("tint-95", "95 % of draws"), ("box", "where the rows are")]
    drawn = figure("interaction", [panel], caption, legend)
    return Section(
        "interaction", "Columns that act together", joined([drawn, folded("The numbers", *listed)])
    )


def _effect_words(found: Effect, of: str) -> str:
    """Say where the average effect is lowest and highest, of the line that varies most."""
    line = max(found.lines, key=lambda each: float(np.ptp(each.intervals["mean"])))
    mean = line.intervals["mean"]
    low, high = int(mean.argmin()), int(mean.argmax())
    ends = [
        f"{number(float(mean[i]))} at {_point(found, i)} (95 % of draws: "
        f"{span(float(line.intervals['low95'][i]), float(line.intervals['high95'][i]))})"
        for i in (low, high)
    ]
    whose = f" of {line.name}" if line.name else ""
    return f"{found.feature}: average {of}{whose} from {ends[0]} to {ends[1]}"


def _point(found: Effect, i: int) -> str:
    if found.labels:
        return found.labels[i]
    if found.scale == "date":
        return str(np.datetime64(0, "D") + round(float(found.x[i])))
    return number(float(found.x[i]))


def _drawn(found: Effect, limits: tuple[float, float]) -> Callable[[Axes], None]:
    return partial(effect_panel, found=found, limits=limits)


def _of(record: Mapping[str, Any], classes: Sequence[str]) -> str:
    if record["task"] == "regression":
        return "prediction"
    return f"probability of {classes[0]}" if len(classes) == 1 else "probability"


def _legend(found: Sequence[Effect]) -> Legend:
    """Return the marks of the panels that there are."""
    kinds = {each.scale == "level" for each in found}
    if len(found[0].lines) > 1:
        bands = ("tint-95", "95 % of draws")
        return [*_line_marks(found), bands, ("box", "where the rows are")]
    curves = LEGEND if False in kinds else [("box", "share of the rows")]
    return [*curves, *(_LEVELS_LEGEND if True in kinds else [])]


def _line_marks(found: Sequence[Effect]) -> list[tuple[str, str]]:
    """Return a piece of each line, or its symbol among levels, with its name."""
    kinds = {each.scale == "level" for each in found}
    marks: list[tuple[str, str]] = []
    for i, line in enumerate(found[0].lines):
        piece = line_mark(Style(canvas.ACCENT, WIDTH, DASHES[i % len(DASHES)]))
        symbol = tag("span", _SYMBOLS[i % len(_SYMBOLS)], class_="mark symbol", aria_hidden="true")
        both = [mark for kind, mark in ((False, piece), (True, symbol)) if kind in kinds]
        marks.append((joined(both), line.name))
    return marks
