"""Some test rows explained: what columns contribute, novelty, and the nearest training rows."""

from collections.abc import Mapping, Sequence
from typing import Any

from pmcnet.reports.figures.panels import marks
from pmcnet.reports.html import (
    MISSING,
    Markup,
    folded,
    joined,
    number,
    real,
    setting,
    share,
    span,
    table,
    tag,
)
from pmcnet.reports.sections import Section

_NOTE = (
    "A contribution is a Shapley value: what a column adds, on average over the orders in which "
    "columns may join, from the average prediction of training rows to that of the row. Its "
    "interval holds 95 % of the networks; where it crosses the line at zero, they do not agree on "
    "the direction. Novelty is the share of the training rows that are less unlike the others, by "
    "their distance and by how much networks disagree; distances are in standardised inputs."
)
_LEGEND = (("box", "contribution"), ("stroke", "95 % of networks"))
_MOST_VALUES = 6  # columns of the table of nearest rows


def explained(record: Mapping[str, Any]) -> Section | None:
    """Return the chosen rows, each with its contributions, its novelty and its neighbours."""
    rows = record.get("explained")
    if not rows:
        return None
    names = [f"Row {setting(row.get('row'))}: {_prediction(row)}" for row in rows]
    first, *others = (_row(row, record) for row in rows)
    heading = tag("h4", names[0])
    rest = [folded(name, part) for name, part in zip(names[1:], others, strict=True)]
    body = joined([heading, first, *rest, tag("p", _NOTE, class_="note")])
    return Section("explained", "Rows explained", body)


def _row(row: Mapping[str, Any], record: Mapping[str, Any]) -> Markup:
    """Return all that is known of one row."""
    name = f"row {setting(row.get('row'))}"
    parts = [_novelty(row.get("novelty"))]
    if row.get("contributions"):
        parts += [marks(_LEGEND), _contributions(row, record, name)]
    if row.get("nearest"):
        parts.append(_nearest(row["nearest"], str(record["target"]), name))
    return tag("div", *parts)


def _prediction(row: Mapping[str, Any]) -> str:
    """Return what is predicted of a row, and the truth where it is known."""
    words = setting(row.get("prediction"))
    if row.get("interval"):
        low, high = row["interval"]
        words = f"{number(row.get('prediction'))} (95 %: {span(low, high)})"
    for one in row.get("classes") or ():
        if one.get("class") == row.get("prediction"):
            words += f" with probability {number(one.get('probability'))}"
    truth = row.get("truth")
    return words if truth is None else f"{words}, truth {number(truth)}"


def _novelty(found: Mapping[str, Any] | None) -> Markup | None:
    """Return how unlike the training rows a row is."""
    if not found:
        return None
    verdict = "unlike the training rows" if found.get("is_novel") else "like the training rows"
    words = f"Novelty {_share(found.get('percentile'))}, {verdict}: farther from the training data "
    words += f"than {_share(found.get('farther_than'))} of the training rows, and networks "
    words += f"disagree more than on {_share(found.get('less_known_than'))} of them."
    return tag("p", words)


def _share(value: Any) -> str:
    """Return a share that is never rounded to all."""
    return "more than 99.9 %" if real(value) and value > 0.999 else share(value)


def _contributions(row: Mapping[str, Any], record: Mapping[str, Any], name: str) -> Markup:
    """Return the columns that contribute, with bars on one scale."""
    lines = row["contributions"]
    ends = [one[key] for one in lines for key in ("low95", "high95", "mean")]
    low, high = min(0.0, *ends), max(0.0, *ends)
    of = f"probability of {row['of']}" if row.get("of") is not None else record["target"]
    rows = [["average of training rows", MISSING, "", number(row.get("base")), ""]]
    rows += [
        [
            setting(one.get("column")),
            _value(one),
            _bar(one, low, high),
            _signed(one.get("mean")),
            span(one.get("low95"), one.get("high95")),
        ]
        for one in lines
    ]
    rows.append(["this row", MISSING, "", number(row.get("explained")), ""])
    header = ["column", "value", f"contribution to {of}", "amount", "95 % of networks"]
    return table(header, rows, f"Contributions to {name}", numbers_from=3)


def _bar(one: Mapping[str, Any], low: float, high: float) -> Markup:
    """Return a contribution from zero, with a line for its interval; numbers stand beside it."""
    width = (high - low) or 1.0

    def place(a: float, b: float) -> str:
        start, length = 100 * (min(a, b) - low) / width, 100 * abs(b - a) / width
        return f"left:{start:.1f}%;width:{length:.1f}%"

    zero = f"left:{100 * -low / width:.1f}%"
    inside = [
        tag("span", style=place(0.0, one["mean"]), class_="amount"),
        tag("span", style=place(one["low95"], one["high95"]), class_="between"),
        tag("span", style=zero, class_="zero"),
    ]
    return tag("span", *inside, class_="lane", aria_hidden="true")


def _nearest(rows: Sequence[Mapping[str, Any]], target: str, name: str) -> Markup:
    """Return the nearest training rows, with their cells where they are known."""
    names = list(rows[0].get("values") or {})[:_MOST_VALUES]
    header = ["training row", "distance", *([target, *names] if names else [])]
    lines = []
    for one in rows:
        of = f" of update {one['update']}" if one.get("update") else ""
        cells = [number(one.get("target"))] if names else []
        cells += [number((one.get("values") or {}).get(column)) for column in names]
        lines.append([f"{setting(one.get('row'))}{of}", number(one.get("distance")), *cells])
    listed = table(header, lines, f"Training rows nearest to {name}")
    return folded("The nearest training rows", listed)


def _value(one: Mapping[str, Any]) -> str:
    return number(one["value"]) if "value" in one else MISSING


def _signed(value: Any) -> str:
    return f"+{number(value)}" if real(value) and value > 0 else number(value)
