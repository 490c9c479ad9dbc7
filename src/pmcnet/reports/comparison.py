"""The section of the page that holds several methods against each other."""

from collections.abc import Mapping, Sequence
from typing import Any

from pmcnet.errors import InputError
from pmcnet.reports.chosen_settings import chosen_settings
from pmcnet.reports.competing_libraries import library_words, not_compared
from pmcnet.reports.confusion_tables import matrices_beside
from pmcnet.reports.figures.confusion import checked_counts
from pmcnet.reports.figures.forest import name_of
from pmcnet.reports.figures.roc_methods import method_curve, methods_figure
from pmcnet.reports.figures.violins import squared_errors, violins_figure
from pmcnet.reports.first_card import badge
from pmcnet.reports.html import (
    Markup,
    count,
    joined,
    mebibytes,
    milliseconds,
    number,
    real,
    seconds,
    setting,
    table,
    tag,
)
from pmcnet.reports.record import class_names
from pmcnet.reports.sections import Section

_SIGN = "★"
_MARKED = (
    f"{_SIGN} marked: the best, or not significantly worse on these rows "
    "(95 % interval of the difference over resampled test rows)."
)
_BOLD = "Bold: the best of its column, degenerate runs left out."
_DRAWS = (
    "Large: the averaged prediction. Small, below it: mean (standard deviation) over single draws."
)

Entries = Sequence[Mapping[str, Any]]


def comparison(record: Mapping[str, Any]) -> Section | None:
    """Return several methods side by side: metrics, settings, curves, confusions and errors."""
    every = record.get("comparison")
    if not every:
        return None
    entries = [item for item in every if not item.get("failed")]
    advice = record.get("recommendation")
    parts = [
        tag("p", tag("strong", str(advice))) if advice else None,
        _table(record, entries),
        not_compared(every),
        chosen_settings(entries),
        _roc(entries),
        _confusion(record, entries),
    ]
    return Section("comparison", "Comparison of methods", joined([*parts, _errors(entries)]))


def _table(record: Mapping[str, Any], entries: Entries) -> Markup:
    known = {metric["name"]: metric for metric in record["metrics"]}
    names = list(dict.fromkeys(name for item in entries for name in item.get("metrics") or {}))
    tested = any(item.get("best") is not None for item in entries)
    tops = {name: _top(entries, name, (known.get(name) or {}).get("better")) for name in names}
    timed = any(item.get("milliseconds_per_row") is not None for item in entries)
    weighed = any(item.get("peak_mib") is not None for item in entries)
    drawn = any(item.get("per_draw") for item in entries)
    rows = []
    for item in entries:
        best = (
            _best(item) if tested else [name for name in names if _is_top(item, name, tops[name])]
        )
        values = [_value(item, name, marked=name in best, signed=tested) for name in names]
        cost = [
            seconds(item.get("seconds")),
            *([milliseconds(item.get("milliseconds_per_row"))] if timed else []),
            *([mebibytes(item.get("peak_mib"))] if weighed else []),
        ]
        rows.append([_who(item), *values, count(item.get("ess")), *cost])
    labels = [name_of(known[name]) if name in known else str(name) for name in names]
    costs = ["time", *(["time per row"] if timed else []), *(["peak memory"] if weighed else [])]
    header = ["method", *labels, "effective draws", *costs]
    words = [_MARKED if tested else _BOLD, *([_DRAWS] if drawn else []), *library_words(entries)]
    listed = table(header, rows, "Comparison of methods")
    return joined([listed, tag("p", " ".join(words), class_="note")])


def _who(item: Mapping[str, Any]) -> Markup:
    """Return the method and, below it where it stays in sight on a phone, verdict or library."""
    library = item.get("library")
    return joined(
        [
            _name(item),
            tag("div", badge(str(item["verdict"]))) if item.get("verdict") else None,
            tag("small", setting(library)) if library else None,
        ]
    )


def _best(item: Mapping[str, Any]) -> Sequence[str]:
    names = item.get("best") or []
    if not isinstance(names, (list, tuple)):
        raise InputError(
            f"best of {_name(item)} must be a list of metric names; got {names!r:.40}."
        )
    return names


def _top(entries: Entries, name: str, better: str | None) -> float | None:
    usable = (item for item in entries if item.get("verdict") != "degenerate")
    values = [value for item in usable if real(value := (item.get("metrics") or {}).get(name))]
    if not values or better not in ("higher", "lower"):
        return None
    return max(values) if better == "higher" else min(values)


def _is_top(item: Mapping[str, Any], name: str, top: float | None) -> bool:
    return top is not None and (item.get("metrics") or {}).get(name) == top


def _value(item: Mapping[str, Any], name: str, *, marked: bool, signed: bool) -> Markup:
    """Return the value of a metric, and below it what single draws reach."""
    value = number((item.get("metrics") or {}).get(name))
    sign = (
        tag("span", _SIGN, class_="star", title="best, or not significantly worse")
        if signed
        else None
    )
    draws = (item.get("per_draw") or {}).get(name)
    below = (
        tag("small", f"{number(draws.get('mean'))} ({number(draws.get('std'))})") if draws else None
    )
    return joined([tag("strong", sign, value) if marked else value, below])


def _roc(entries: Entries) -> Markup | None:
    found = [method_curve(_name(item), item["roc"]) for item in entries if item.get("roc")]
    return joined([_heading("ROC curves"), methods_figure(found)]) if found else None


def _confusion(record: Mapping[str, Any], entries: Entries) -> Markup | None:
    given = [(_name(item), item["confusion"]) for item in entries if item.get("confusion")]
    if not given:
        return None
    names = class_names(record) or [str(i) for i in range(len(given[0][1]))]
    counts = [(method, checked_counts(matrix, method, len(names))) for method, matrix in given]
    words = "Rows are the truth, columns the prediction. The deeper the colour, the larger the "
    words += "share of the true class."
    return joined(
        [
            _heading("Confusion matrices"),
            matrices_beside(counts, names),
            tag("p", words, class_="note"),
        ]
    )


def _errors(entries: Entries) -> Markup | None:
    given = [
        (_name(item), item["squared_errors"])
        for item in entries
        if item.get("squared_errors") is not None
    ]
    found = [(method, squared_errors(method, values)) for method, values in given]
    return joined([_heading("Squared errors"), violins_figure(found)]) if found else None


def _heading(words: str) -> Markup:
    return tag("h4", words, class_="part")


def _name(item: Mapping[str, Any]) -> str:
    return setting(item.get("method"))
