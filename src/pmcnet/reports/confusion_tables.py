"""Confusion matrices as shaded tables: one large, or several small ones side by side."""

from collections.abc import Sequence

from pmcnet.reports.figures.arrays import Array
from pmcnet.reports.figures.confusion import cell_text, shares
from pmcnet.reports.html import Markup, folded, frame, joined, share, tag

_LONG = 12  # letters of a class name that make a wider column
_SHADE = 0.55  # of the accent at most, so that numbers stay readable on it
_SHORT = 4  # letters of a class name that fit a cell of a small table
_FEW = 8  # classes of which all tables are shown at once
_FIRST = 2  # tables shown of more classes


def matrix_table(counts: Array, names: Sequence[str]) -> Markup:
    """Return one matrix with the names of the classes at both sides."""
    head = tag("tr", tag("th", "truth ↓ predicted →", scope="col"), *map(_column, names))
    body = _lines(counts, [tag("th", name, scope="row") for name in names])
    return frame(tag("table", tag("thead", head), body, class_="confusion"), "Confusion matrix")


def matrices_beside(by_method: Sequence[tuple[str, Array]], names: Sequence[str]) -> Markup:
    """Return one small matrix per method; long class names are listed once and numbered there."""
    short = all(0 < len(name) <= _SHORT for name in names)
    keys = list(names) if short else [str(1 + i) for i in range(len(names))]
    small = [_small(method, counts, keys, names) for method, counts in by_method]
    first = len(small) if len(names) <= _FEW else _FIRST
    others = small[first:]
    rest = folded(
        f"The other {len(others)} methods" if len(others) > 1 else "The other method",
        _beside(others),
    )
    return joined(
        [None if short else _key(keys, names), _beside(small[:first]), rest if others else None]
    )


def _small(method: str, counts: Array, keys: Sequence[str], names: Sequence[str]) -> Markup:
    total = float(counts.sum())
    right = f"{share(float(counts.trace()) / total)} right" if total else "no rows"
    tops, sides = (
        [tag("th", key, scope=scope, title=name) for key, name in zip(keys, names, strict=True)]
        for scope in ("col", "row")
    )
    head = tag("thead", tag("tr", tag("td"), *tops))
    inside = tag(
        "table",
        tag("caption", tag("strong", method), tag("small", right)),
        head,
        _lines(counts, sides),
        class_="confusion small",
    )
    return frame(inside, f"Confusion matrix of {method}")


def _beside(tables: Sequence[Markup]) -> Markup:
    return tag("div", *tables, class_="matrices")


def _key(keys: Sequence[str], names: Sequence[str]) -> Markup:
    items = [
        tag("li", tag("strong", key), " ", name) for key, name in zip(keys, names, strict=True)
    ]
    return tag("ul", *items, class_="legend", aria_label="Classes by number")


def _lines(counts: Array, sides: Sequence[Markup]) -> Markup:
    part = shares(counts)  # (C, C)
    cells = [
        [_cell(float(counts[i, j]), float(part[i, j]), i == j) for j in range(len(sides))]
        for i in range(len(sides))
    ]
    return tag("tbody", *(tag("tr", side, *line) for side, line in zip(sides, cells, strict=True)))


def _column(name: str) -> Markup:
    return tag("th", name, scope="col", class_="long" if len(name) > _LONG else None)


def _cell(number_of_rows: float, part: float, right: bool) -> Markup:
    style = f"background:rgb(var(--accent-rgb)/{_SHADE * part:.3f})" if part > 0 else None
    kind = "right" if right else "none" if number_of_rows == 0 else None
    return tag("td", cell_text(number_of_rows), style=style, class_=kind)
