"""HTML from small functions: whatever is not `Markup` already is escaped."""

import math
from collections.abc import Iterable, Sequence
from html import escape
from sys import float_info
from typing import Any, TypeGuard

MISSING = "-"

_MINUS = "\N{MINUS SIGN}"


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def tag(name: str, *inside: str | None, **named: str | None) -> Markup:
    """Return `<name ...>inside</name>`; plain text inside is escaped, None is left out."""
    return Markup(f"<{name}{attributes(**named)}>{joined(inside)}</{name}>")


def attributes(**named: str | None) -> str:
    """Return ` key="value"` of each, `aria_label` being aria-label; None is left out."""
    pairs = (
        (key.rstrip("_").replace("_", "-"), value)
        for key, value in named.items()
        if value is not None
    )
    return "".join(f' {key}="{escape(value)}"' for key, value in pairs)


def joined(parts: Iterable[str | None]) -> Markup:
    """Return all parts as one piece of HTML."""
    return Markup(
        "".join(
            part if isinstance(part, Markup) else escape(part) for part in parts if part is not None
        )
    )


def table(
    header: Sequence[str], rows: Iterable[Sequence[str]], label: str, *, numbers_from: int = 1
) -> Markup:
    """Return a table that scrolls in its own frame, the first cell of each row being its name.

    Args:
        header: one name per column.
        rows: cells, as many as there are names.
        label: what the table shows, for those who hear the page.
        numbers_from: the first column whose cells are set flush right.
    """
    side = ["number" if i >= numbers_from else None for i in range(len(header))]
    names = [
        tag("th", name, scope="col", class_=kind) for name, kind in zip(header, side, strict=True)
    ]
    lines = [
        tag(
            "tr",
            tag("th", row[0], scope="row"),
            *(tag("td", cell, class_=kind) for cell, kind in zip(row[1:], side[1:], strict=True)),
        )
        for row in rows
    ]
    return frame(tag("table", tag("thead", tag("tr", *names)), tag("tbody", *lines)), label)


def frame(inside: Markup, label: str) -> Markup:
    """Return a box in which something wide scrolls, by keyboard too."""
    return tag("div", inside, class_="scroll", role="region", aria_label=label, tabindex="0")


def folded(summary: str, *inside: str | None) -> Markup:
    """Return what is shown only when its summary is opened."""
    return tag("details", tag("summary", summary), *inside)


def real(value: Any) -> TypeGuard[float]:
    """Say whether `value` is a finite number that double precision can hold."""
    return (
        isinstance(value, (int, float))
        and not isinstance(value, bool)
        and abs(value) <= float_info.max
    )


def number(value: Any) -> str:
    """Return a measured number with about four digits, "-" for None or NaN, and text as it is."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return setting(value)
    if math.isnan(value):
        return MISSING
    size = abs(value)
    if math.isinf(size):
        text = "∞"
    elif size >= 1e7:
        text = f"{size:.3e}"
    elif 0 < size < 5e-4:
        text = f"{size:.2g}".replace("e-", f"e{_MINUS}")
    else:
        text = f"{size:,.{3 - (size >= 10) - (size >= 100) - (size >= 1000)}f}"
    return f"{_MINUS}{text}" if value < 0 else text


def count(value: Any) -> str:
    """Return a whole number, thousands set apart."""
    return f"{value:,.0f}" if real(value) and abs(value) < 1e15 else number(value)


def share(value: Any) -> str:
    """Return a share as percent."""
    return f"{100 * value:.3g} %" if real(value) else number(value)


def span(low: Any, high: Any) -> str:
    """Return an interval as words."""
    return MISSING if low is None or high is None else f"{number(low)} to {number(high)}"


def seconds(value: Any) -> str:
    """Return a time in the unit that suits it."""
    if not real(value):
        return MISSING
    if value < 120:
        return f"{value:.2g} s" if value < 10 else f"{value:.0f} s"
    return f"{value / 60:.0f} min" if value < 7200 else f"{value / 3600:.1f} h"


def milliseconds(value: Any) -> str:
    """Return a time given in milliseconds in the unit that suits it."""
    if not real(value):
        return MISSING
    if value >= 1000:
        return seconds(value / 1000)
    small, unit = (value, "ms") if value >= 0.1 or value == 0 else (1000 * value, "µs")
    return f"{small:.2g} {unit}" if small < 10 else f"{small:.0f} {unit}"


def mebibytes(value: Any) -> str:
    """Return an amount of memory."""
    return f"{value:,.0f} MiB" if real(value) else MISSING


def setting(value: Any) -> str:
    """Return a setting as it was given."""
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, (list, tuple)):
        return ", ".join(setting(item) for item in value) or MISSING
    return str(value)
