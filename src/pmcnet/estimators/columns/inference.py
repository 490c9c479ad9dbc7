"""Which kind a column is: by its cells, where the caller does not say."""

import re
from collections import Counter
from typing import cast

import numpy as np

from pmcnet.errors import InputError
from pmcnet.estimators.columns.base import Column
from pmcnet.estimators.columns.category import CategoryColumn
from pmcnet.estimators.columns.date import ISO, TIMES_OF_DAY, DateColumn, written_as
from pmcnet.estimators.columns.duration import DurationColumn, are_durations
from pmcnet.estimators.columns.given import Given
from pmcnet.estimators.columns.log_number import LogNumberColumn
from pmcnet.estimators.columns.many_levels import ManyLevelsColumn
from pmcnet.estimators.columns.number import NumberColumn
from pmcnet.estimators.columns.text import TextColumn
from pmcnet.estimators.columns.written_numbers import (
    WrittenNumbers,
    numbers_among,
    words_among,
)

COLUMN_KINDS: dict[str, type[Column]] = {
    each.kind: each
    for each in (
        NumberColumn,
        LogNumberColumn,
        CategoryColumn,
        ManyLevelsColumn,
        DateColumn,
        DurationColumn,
        TextColumn,
    )
}
"""Every kind of column by its name."""
MOST_INPUTS_PER_COLUMN = 30
"""Levels that have an input each; of more, each is one number."""
_RARE = 0.01  # share of the rows below which a level is pooled
_OFTEN = 5  # rows of a level that is never pooled
_UNIQUE = 0.9  # share of the rows that differ, from which levels tell nothing about other rows
FEW_ROWS = 20
"""Rows of which nothing is concluded from how many differ."""
_NAMED = re.compile(
    r"(?i:(?:^|[^A-Za-z])(?:id|ids|idx|index|key|uuid|guid|nr|no|rownames?|row|unnamed: 0)$)"
    r"|[a-z](?:Id|ID)$"
)
"""Names that identifiers have."""
_CODE = re.compile(r"(?i:(?:^|[^a-z])(?:zip|plz|post(?:al)? ?_?code|zip ?_?code)(?:$|[^a-z]))")
"""Names of columns whose numbers have no order."""


def inferred_column(given: Given, asked: str | None) -> Column:
    """The column as it is, before it has learned from the rows.

    Args:
        given: the cells of the training table.
        asked: the name of its kind, where the caller says it.
    """
    if asked is not None:
        return _as_asked(given, asked)
    if given.form == "dates":
        return DateColumn(name=given.name, why="dates")
    if given.form == "durations":
        return DurationColumn(name=given.name, why="durations")
    if given.declared:
        return _levels(given, "declared as categorical")
    if given.form == "numbers":
        return _codes(given) or NumberColumn(name=given.name)
    return _times(given) or numbers_among(given) or _levels(given, words_among(given))


def _as_asked(given: Given, asked: str) -> Column:
    """The column of the kind that the caller names."""
    name, why = given.name, "as asked"
    if asked == "number":
        if given.form == "strings":
            return WrittenNumbers.of(given.values).column(name, why)
        return NumberColumn(name=name, why=why)
    if asked == "log-number":
        return LogNumberColumn.of(cast(NumberColumn, _as_asked(given, "number")))
    if asked == "category":
        return _category(given, why)
    if asked == "many-levels":
        return ManyLevelsColumn(name=name, why=why, levels=_sorted_levels(given))
    if asked == "text":
        return TextColumn.of(name, given.strings, why)
    if asked == "duration":
        if given.form == "strings" and not are_durations(given.values):
            raise InputError(
                f"column {name!r} cannot be read as durations. Write all its cells like 1 days "
                "02:30:00, or ask for another kind."
            )
        return DurationColumn(name=name, why=why)
    written = ISO if given.form == "dates" else written_as(given.strings)
    if written is None:
        raise InputError(
            f"column {name!r} cannot be read as dates: no format fits all its cells. Write them "
            "like 2024-05-31, or ask for another kind."
        )
    return DateColumn(name=name, why=why, written=written)


def _times(given: Given) -> Column | None:
    """Dates, times of day or durations, if all the strings are."""
    written = written_as(given.values)
    if written is None:
        durations = are_durations(given.values)
        return DurationColumn(name=given.name, why="durations") if durations else None
    what = "dates" if written == ISO else f"dates like {written}"
    what = "times of day" if written in TIMES_OF_DAY else what
    return DateColumn(name=given.name, why=what, written=written)


def _codes(given: Given) -> Column | None:
    """Levels, if whole numbers are in a column that is called like one of postal codes."""
    present = given.values[~np.isnan(given.values)]
    if not _CODE.search(given.name) or (present % 1 != 0).any():
        return None
    return _levels(given, "numbers that are codes, by the column's name")


def _levels(given: Given, why: str) -> Column:
    """A categorical column: of few levels or many, or text."""
    levels, n = _sorted_levels(given), sum(cell is not None for cell in given.strings)
    if len(levels) <= MOST_INPUTS_PER_COLUMN and not _is_free(given, levels, n):
        return _category(given, why)
    if _is_text(levels, n) and not given.declared:
        words = f"free text: {len(levels)} of {n} cells differ"
        return TextColumn.of(given.name, given.strings, words)
    many = f"{len(levels)} levels, more than {MOST_INPUTS_PER_COLUMN}"
    return ManyLevelsColumn(
        name=given.name, why="; ".join(filter(None, (why, many))), levels=levels
    )


def _is_free(given: Given, levels: tuple[str, ...], n: int) -> bool:
    """Whether strings of a small table differ from row to row."""
    return not given.declared and n >= FEW_ROWS and len(levels) > _UNIQUE * n


def _is_text(levels: tuple[str, ...], n: int) -> bool:
    """Whether the strings are words in a row that seldom repeat."""
    n_words = np.mean([len(level.split()) for level in levels])
    return bool(n < _OFTEN * len(levels) and n_words >= 2)


def is_identifier(given: Given, column: Column) -> bool:
    """Whether the cells name rows and say nothing of others.

    These are strings without spaces that nearly all differ, and whole numbers that all differ in a
    column that is called like one.
    """
    present = [cell for cell in given.strings if cell is not None]
    if len(present) < FEW_ROWS:
        return False
    if isinstance(column, ManyLevelsColumn):
        return len(column.levels) > _UNIQUE * len(present) and not given.declared
    if type(column) is not NumberColumn or not _NAMED.search(given.name):
        return False
    return len(set(present)) == len(given.values) and all(cell.isdigit() for cell in present)


def _category(given: Given, why: str) -> CategoryColumn:
    """One input per level, rare ones together."""
    counted = Counter(cell for cell in given.strings if cell is not None)
    least = min(_OFTEN, np.ceil(_RARE * counted.total()))
    rare = tuple(sorted(level for level, n in counted.items() if n < least))
    if len(rare) < 2:
        rare = ()
    own = tuple(level for level in sorted(counted) if level not in set(rare))
    return CategoryColumn(name=given.name, why=why, levels=own, rare=rare)


def _sorted_levels(given: Given) -> tuple[str, ...]:
    return tuple(sorted({cell for cell in given.strings if cell is not None}))
