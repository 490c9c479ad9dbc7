"""How the numbers of a column are written: a currency, a percent sign or a unit, and separators.

A column is in one notation if all its numbers are: "€ 1.200" and "€ 850,50", "3 %" and "12,5 %",
"1,234" and "999", "5 kg" and "7 kg". Numbers in different currencies or units cannot be compared,
so they make no column of numbers. A bound such as "<0.01", below what an instrument detects, counts
as the number.
"""

import re
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple, Self

from pmcnet.estimators.columns.given import is_number

_SYMBOLS = "$£¥฿₦₩₪₫€₱₴₹₺₽"
_CODES = (
    "AUD|BRL|CAD|CHF|CNY|CZK|DKK|EUR|GBP|HKD|HUF|ILS|INR|JPY|KRW|MXN|NOK|NZD|PLN|RON|SEK|SGD|TRY|"
    "USD|ZAR"
)
_CURRENCY = re.compile(f"[{_SYMBOLS}]|{_CODES}")
_CELL = re.compile(
    rf"(?P<sign>[+-]?) ?(?P<before>[{_SYMBOLS}]|{_CODES}|) ?(?P<inner>[+-]?)"
    r"(?P<digits>[0-9][0-9.,' ]*[0-9]|[0-9]) ?"
    rf"(?P<after>[^\W\d_]{{1,10}}[²³]?|[{_SYMBOLS}%‰]|°[CF]?|)"
)
_BOUND = re.compile("[<>\u2264\u2265]=? ?")
_PLAIN = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2009": " ", "\u2019": "'", "\u2212": "-"})
THOUSANDS, DECIMALS = (",", ".", " ", "'"), (".", ",")
_SEPARATORS = [(each, point) for each in THOUSANDS for point in DECIMALS if each != point]
"""In the order in which they are tried."""


class Notation(NamedTuple):
    """What the numbers of a column have in common; by default how `float` reads them.

    Args:
        before: the currency before each.
        after: the currency, percent sign or unit after each.
        thousands: what may be between groups of three digits.
        decimal: what is before the fraction.
    """

    before: str = ""
    after: str = ""
    thousands: str = ""
    decimal: str = "."

    @classmethod
    def of(cls, cells: Iterable[str]) -> Self | None:
        """The notation of all these cells, if they have one."""
        cells = {unbounded(cell) for cell in cells}
        if all(map(is_number, cells)):
            return cls()
        marks, digits = set(), set()
        for cell in cells:
            parts = _CELL.fullmatch(cell)
            if parts is None:
                return None
            marks.add((parts["before"], parts["after"]))
            digits.add(parts["digits"])
        if len(marks) > 1:
            return None
        before, after = marks.pop()
        fitting = [pair for pair in _SEPARATORS if all(map(_written(*pair).fullmatch, digits))]
        if _CURRENCY.fullmatch(before + after):  # prices seldom have three decimals
            fitting.sort(key=lambda pair: any(_n_decimals(each, pair[1]) == 3 for each in digits))
        return cls(before, after, *fitting[0]) if fitting else None

    def value(self, cell: str) -> float | None:
        """The number that a cell is, None where it is none in this notation."""
        cell = unbounded(cell)
        if not self.thousands:
            return float(cell) if is_number(cell) else None
        parts = _CELL.fullmatch(cell)
        if parts is None or not _written(self.thousands, self.decimal).fullmatch(parts["digits"]):
            return None
        if (parts["before"], parts["after"]) not in (self[:2], ("", "")):
            return None
        size = float(parts["digits"].replace(self.thousands, "").replace(self.decimal, "."))
        return -size if "-" in parts["sign"] + parts["inner"] else size


def unbounded(cell: str) -> str:
    """A cell without a sign that it is a bound, minus signs and spaces plain, (5) as -5."""
    plain = cell.translate(_PLAIN)
    if plain.startswith("(") and plain.endswith(")"):  # as accountants write losses
        return f"-{plain[1:-1]}"
    return plain[len(bound(plain)) :]


def bound(cell: str) -> str:
    """What says that a cell is a bound, empty where nothing does."""
    found = _BOUND.match(cell)
    return found[0] if found else ""


@cache
def _written(thousands: str, decimal: str) -> re.Pattern[str]:
    """Digits with these separators."""
    group, point = re.escape(thousands), re.escape(decimal)
    return re.compile(rf"([0-9]{{1,3}}({group}[0-9]{{3}})+|[0-9]+)({point}[0-9]+)?")


def _n_decimals(digits: str, decimal: str) -> int:
    return len(digits.partition(decimal)[2])
