"""Which character separates the fields of a text, found from its first records.

It must separate the header into names, and as many fields in the records below. Where several do,
that one is taken whose fields are numbers most often; then the one with most names; then that of
the suffix.
"""

import csv
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from pmcnet.data.readers.cells import MISSING_NUMBER, number
from pmcnet.data.readers.text_encoding import open_text

DELIMITERS: Mapping[str, str] = MappingProxyType(
    {",": "commas", "\t": "tabs", ";": "semicolons", "|": "vertical bars"}
)
_BY_SUFFIX: Mapping[str, str] = MappingProxyType({".csv": ",", ".tsv": "\t"})
_RECORDS = 100


class _Score(NamedTuple):
    """How well a delimiter fits; the larger the better."""

    even: bool  # whether all records have the fields that the header names
    n_numbers: int
    n_names: int
    by_suffix: bool


def found_delimiter(path: Path, encoding: str) -> str:
    """The delimiter of a text file; a comma where it has a single column."""
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    usual = next((_BY_SUFFIX[suffix] for suffix in suffixes if suffix in _BY_SUFFIX), ",")
    scores = {each: _score(path, encoding, each, each == usual) for each in DELIMITERS}
    fitting = {each: score for each, score in scores.items() if score is not None}
    return max(fitting, key=lambda each: fitting[each], default=usual)


def _score(path: Path, encoding: str, delimiter: str, by_suffix: bool) -> _Score | None:
    """None where the header has a single name with this delimiter."""
    with open_text(path, encoding) as text:
        try:
            records = [
                record
                for record in islice(csv.reader(text, delimiter=delimiter), _RECORDS)
                if len(record) > 1 or "".join(record).strip()
            ]
        except csv.Error:
            return None
    if not records or len(records[0]) < 2:
        return None
    header, rows = records[0], records[1:]
    even = all(len(row) == len(header) or _ends_empty(row, len(header)) for row in rows)
    n_numbers = sum(_is_number(cell) for row in rows for cell in row)
    return _Score(even, n_numbers, len(header), by_suffix)


def _ends_empty(row: list[str], n_names: int) -> bool:
    """Whether a delimiter too many ends the row."""
    return len(row) == n_names + 1 and not row[-1]


def _is_number(cell: str) -> bool:
    if cell.strip() in MISSING_NUMBER:
        return False
    return any(number(cell, decimal) is not None for decimal in (".", ","))
