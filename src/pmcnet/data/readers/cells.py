"""What a cell of a file holds: a number, a string, or nothing.

In a column of numbers every cell is a number or missing, or every cell is a boolean (true 1, false
0) or missing. One word that is neither makes the whole column strings: no cell becomes a missing
value because it could not be read.
"""

import math
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from pmcnet.errors import InputError

if TYPE_CHECKING:
    from pandas import DataFrame, Series  # type: ignore[import-untyped]

Kind = Literal["number", "text"]

MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None")

# Among strings a question mark may be a level of its own, so it is missing only among numbers.
MISSING_NUMBER = (*MISSING, "?")

_BOOLEANS: Mapping[str, float] = MappingProxyType(
    {
        word: value
        for name, value in (("true", 1.0), ("false", 0.0))
        for word in (name, name.upper(), name.capitalize())
    }
)


def number(word: str, decimal: str = ".") -> float | None:
    """The number a word stands for: NaN for a missing value, None for a word that is no number.

    Args:
        word: a cell.
        decimal: the mark before its decimals, "." or ",".
    """
    word = word.strip()
    if word in MISSING_NUMBER:
        return math.nan
    if word in _BOOLEANS:
        return _BOOLEANS[word]
    if "_" in word or not word.isascii():  # float() takes 1_000 and the digits of every script
        return None
    if decimal == ",":
        if "." in word:
            return None
        word = word.replace(",", ".", 1)
    try:
        return float(word)
    except ValueError:
        return None


def to_numbers(column: "Series", *, where: str, first_row: int = 1, decimal: str = ".") -> "Series":
    """The column as float64.

    Args:
        column: Of numbers, booleans or words.
        where: Names the file in errors.
        first_row: Number of the column's first row in that file.
        decimal: The mark before the decimals of words.
    """
    import pandas as pd  # takes long to import

    if pd.api.types.is_numeric_dtype(column.dtype):
        return column.astype("float64")
    values = np.full(len(column), math.nan)
    present = column.notna().to_numpy()
    for row, word in zip(np.flatnonzero(present).tolist(), column[present], strict=True):
        value = number(str(word), decimal)
        if value is None:
            other = "," if decimal == "." else "."
            marked = number(str(word), other) is not None
            asked = f" If {other!r} is its decimal mark, ask for it (--decimal {other})."
            raise InputError(
                f"column {column.name!r} of {where} must hold numbers; row {first_row + row} (the "
                f"header not counted) holds {shown(word)}. Correct it, or leave the cell empty if "
                f"the value is missing.{asked if marked else ''}"
            )
        values[row] = value
    return pd.Series(values, index=column.index, name=column.name)


def to_strings(column: "Series") -> "Series":
    """The column as strings; missing values stay missing."""
    import pandas as pd

    strings = pd.Series(["string"]).dtype  # `str` from pandas 3 on, `object` before
    return column.map(str, na_action="ignore").astype(strings)


def inferred(column: "Series", decimal: str = ".") -> "Series":
    """A column that pandas read whole, as numbers if it holds them among ` NA` and `?`.

    Booleans with gaps become 1 and 0.

    Args:
        column: Of words, or as pandas read it.
        decimal: The mark before the decimals of words.
    """
    import pandas as pd

    found = pd.api.types.infer_dtype(column, skipna=True)
    if found in ("boolean", "integer") and column.dtype == object:  # with gaps, or beyond 64 bits
        return column.map(_as_float, na_action="ignore").astype("float64")
    if found != "string":
        return column
    numbers: dict[str, float] = {}
    boolean: set[bool] = set()  # whether a word is one, for the words that are not missing
    for word in column.tolist():
        if word in numbers or not isinstance(word, str):  # seen, or missing
            continue
        value = number(word, decimal)
        if value is None:
            return column
        numbers[word] = value
        if not math.isnan(value):
            boolean.add(word.strip() in _BOOLEANS)
    return column.map(numbers).astype("float64") if len(boolean) == 1 else column


def _as_float(value: int) -> float:
    """The number as a float; infinite, as in `number`, where it has more digits than fit."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def column_kinds(frame: "DataFrame") -> dict[str, Kind]:
    """The `columns` with which `frame_chunks` reads later rows as this frame was read.

    Booleans are numbers.

    Args:
        frame: As `read_frame` gives it.
    """
    import pandas as pd

    return {
        str(name): "number" if pd.api.types.is_numeric_dtype(dtype) else "text"
        for name, dtype in frame.dtypes.items()
    }


def check_asked(columns: Mapping[str, Kind], names: Iterable[str], where: str) -> None:
    """Refuse kinds that do not exist and columns that the file does not have."""
    names = tuple(names)
    for name, kind in columns.items():
        if kind not in get_args(Kind):
            raise InputError(f"a column is a 'number' or a 'text'; got {kind!r} for {name!r}.")
        if name not in names:
            raise InputError(
                f"{where} has no column {name!r}; it has {listed(names)}. Add it, or correct its "
                "name."
            )


def converted(
    frame: "DataFrame", columns: Mapping[str, Kind], *, where: str, first_row: int = 1
) -> "DataFrame":
    """The frame with the asked columns as float64 or strings, the others untouched."""
    changed = {
        name: to_numbers(frame[name], where=where, first_row=first_row)
        if kind == "number"
        else to_strings(frame[name])
        for name, kind in columns.items()
    }
    return replaced(frame, changed)


def replaced(frame: "DataFrame", columns: Mapping[str, "Series"]) -> "DataFrame":
    """The frame with other columns under some of its names; unlike `assign` it takes any name."""
    import pandas as pd

    if not columns:
        return frame
    each = {name: columns.get(name, column) for name, column in frame.items()}
    return pd.DataFrame(each, index=frame.index, copy=False)


def shown(word: object, n_characters: int = 40) -> str:
    """A cell for an error message, shortened."""
    text = str(word)
    return repr(text if len(text) <= n_characters else text[: n_characters - 3] + "...")


def listed(names: tuple[str, ...], n_names: int = 10) -> str:
    """Column names for an error message, the first few."""
    rest = f" and {len(names) - n_names} more" if len(names) > n_names else ""
    return ", ".join(map(shown, names[:n_names])) + rest
