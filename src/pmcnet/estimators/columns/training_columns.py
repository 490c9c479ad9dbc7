"""The columns of a table, and the table as one matrix of numbers.

The matrix is exact: equal rows of the table are equal rows of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from pmcnet.errors import InputError
from pmcnet.estimators.columns.base import UNSEEN, Column, Matrix
from pmcnet.estimators.columns.given import Given, given_columns
from pmcnet.estimators.columns.inference import COLUMN_KINDS, inferred_column
from pmcnet.estimators.columns.left_out import CONSTANT, NO_VALUES, LeftOut, is_empty, reason
from pmcnet.estimators.columns.repeats import repeated

MAX_COLUMNS = 5000
DROP = "drop"


@dataclass(frozen=True)
class ColumnsAsked:
    """What the caller says of columns.

    Args:
        types: kinds by name; "drop" leaves a column out.
        keep: names of columns that are never left out.
    """

    types: Mapping[str, str] = field(default_factory=dict)
    keep: Sequence[str] = ()

    def check(self, names: Sequence[str]) -> None:
        """Refuse kinds that do not exist and columns that are not there."""
        for name, kind in self.types.items():
            if kind not in (*COLUMN_KINDS, DROP):
                raise InputError(
                    f"a column is one of {', '.join(COLUMN_KINDS)} or {DROP}; got {kind!r:.60} for "
                    f"{name!r:.60}."
                )
        unknown = next((name for name in (*self.types, *self.keep) if name not in names), None)
        if unknown is not None:
            shown = ", ".join(map(repr, names[:10])) + (", ..." if len(names) > 10 else "")
            raise InputError(
                f"there is no column {unknown!r:.60}, of which a kind or keeping is asked; there "
                f"are {shown}. Correct its name."
            )


@dataclass(frozen=True)
class Columns:
    """The columns of the training table, in order.

    Args:
        names: of all columns.
        columns: those that the model has.
        left_out: the others.
    """

    names: tuple[str, ...]
    columns: tuple[Column, ...]
    left_out: tuple[LeftOut, ...] = ()

    @classmethod
    def of(cls, x: Any, asked: ColumnsAsked = ColumnsAsked()) -> Self:  # noqa: B008, frozen
        """The columns of a table: an array (N, d), or one of pandas, polars or pyarrow."""
        n_columns = x.shape[1]
        if n_columns > MAX_COLUMNS:
            raise InputError(
                f"a table may have at most {MAX_COLUMNS} columns; this one has {n_columns}. Select "
                "or combine columns first, or give the rows as images with a module."
            )
        given = given_columns(x)
        if not given:
            raise InputError("the table has 0 feature(s) (columns); at least one is needed.")
        names = tuple(each.name for each in given)
        asked.check(names)
        return cls(names, *_chosen(given, asked))

    @property
    def slices(self) -> list[slice]:
        """Where the numbers of each column are in a row."""
        ends = np.cumsum([column.n_numbers for column in self.columns]).tolist()
        return [slice(a, b) for a, b in zip([0, *ends], ends, strict=False)]

    def matrix(self, x: Any, *, first_row: int = 1) -> Matrix:
        """The table as numbers (N, R): each column's, one column after another.

        Args:
            x: the table.
            first_row: number of its first row in errors, where it is a piece of a larger table.
        """
        given = given_columns(x)
        if len(given) != len(self.names):
            raise InputError(
                f"the table must have the {len(self.names)} columns of training; got {len(given)}."
            )
        by_place = dict(zip(self.names, given, strict=True))
        return np.hstack(
            [column.numbers(by_place[column.name], first_row) for column in self.columns]
        )

    def unseen(self, rows: Matrix) -> dict[str, NDArray[np.int64]]:
        """Positions of the rows whose cell training had nothing like, by column."""
        found = {
            column.name: np.flatnonzero(rows[:, part.start] == UNSEEN)
            for column, part in zip(self.columns, self.slices, strict=True)
        }
        return {name: rows for name, rows in found.items() if len(rows)}


def _chosen(
    given: Sequence[Given], asked: ColumnsAsked
) -> tuple[tuple[Column, ...], tuple[LeftOut, ...]]:
    """The columns of the model, and those that are left out."""
    left_out: list[LeftOut] = []
    columns: list[Column] = []
    numbers: list[Matrix] = []
    for each in given:
        kind = asked.types.get(each.name)
        column = None if kind == DROP or is_empty(each) else inferred_column(each, kind)
        found = np.empty((0, 1)) if column is None else column.numbers(each, 1)
        why = "as asked" if kind == DROP else reason(each, column, found)
        may = kind is None and each.name not in asked.keep
        if column is None or why == NO_VALUES or (why and may):
            left_out.append(LeftOut(each.name, why))
            continue
        columns.append(column)
        numbers.append(found)
    place = {each.name: i for i, each in enumerate(given)}
    free = [column.name not in asked.types and column.name not in asked.keep for column in columns]
    same = repeated(columns, numbers)
    dropped = [other if may else None for other, may in zip(same, free, strict=True)]
    left_out += [
        LeftOut(column.name, f"it says nearly the same as {other!r}")
        for column, other in zip(columns, dropped, strict=True)
        if other
    ]
    kept = tuple(column for column, other in zip(columns, dropped, strict=True) if other is None)
    if not kept:
        constant = [name for name, why in left_out if why == CONSTANT]
        if constant:  # y still has a distribution
            return _chosen(given, replace(asked, keep=constant))
        shown = "; ".join(f"{name!r}: {why}" for name, why in left_out[:5])
        raise InputError(
            f"no column is left to predict from ({shown}). Give columns that vary, or name those "
            "to keep."
        )
    return kept, tuple(sorted(left_out, key=lambda one: place[one.name]))
