"""The columns of a table, numeric or categorical, and the table as one matrix of numbers.

A level of a categorical column becomes its index (scikit-learn's OrdinalEncoder), a missing value
not-a-number. The matrix is exact: equal rows of the table are equal rows of it.
"""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import OrdinalEncoder  # type: ignore[import-untyped]

from pmcnet.data import Kind
from pmcnet.errors import InputError

Matrix = NDArray[np.float64]

MAX_COLUMNS = 5000
MAX_LEVELS = 200
"""Of a categorical column; with more levels it holds identifiers or prose."""
_UNKNOWN = -1


@dataclass(frozen=True)
class Column:
    """One column of the training table."""

    name: str
    kind: Kind  # "text" for a categorical column
    levels: tuple[str, ...] = ()  # of a categorical column, sorted


@dataclass(frozen=True)
class Columns:
    """All columns of the training table, in order."""

    columns: tuple[Column, ...]

    @classmethod
    def of(cls, x: Any) -> Self:
        """The columns of a table: an array (N, d) or a DataFrame of pandas or polars."""
        n_columns = x.shape[1]
        if n_columns > MAX_COLUMNS:
            raise InputError(
                f"a table may have at most {MAX_COLUMNS} columns; this one has {n_columns}. Select "
                "or combine columns first, or give the rows as images with a module."
            )
        values = _by_column(x)
        if not values:
            raise InputError("the table has 0 feature(s) (columns); at least one is needed.")
        return cls(tuple(map(_describe, values)))

    @property
    def names(self) -> tuple[str, ...]:
        """Names in order."""
        return tuple(column.name for column in self.columns)

    def matrix(self, x: Any, *, first_row: int = 1) -> Matrix:
        """The table as numbers (N, d): values, positions of levels, not-a-number where missing.

        Args:
            x: the table.
            first_row: number of its first row in errors, where it is a piece of a larger table.
        """
        values = _by_column(x)
        if len(values) != len(self.columns):
            raise InputError(
                f"the table must have the {len(self.columns)} columns of training; got "
                f"{len(values)}."
            )
        parts = [
            _numbers(column, given.values, first_row)
            for column, given in zip(self.columns, values, strict=True)
        ]
        return np.column_stack(parts)


def are_dates(values: NDArray[Any]) -> bool:
    """Whether all are dates, times, spans of time or strings like 2024-05-31T12:00.

    Args:
        values: none of them missing.
    """
    if values.dtype.kind in "biufMm":
        return values.dtype.kind in "Mm"
    return len(values) > 0 and all(map(_is_date, values.tolist()))


def _is_date(value: Any) -> bool:
    if not isinstance(value, str):
        return isinstance(value, timedelta) or hasattr(value, "strftime")
    if len(value) < 8 or "-" not in value[4:]:
        return False
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


class _Given(NamedTuple):
    """A column as it was given."""

    name: str
    values: NDArray[Any]  # (N,): float64, or strings with None where missing
    declared: bool = False  # whether its dtype says that it is categorical


def _by_column(x: Any) -> list[_Given]:
    if isinstance(x, np.ndarray):
        if x.dtype.kind in "biuf":
            matrix = _doubles(x)
            return [_Given(f"column {i}", matrix[:, i]) for i in range(matrix.shape[1])]
        return [_Given(f"column {i}", _typed(f"column {i}", x[:, i])) for i in range(x.shape[1])]
    names = [str(name) for name in x.columns]
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    if repeated:
        raise InputError(
            f"column names must differ; {', '.join(repeated)} comes more than once. Rename one of "
            "them."
        )
    given = [(name, x[key]) for name, key in zip(names, x.columns, strict=True)]
    return [
        _Given(name, _typed(name, np.asarray(column.to_numpy())), _is_categorical(column.dtype))
        for name, column in given
    ]


def _is_categorical(dtype: Any) -> bool:
    """Whether a dtype of pandas or polars declares a categorical column."""
    return str(dtype).startswith(("category", "Categorical", "Enum"))


def _typed(name: str, array: NDArray[Any]) -> NDArray[Any]:
    """Float64 where every value is a number, else strings with None where missing."""
    if array.dtype.kind in "biuf":
        return _doubles(array)
    if array.dtype.kind in "Mm":
        raise _dates(name)
    if array.dtype.kind == "c":
        raise InputError(
            f"column {name!r} holds complex numbers. Give real and imaginary parts as two columns."
        )
    from pandas import isna  # type: ignore[import-untyped]  # slow, and numeric arrays do without

    values = array.astype(object)
    missing = np.asarray(isna(values), dtype=bool)
    present = values[~missing]
    # dates written as strings are found later, by their levels
    if len(present) and not isinstance(present[0], str) and are_dates(present):
        raise _dates(name)
    if all(isinstance(value, int | float | Decimal | np.number | np.bool_) for value in present):
        numbers = np.full(len(values), np.nan)
        try:
            numbers[~missing] = _doubles(present)
        except OverflowError as error:
            raise InputError(
                f"column {name!r} holds a number too large for double precision. Scale it."
            ) from error
        return numbers
    odd = next((value for value in present if not np.isscalar(value)), None)
    if odd is not None:
        raise TypeError(
            f"column {name!r}: argument must be a string or a number, not {type(odd).__name__}"
        )
    strings = np.empty(len(values), dtype=object)
    strings[~missing] = [str(value) for value in present]
    return strings


