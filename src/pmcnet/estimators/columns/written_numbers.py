"""Strings that are numbers: in one notation, with a few words among them that count as missing."""

import re
from collections import Counter
from typing import Any, NamedTuple

from numpy.typing import NDArray

from pmcnet.estimators.columns.given import Given
from pmcnet.estimators.columns.missing_words import without_missing_words
from pmcnet.estimators.columns.notation import Notation, bound
from pmcnet.estimators.columns.number import NumberColumn

MOST_WORDS = 5
"""Different cells that are no numbers, in a column that counts as numbers all the same."""
_SHARE_OF_WORDS = 0.1
_DIGIT = re.compile(r"\d")
_LEADING_ZERO = re.compile(r"[+-]?0\d")


class WrittenNumbers(NamedTuple):
    """How often each cell is there that is a number, a word, or says that it is missing."""

    notation: Notation
    numbers: Counter[str]
    words: Counter[str]
    missing: Counter[str]

    @classmethod
    def of(cls, strings: NDArray[Any]) -> "WrittenNumbers":
        """Strings (N,), None where missing; those with a digit should be numbers."""
        every = Counter(cell for cell in strings.tolist() if cell is not None)
        told = Counter(c for c in without_missing_words(strings).tolist() if c is not None)
        notation = Notation.of(cell for cell in told if _DIGIT.search(cell)) or Notation()
        numbers = Counter({c: n for c, n in told.items() if notation.value(c) is not None})
        return cls(notation, numbers, told - numbers, every - told)

    def column(self, name: str, why: str) -> NumberColumn:
        """The column of numbers that they are."""
        words = tuple(sorted(self.words))
        return NumberColumn(name=name, why=why, words=words, notation=self.notation)

    @property
    def described(self) -> str:
        """What they are, in words."""
        plain = self.notation == Notation()
        shown = "numbers" if plain else f"numbers like {max(self.numbers, key=_length)!r}"
        bounds = Counter({cell: n for cell, n in self.numbers.items() if bound(cell)})
        others = self.words + self.missing
        remarks = []
        if bounds:
            remarks.append(f"{_listed(bounds)} that are bounds and count as the number")
        if others:
            remarks.append(f"{_listed(others)} that are none and count as missing")
        if plain and not remarks:
            return "numbers written as strings"
        return ", with ".join([shown, " and ".join(remarks)] if remarks else [shown])

    @property
    def contradictory(self) -> bool:
        """Whether something is below and something else above the same number."""
        below, above = (
            {self.notation.value(cell) for cell in self.numbers if bound(cell)[:1] in signs}
            for signs in (("<", "\u2264"), (">", "\u2265"))
        )
        return bool(below & above)


def numbers_among(given: Given) -> NumberColumn | None:
    """The column of numbers, if nearly all strings are: more than two, not like 0123."""
    found = WrittenNumbers.of(given.values)
    n_numbers, n_words = found.numbers.total(), found.words.total()
    if len(found.numbers) <= 2 or any(map(_LEADING_ZERO.match, found.numbers)):
        return None
    if found.contradictory or len(found.words) > MOST_WORDS:
        return None
    if n_words > _SHARE_OF_WORDS * (n_numbers + n_words):
        return None
    return found.column(given.name, found.described)


def words_among(given: Given) -> str:
    """A remark where most levels are numbers, and too many cells are not."""
    found = WrittenNumbers.of(given.strings)
    if not 0 < len(found.words) < len(found.numbers):
        return ""
    return f"too many cells are no numbers, such as {min(found.words)!r:.40}, so it has levels"


def _listed(cells: Counter[str]) -> str:
    """How many they are, and the first."""
    first = ", ".join(f"{cell!r:.40}" for cell in sorted(cells)[:MOST_WORDS])
    more = ", ..." if len(cells) > MOST_WORDS else ""
    return f"{cells.total()} cells ({first}{more})"


def _length(cell: str) -> tuple[int, str]:
    return len(cell), cell
