"""Tables of results beside the paper's numbers, as plain text, for terminals and for pages.

A table is plain data:

    {"title": str, "columns": [metric, ...], "caption": str,
     "rows": [{"label": str, "note": str, "cells": {metric: cell}}]}

and a cell is

    {"mean": float, "std": float, "spread": float | None, "paper": [mean, std] | None}

`std` is over the draws of one posterior, `spread` over seeds. What is missing or None is shown as
"-"; of a cell that has nothing but its mean, that alone is shown.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

from rich.table import Table
from rich.text import Text

from pmcnet.errors import InputError

HEADER = "mean (std over draws) ± spread over seeds"
MISSING = "-"

_GAP = "  "
_SMALL = 1e-3  # what is smaller is written with a power of ten: four decimals would leave one digit
_NOTHING = 5e-5  # four decimals would leave none


def plain(table: Mapping[str, Any]) -> str:
    """Return fixed-width text: ours, under it the paper's, and under both the row's note."""
    header, rows = _content(table)
    n_columns = 1 + len(table["columns"])
    lines = [[[name] for name in header[:n_columns]]]
    lines += [[cell.splitlines() or [""] for cell in row[:n_columns]] for row in rows]
    widths = [max(len(line) for row in lines for line in row[i]) for i in range(n_columns)]
    rule = "-" * (sum(widths) + len(_GAP) * (len(widths) - 1))
    head, *blocks = ["\n".join(_fixed(row, widths)) for row in lines]
    notes = [_GAP + row[n_columns] if row[n_columns:] and row[n_columns] else "" for row in rows]
    body = [part for pair in zip(blocks, notes, strict=True) for part in pair]
    parts = [
        _text(table["title"]),
        _meaning(table),
        rule,
        head,
        rule,
        *body,
        rule,
        _text(table.get("caption")),
    ]
    return "\n".join(part for part in parts if part) + "\n"


def markdown(table: Mapping[str, Any]) -> str:
    """Return a heading and a Markdown table, the paper's numbers on a second line of each cell."""
    header, rows = _content(table)
    body = [_piped(header), _piped(["---"] * len(header)), *(_piped(row) for row in rows)]
    parts = [
        f"### {_text(table['title'])}",
        _meaning(table),
        "\n".join(body),
        _text(table.get("caption")),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def rich_table(table: Mapping[str, Any]) -> Table:
    """Return the same table for a terminal."""
    header, rows = _content(table)
    caption, meaning = _text(table.get("caption")), _meaning(table)
    title = Text.assemble(
        (_text(table["title"]), "bold"), *([("\n" + meaning, "dim")] if meaning else [])
    )
    drawn = Table(
        title=title,
        caption=Text(caption) if caption else None,
        title_justify="left",
        caption_justify="left",
    )
    for i, name in enumerate(header):
        drawn.add_column(Text(name), no_wrap=1 <= i <= len(table["columns"]))
    for row in rows:
        drawn.add_row(*(_styled(cell) for cell in row))
    return drawn


def number(value: float | None, *, smallest: float = _SMALL) -> str:
    """Return four decimals, fewer of large numbers, powers of ten of small ones, "-" for None.

    Args:
        value: what to show.
        smallest: below this size a number is small; zero itself is 0.0000.
    """
    if value is None:
        return MISSING
    if math.isnan(value):
        raise InputError(
            "a table cell must not be NaN; give None for a number that does not exist."
        )
    if 0 < abs(value) < smallest:
        return f"{value:.1e}"
    return f"{value:.1f}" if abs(value) >= 1000 else f"{value:.4f}"


def _meaning(table: Mapping[str, Any]) -> str:
    """Return what the numbers of a cell are, where they are several."""
    cells = [cell for row in table["rows"] for cell in (row.get("cells") or {}).values()]
    return "" if cells and all(_bare(cell) for cell in cells) else HEADER


def _bare(cell: Mapping[str, Any] | None) -> bool:
    return cell is not None and set(cell) == {"mean"}


def _content(table: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Return the header and the rows as text; a note column only where some row has a note."""
    for key in ("title", "columns", "rows"):
        if key not in table:
            raise InputError(f"a table must have the key {key!r}; got the keys {sorted(table)}.")
    columns, rows = list(table["columns"]), list(table["rows"])
    has_note = any(row.get("note") for row in rows)
    header = ["", *(str(name) for name in columns), *(["note"] if has_note else [])]
    return header, [
        _row(row, columns) + ([_text(row.get("note"))] if has_note else []) for row in rows
    ]


def _row(row: Mapping[str, Any], columns: Sequence[str]) -> list[str]:
    cells = row.get("cells") or {}
    unknown = sorted(set(cells) - set(columns))
    if unknown:
        raise InputError(
            f"row {row.get('label')!r} has cells {unknown} that are no column; add them to columns."
        )
    label = row.get("label")
    return [MISSING if label is None else str(label), *(_cell(cells.get(name)) for name in columns)]


def _cell(cell: Mapping[str, Any] | None) -> str:
    if cell is None:
        return MISSING
    mean = cell.get("mean")
    if _bare(cell):
        return number(mean)
    ours = f"{_pair(mean, cell.get('std'))} ± {_spread(cell.get('spread'), mean)}"
    paper = cell.get("paper")
    return f"{ours}\npaper {MISSING if paper is None else _pair(*paper)}"


def _pair(mean: float | None, std: float | None) -> str:
    return f"{number(mean)} ({_spread(std, mean)})"


def _spread(value: float | None, mean: float | None) -> str:
    """Return a spread with the decimals of its mean, unless none of its digits would be left."""
    return number(value, smallest=_SMALL if mean is None or abs(mean) < _SMALL else _NOTHING)


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _fixed(row: Sequence[Sequence[str]], widths: Sequence[int]) -> list[str]:
    lines = zip_longest(*row, fillvalue="")
    return [
        _GAP.join(f"{part:<{w}}" for part, w in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]


def _piped(cells: Sequence[str]) -> str:
    return (
        "| " + " | ".join(cell.replace("|", "\\|").replace("\n", "<br>") for cell in cells) + " |"
    )


def _styled(cell: str) -> Text:
    first, _, second = cell.partition("\n")
    return Text.assemble(first, ("\n" + second, "dim")) if second else Text(first)