def _doubles(array: NDArray[Any]) -> NDArray[np.float64]:
    """Numbers in double precision; a larger one becomes infinite, which is refused later."""
    with np.errstate(over="ignore"):
        return array.astype(np.float64, copy=False)


def _dates(name: str) -> InputError:
    return InputError(
        f"column {name!r} holds dates. Turn them into numbers first, e.g. days since the first, or "
        "drop the column."
    )


def _describe(given: _Given) -> Column:
    name, values, declared = given
    if values.dtype != object and not declared:
        return Column(name, "number")
    strings = _as_strings(values)
    levels = tuple(sorted({string for string in strings if string is not None}))
    if not declared:
        _check_levels(name, strings, levels)
    if len(levels) > MAX_LEVELS:
        raise InputError(
            f"column {name!r} has {len(levels)} different levels; a categorical column has at most "
            f"{MAX_LEVELS}. Drop it if it is an identifier, or group its values."
        )
    return Column(name, "text", levels)


def _check_levels(name: str, strings: NDArray[Any], levels: tuple[str, ...]) -> None:
    """Refuse strings that stand for numbers or dates."""
    if are_dates(np.array(levels, dtype=object)):
        raise _dates(name)
    numeric = [level for level in levels if _is_number(level)]
    if len(levels) == len(numeric) > 2:
        raise InputError(
            f"column {name!r} holds numbers written as strings, such as {levels[0]!r}. Turn it "
            "into numbers."
        )
    if len(numeric) > len(levels) / 2 and len(levels) > 2:
        culprit = next(level for level in levels if not _is_number(level))
        row = int(np.flatnonzero(strings == culprit)[0]) + 1
        raise InputError(
            f"column {name!r} holds numbers but also strings such as {culprit!r} (row {row}). "
            "Correct those cells, leave them empty for missing, or drop the column."
        )


def _is_number(string: str) -> bool:
    try:
        float(string)
    except ValueError:
        return False
    return True


def _numbers(column: Column, values: NDArray[Any], first_row: int) -> Matrix:
    """One column as numbers (N,)."""
    if column.kind == "number":
        return _only_numbers(column, values, first_row)
    strings = _as_strings(values)
    missing = np.array([string is None for string in strings], dtype=bool)
    codes = np.full(len(strings), np.nan)
    if not missing.all():
        levels = np.array(column.levels, dtype=object)
        encoder = OrdinalEncoder(
            categories=[levels], handle_unknown="use_encoded_value", unknown_value=_UNKNOWN
        )
        encoder.fit(levels[:, None])
        codes[~missing] = encoder.transform(strings[~missing][:, None])[:, 0]
    unseen = np.flatnonzero(codes == _UNKNOWN)
    if len(unseen):
        known = ", ".join(column.levels[:8]) + (", ..." if len(column.levels) > 8 else "")
        row = unseen[0] + first_row
        raise InputError(
            f"column {column.name!r} has {str(strings[unseen[0]])!r} in row {row}, which no "
            f"training row had; known are {known}. Replace it or leave it empty."
        )
    return codes


def _only_numbers(column: Column, values: NDArray[Any], first_row: int) -> Matrix:
    if values.dtype == object:
        present = [i for i, value in enumerate(values) if value is not None]
        wrong = next((i for i in present if not _is_number(values[i])), None)
        if wrong is not None:
            raise InputError(
                f"column {column.name!r} holds numbers in training, but row {wrong + first_row} "
                f"has {values[wrong]!r}. Correct it or leave it empty."
            )
        numbers = np.full(len(values), np.nan)
        numbers[present] = [float(values[i]) for i in present]
        values = numbers
    infinite = np.flatnonzero(np.isinf(values))
    if len(infinite):
        raise InputError(
            f"column {column.name!r} has an infinity (inf) in row {infinite[0] + first_row}; give "
            "finite numbers, or leave it empty for missing."
        )
    return values


def _as_strings(values: NDArray[Any]) -> NDArray[Any]:
    """Levels as strings, with None where missing.

    They come as numbers where a categorical column, or all of it that is in a chunk, has levels
    that look like numbers.
    """
    if values.dtype == object:
        return values
    strings = np.empty(len(values), dtype=object)
    present = ~np.isnan(values)
    strings[present] = [_plain(value) for value in values[present]]
    return strings


def _plain(value: float) -> str:
    return str(int(value)) if value.is_integer() else str(value)
