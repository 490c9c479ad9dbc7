"""The cells of a table as they were given: numbers, strings, or times."""

from collections import Counter
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Literal, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray

from pmcnet.errors import InputError
from pmcnet.io.files import one_line

SECONDS = 86_400.0
"""Of a day."""
Form = Literal["numbers", "strings", "dates", "durations"]


class Given(NamedTuple):
    """A column as it was given.

    `values` (N,) are float64, not-a-number where missing; of strings they are objects, None where
    missing. Dates are days since 1970, durations seconds.
    """

    name: str
    values: NDArray[Any]
    form: Form = "numbers"
    declared: bool = False  # whether its dtype says that it is categorical

    @property
    def strings(self) -> NDArray[Any]:
        """The cells as strings, None where missing.

        Levels that look like numbers may come as numbers, alone or in a part of a table.
        """
        if self.form == "strings":
            return self.values
        found = np.empty(len(self.values), dtype=object)
        present = ~np.isnan(self.values)
        found[present] = [plain(value) for value in self.values[present]]
        return found


def given_columns(x: Any) -> list[Given]:
    """The columns of a table: an array (N, d), or one of pandas, polars or pyarrow."""
    if isinstance(x, np.ndarray):
        if x.dtype.kind in "biuf":
            matrix = _doubles(x)
            return [Given(f"column {i}", matrix[:, i]) for i in range(matrix.shape[1])]
        return [_typed(f"column {i}", x[:, i]) for i in range(x.shape[1])]
    try:
        frame = nw.from_native(x, eager_only=True)
    except DuplicateError as error:
        raise InputError(f"column names must differ. {one_line(error)}. Rename some.") from error
    names = [str(name) for name in frame.columns]  # 1 and "1" become the same
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    if repeated:
        raise InputError(
            f"column names must differ; {', '.join(repeated)} comes more than once. Rename one of "
            "them."
        )
    levels = (nw.Categorical, nw.Enum)
    return [
        _typed(name, np.asarray(column.to_numpy()))._replace(declared=column.dtype in levels)
        for name, column in zip(names, frame.iter_columns(), strict=True)
    ]


def are_times(values: NDArray[Any]) -> bool:
    """Whether all are dates, times, durations or strings like 2024-05-31T12:00.

    Args:
        values: none of them missing.
    """
    if values.dtype.kind in "biufMm":
        return values.dtype.kind in "Mm"
    return len(values) > 0 and all(map(_is_time, values.tolist()))


def is_number(string: str) -> bool:
    """Whether a string is written like a number, in the digits 0 to 9 without separators."""
    if "_" in string or not string.isascii():
        return False
    try:
        float(string)
    except ValueError:
        return False
    return True


def _is_time(value: Any) -> bool:
    if not isinstance(value, str):
        return isinstance(value, timedelta) or hasattr(value, "strftime")
    if len(value) < 8 or "-" not in value[4:]:
        return False
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


def _typed(name: str, array: NDArray[Any]) -> Given:
    """Numbers where every value is one, times where all are times, else strings."""
    if array.dtype.kind in "biuf":
        return Given(name, _doubles(array))
    if array.dtype.kind == "M":
        return Given(name, days(array), "dates")
    if array.dtype.kind == "m":
        return Given(name, _seconds(array), "durations")
    if array.dtype.kind == "c":
        raise InputError(
            f"column {name!r} holds complex numbers. Give real and imaginary parts as two columns."
        )
    from pandas import isna  # type: ignore[import-untyped]  # slow, and numeric arrays do without

    values = array.astype(object)
    missing = np.asarray(isna(values), dtype=bool)
    present = values[~missing]
    for fits, form, written in _OBJECTS:
        if len(present) and all(map(fits, present)):
            found = np.full(len(values), np.nan)
            found[~missing] = written(name, present)
            return Given(name, found, form)
    odd = next((value for value in present if not np.isscalar(value)), None)
    if odd is not None and not hasattr(odd, "strftime"):
        raise TypeError(
            f"column {name!r}: argument must be a string or a number, not {type(odd).__name__}"
        )
    strings = np.empty(len(values), dtype=object)
    strings[~missing] = [str(value).strip() or None for value in present]
    return Given(name, strings, "strings")


def _numbers(name: str, values: NDArray[Any]) -> NDArray[np.float64]:
    try:
        return _doubles(values)
    except OverflowError as error:
        raise InputError(
            f"column {name!r} holds a number too large for double precision. Scale it."
        ) from error


def _dates(name: str, values: NDArray[Any]) -> NDArray[np.float64]:
    return days(_times(name, values))


def _periods(name: str, values: NDArray[Any]) -> NDArray[np.float64]:
    return days(_times(name, np.array([value.to_timestamp() for value in values], dtype=object)))


def _times(name: str, values: NDArray[Any]) -> NDArray[Any]:
    import pandas as pd

    try:
        times = pd.to_datetime(pd.Series(values), utc=True)
    except (ValueError, OverflowError) as error:
        raise InputError(
            f"column {name!r} holds dates that cannot be read: years 1678 to 2261 are possible. "
            "Correct them, or drop the column."
        ) from error
    return np.asarray(times.dt.tz_localize(None).to_numpy())


def _durations(name: str, values: NDArray[Any]) -> NDArray[np.float64]:
    return np.array([value.total_seconds() for value in values], dtype=np.float64)


def _is_numeric(value: Any) -> bool:
    return isinstance(value, int | float | Decimal | np.number | np.bool_)


def _is_period(value: Any) -> bool:
    """Whether it is a span of the calendar, as pandas has them."""
    return hasattr(value, "to_timestamp")


def _is_date(value: Any) -> bool:
    return isinstance(value, date)  # datetime and pandas.Timestamp are subclasses


def _is_duration(value: Any) -> bool:
    return isinstance(value, timedelta)


_OBJECTS: tuple[
    tuple[Callable[[Any], bool], Form, Callable[[str, NDArray[Any]], NDArray[np.float64]]], ...
] = (
    (_is_numeric, "numbers", _numbers),
    (_is_period, "dates", _periods),
    (_is_date, "dates", _dates),
    (_is_duration, "durations", _durations),
)


def days(times: NDArray[Any]) -> NDArray[np.float64]:
    """Days since 1970 of times without a zone (N,), not-a-number where missing."""
    return _ratio(times - np.datetime64(0, "s"), SECONDS)


def _seconds(durations: NDArray[Any]) -> NDArray[np.float64]:
    return _ratio(durations, 1.0)


def _ratio(durations: NDArray[Any], unit: float) -> NDArray[np.float64]:
    """In units of so many seconds, not-a-number where missing."""
    micro = durations.astype("m8[us]")
    found = micro.astype(np.int64) / (1e6 * unit)
    return np.where(np.isnat(micro), np.nan, found)


def _doubles(array: NDArray[Any]) -> NDArray[np.float64]:
    """Numbers in double precision; a larger one becomes infinite, which is refused later."""
    with np.errstate(over="ignore"):
        return array.astype(np.float64, copy=False)


def plain(value: float) -> str:
    """A number as a level is called."""
    return str(int(value)) if value.is_integer() else str(value)
