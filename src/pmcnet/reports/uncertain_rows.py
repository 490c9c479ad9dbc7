"""The table of the rows whose predictions are the least certain; a column is one line here."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pmcnet.reports.html import Markup, joined, number, setting, share, span, table, tag
from pmcnet.reports.sections import Section


class Column(NamedTuple):
    """A column of the table of uncertain rows: its name, and the cell of a row."""

    name: str
    cell: Callable[[Mapping[str, Any]], str]


def _measured(key: str) -> Callable[[Mapping[str, Any]], str]:
    return lambda row: number(row.get(key))


def _given(key: str) -> Callable[[Mapping[str, Any]], str]:
    return lambda row: setting(row.get(key))


def _truth(row: Mapping[str, Any]) -> Markup:
    """Return the truth, a wrong prediction marked by a sign and by weight."""
    truth, wrong = setting(row.get("truth")), row.get("truth") not in (None, row.get("prediction"))
    return (
        tag("span", truth, tag("span", "\u00a0✕", title="wrong"), class_="wrong")
        if wrong
        else joined([truth])
    )


_NUMBER_ROWS = (
    (
        Column("row", _given("row")),
        Column("prediction", _measured("prediction")),
        Column("truth", _measured("truth")),
        Column("std", _measured("std")),
        Column("interval", lambda row: span(row.get("low"), row.get("high"))),
        Column("noise", _measured("aleatoric")),
        Column("disagreement", _measured("epistemic")),
    ),
    "Noise is the spread that every draw expects; disagreement is that between draws, which more "
    "data can reduce.",
)
_CLASS_ROWS = (
    (
        Column("row", _given("row")),
        Column("prediction", _given("prediction")),
        Column("truth", _truth),
        Column("probability", _measured("probability")),
        Column("uncertainty", _measured("total")),
        Column("noise", _measured("aleatoric")),
        Column("disagreement", _measured("epistemic")),
    ),
    "Uncertainty is the entropy of the averaged prediction in nats. It is the sum of noise, which "
    "every draw expects, and of disagreement between draws, which more data can reduce.",
)


def uncertain(record: Mapping[str, Any]) -> Section | None:
    """Return the rows whose predictions are the least certain."""
    rows = record.get("uncertain")
    if not rows:
        return None
    is_regression = record["task"] == "regression"
    columns: tuple[Column, ...]
    columns, words = _NUMBER_ROWS if is_regression else _CLASS_ROWS
    if any("novelty" in row for row in rows):
        columns = (*columns, Column("novelty", lambda row: share(row.get("novelty"))))
    listed = table(
        [column.name for column in columns],
        [[column.cell(row) for column in columns] for row in rows],
        "The most uncertain rows",
        numbers_from=1 if is_regression else 3,
    )
    return Section(
        "uncertain", "Most uncertain rows", joined([listed, tag("p", words, class_="note")])
    )
