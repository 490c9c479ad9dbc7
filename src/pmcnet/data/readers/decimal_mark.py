"""Whether the numbers of a text are written with decimal commas, found from all its cells.

A comma is taken for the decimal mark where a whole column consists of such numbers, no other column
has numbers with a point, and some comma cannot stand between thousands. A point
between thousands is never guessed.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pmcnet.data.readers.cells import MISSING_NUMBER, listed, number

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]

_THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2}(?:,\d{3})+\s*")
POINTED_THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2}(?:\.\d{3})+(?:,\d*)?\s*")


@dataclass
class _Seen:
    """What the cells of a column have been so far."""

    point: bool = True  # all are numbers where the mark is a point
    comma: bool = True  # all are numbers where the mark is a comma
    has_point: bool = False
    has_comma: bool = False
    clear: bool = False  # some comma is no mark between thousands

    def see(self, words: Iterable[str]) -> None:
        for word in words:
            if word.strip() in MISSING_NUMBER:
                continue
            self.point = self.point and number(word, ".") is not None
            self.comma = self.comma and number(word, ",") is not None
            if not (self.point or self.comma):
                return
            self.has_point |= "." in word
            if "," in word:
                self.has_comma = True
                self.clear |= _THOUSANDS.fullmatch(word) is None

    @property
    def by_comma(self) -> bool:
        return self.comma and self.has_comma

    @property
    def by_point(self) -> bool:
        return self.point and self.has_point


def found_decimal(chunks: Iterable["DataFrame"]) -> tuple[str, str]:
    """The decimal mark, and a remark where it could be another one.

    Args:
        chunks: the table in pieces, all cells as strings.
    """
    columns: dict[str, _Seen] = {}
    for chunk in chunks:
        for name in chunk.columns:
            seen = columns.setdefault(str(name), _Seen())
            if seen.point or seen.comma:
                seen.see(chunk[name].dropna().unique().tolist())
    commas = tuple(name for name, seen in columns.items() if seen.by_comma)
    if not commas:
        return ".", ""
    points = any(seen.by_point for seen in columns.values())
    clear = any(columns[name].clear for name in commas)
    if clear and not points:
        return ",", ""
    return ".", f"commas in the numbers of {listed(commas, 3)}, read column by column"
