"""How each column of the table was read: its kind, what it became, and why."""

from collections.abc import Mapping
from typing import Any

from pmcnet.reports.html import joined, table, tag
from pmcnet.reports.sections import Section

MOST = 300
_WORDS = (
    "--column NAME=KIND reads a column another way, --keep NAME keeps one that was left out, and "
    "--drop NAME leaves one out; in Python column_types and keep do so. Cells unlike those of "
    "training count as missing, and new levels as rare ones where there are some."
)


def columns(record: Mapping[str, Any]) -> Section | None:
    """Return the columns, those with a reason first, where the record lists them."""
    found = record.get("columns")
    if not found:
        return None
    ordered = sorted(found, key=lambda item: not item["why"])
    rows = [[str(item[key]) for key in ("column", "kind", "became", "why")] for item in ordered]
    header = ["column", "read as", "became", "because"]
    listed = table(header, rows[:MOST], "Columns", numbers_from=4)
    more = f"{len(rows) - MOST} more columns are as plain. " if len(rows) > MOST else ""
    note = tag("p", more + _WORDS, class_="note")
    return Section("columns", "How the columns were read", joined([listed, note]))
