"""Strings that a spreadsheet would take for a formula, and run, when it opens a CSV file.

A string of two or more characters that begins with = + - @, a tab or a line end and is no number is
written with a quote ' before it, which spreadsheets do not run. Reading takes that quote away, so
that what was written comes back.
"""

import re
from typing import Any

from numpy.typing import NDArray

from pmcnet.data.readers.cells import number

QUOTE = "'"
_SIGNS = ("=", "+", "-", "@", "\t", "\r", "\n")
_PLAIN = r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_SUSPECT = re.compile(rf"^(?:[=@\t]|[+-](?!(?:{_PLAIN})?$))", re.MULTILINE)
_FIELD = re.compile(r'(?:^|(?<=[,\n]))(?:"((?:[^"]|"")*)"|([^",\n]*))(?=[,\n]|\Z)')
_NEEDS_QUOTES = re.compile(r'[,"\r\n]')


def guarded(cell: str) -> str:
    """A string as it may be written."""
    suspect = cell.startswith(_SIGNS) and len(cell) > 1 and number(cell) is None
    return QUOTE + cell if suspect else cell


def unguarded(cell: str) -> str:
    """The string that was written as this cell."""
    return cell[1:] if cell.startswith(QUOTE) and guarded(cell[1:]) == cell else cell


def guarded_column(values: NDArray[Any]) -> NDArray[Any]:
    """A column as it may be written; what is no string stays as it is."""
    if values.dtype.kind not in "OUT":
        return values
    strings = _strings(values)
    lines = "\n".join(strings)  # one search of all of them is far faster than one of each
    one_each = "\r" not in lines and lines.count("\n") < max(1, len(strings))
    if one_each and _SUSPECT.search(lines) is None:
        return values
    safe = {string: guarded(string) for string in set(strings)}
    found = values.astype(object)
    found[:] = [safe[cell] if isinstance(cell, str) else cell for cell in values.tolist()]
    return found


def has_carriage_return(values: NDArray[Any]) -> bool:
    """Whether some string holds one: Python before 3.13 writes it without quotes, in two rows."""
    return values.dtype.kind in "OUT" and "\r" in "".join(_strings(values))


def _strings(values: NDArray[Any]) -> list[str]:
    cells: list[Any] = values.tolist()
    if set(map(type, cells)) == {str}:
        return cells
    return [cell for cell in cells if isinstance(cell, str)]


def guarded_csv(text: str) -> str:
    """A CSV file as it may be written, from one with commas and line feeds.

    Carriage returns are put between quotes.
    """
    return _FIELD.sub(_field, text)


def _field(found: re.Match[str]) -> str:
    quoted, plain = found.groups()
    cell = guarded(plain if quoted is None else quoted.replace('""', '"'))
    if not _NEEDS_QUOTES.search(cell):
        return cell if quoted is None or cell else found[0]
    doubled = cell.replace('"', '""')
    return f'"{doubled}"'
