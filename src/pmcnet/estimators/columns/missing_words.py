"""Words that people write where a number or a date is missing.

They count as missing among numbers, dates and durations. Among levels they are levels: a category
"unknown" may tell something.
"""

from typing import Any

from numpy.typing import NDArray

_MARKS = frozenset(("-", "--", "---", "\u2013", "\u2014", ".", "..", "?", "??", "*", "#", "/"))
_WORDS = frozenset(
    (
        "#div/0!",
        "#n/a",
        "#null!",
        "#num!",
        "#ref!",
        "#value!",
        "<na>",
        "k.a.",
        "missing",
        "n. a.",
        "n.a",
        "n.a.",
        "n/a",
        "na",
        "nan",
        "nat",
        "nil",
        "none",
        "not available",
        "null",
        "tbd",
        "unknown",
    )
)


def without_missing_words(strings: NDArray[Any]) -> NDArray[Any]:
    """The cells (N,), None where they say that something is missing."""
    said = {cell: _says_missing(cell) for cell in strings.tolist() if cell is not None}
    found = strings.copy()
    found[[said.get(cell, True) for cell in strings.tolist()]] = None
    return found


def _says_missing(cell: str) -> bool:
    return cell in _MARKS or cell.casefold() in _WORDS
