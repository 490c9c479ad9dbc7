"""What kind a column is taken for."""

from datetime import date, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pytest

from pmcnet.errors import InputError
from pmcnet.estimators.columns import Columns, ColumnsAsked

RNG = np.random.default_rng(0)
N = 40


def only(values, **asked):
    """The column that these cells are, and the numbers of them."""
    frame = values if hasattr(values, "columns") else pd.DataFrame({"a": values})
    columns = Columns.of(frame, ColumnsAsked(**asked))
    return columns.columns[0], columns.matrix(frame)


@pytest.mark.parametrize(
    ("values", "kind", "why"),
    [
        ([1.5, 2.0, None], "number", ""),
        (["1", "2", "3.5"], "number", "numbers written as strings"),
        (["1", "2", "3", *["-"] * 9], "number", "9 cells ('-') that are none"),
        (["0", "1", "1"], "category", ""),
        (["0123", "0007", "0450"], "category", ""),
        (
            [*map(str, range(38)), "unknown", "-"],
            "number",
            "2 cells ('-', 'unknown') that are none",
        ),
        ([*map(str, range(30)), *(f"x{i % 7}" for i in range(20))], "many-levels", "37 levels"),
        (["red", "blue", "red"], "category", ""),
        ([f"street {i % 35}" for i in range(400)], "many-levels", "35 levels, more than 30"),
        ([f"a longer remark on {i} things" for i in range(40)], "text", "40 of 40 cells differ"),
        (["2024-05-31", None, "2024-06-01"], "date", "dates"),
        (["2024-05-31T10:00:00+02:00", "2024-06-01T00:00:00Z"], "date", "dates"),
        (["31.12.2020", "01.02.2021"], "date", "%d.%m.%Y"),
        (["12/31/2020", "02/01/2021"], "date", "%m/%d/%Y"),
        (["31/12/2020", "01/02/2021"], "date", "%d/%m/%Y"),
        (["05 Jan 2021", "17 Mar 2022"], "date", "%d %b %Y"),
        (["12:30", "07:05"], "date", "times of day"),
        (["1 days 02:30:00", "-3 days 00:00:00"], "duration", "durations"),
        (["30:15:00", "02:00:00"], "duration", "durations"),
        (["2024-may-x", "2024-june-x"], "category", ""),
        (["1-2", "3-4", "5-6"], "category", ""),
        (pd.to_datetime(["2020-01-01", "2020-01-02"]), "date", "dates"),
        (pd.date_range("2020-01-01", periods=2, tz="UTC"), "date", "dates"),
        (pd.period_range("2020-01", periods=2, freq="M"), "date", "dates"),
        (pd.to_timedelta(["1h", "2h"]), "duration", "durations"),
        (pl.DataFrame({"a": [date(2020, 1, 1), date(2020, 1, 2)]}), "date", "dates"),
        (pl.DataFrame({"a": [timedelta(1), timedelta(2)]}), "duration", "durations"),
        (pd.Categorical([3, 1, 2]), "category", "declared"),
        (pd.Categorical(range(40)), "many-levels", "40 levels"),
    ],
)
def test_kind_follows_from_the_cells(values, kind, why):
    column, _ = only(values)
    assert column.kind == kind
    assert why in column.why


@pytest.mark.parametrize(
    ("values", "kind", "numbers"),
    [
        (["1", "x", None], "number", [1, np.nan, np.nan]),
        ([3, 1, 3], "category", [1, 0, 1]),
        ([3, 1, 3], "many-levels", [1, 0, 1]),
        (["1970-01-03", "1970-01-01", None], "date", [2, 0, np.nan]),
        (["00:00:02", "1 days", None], "duration", [2, 86400, np.nan]),
    ],
)
def test_kind_that_is_asked_for_is_taken(values, kind, numbers):
    column, found = only(values, types={"a": kind})
    assert (column.kind, column.why) == (kind, "as asked")
    assert np.array_equal(found[:, 0], numbers, equal_nan=True)


@pytest.mark.parametrize("name", ["zip", "ZIP code", "home_zip", "postal code", "postcode", "PLZ"])
def test_postal_codes_are_levels(name):
    frame = pd.DataFrame({name: RNG.integers(0, 40, 400) + 10_115, "zipper": np.arange(400) % 77})
    codes, number = Columns.of(frame).columns
    assert (codes.kind, number.kind) == ("many-levels", "number")
    assert "codes, by the column's name" in codes.why


def test_levels_are_found_with_zeros_before_them_or_without():
    numbers, strings = pd.DataFrame({"a": [115, 1007] * 9}), pd.DataFrame({"a": ["0115", "01007"]})
    for trained, later in ((numbers, strings), (strings, numbers)):
        columns = Columns.of(trained, ColumnsAsked(types={"a": "category"}))
        assert not columns.unseen(columns.matrix(later))
        assert columns.matrix(later)[0, 0] != columns.matrix(later)[1, 0]
    both = Columns.of(pd.DataFrame({"a": ["1", "01", "x"]}))
    assert both.matrix(pd.DataFrame({"a": ["01", "1", "001"]}))[:2, 0].tolist() == [0, 1]


def test_dates_of_the_middle_ages_are_read():
    column, numbers = only(["1066-10-14", "2020-01-01", "-"])
    assert column.kind in ("date", "category")  # pandas 2 begins in 1678
    if column.kind == "date":
        assert numbers[0, 0] == -329_893


def test_text_may_be_asked_for():
    column, numbers = only(["red car", "blue car", "red bus"], types={"a": "text"})
    assert column.kind == "text"
    assert numbers.shape == (3, column.n_inputs)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"types": {"a": "colour"}}, "a column is one of number, .* or drop; got 'colour'"),
        ({"types": {"b": "number"}}, "there is no column 'b'"),
        ({"keep": ("b",)}, "there is no column 'b'"),
        ({"types": {"a": "date"}}, "no format fits all its cells"),
        ({"types": {"a": "drop"}}, "no column is left"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(asked, words):
    with pytest.raises(InputError, match=words):
        only(["x", "y"], **asked)


@pytest.mark.parametrize(
    ("name", "values", "why"),
    [
        ("a", [None] * N, "it has no values"),
        ("a", np.full(N, np.nan), "it has no values"),
        ("a", [3] * N, "it is constant"),
        ("a", ["x"] * N, "it is constant"),
        ("a", [f"{i:08x}" for i in RNG.permutation(N)], "it is an identifier"),
        ("PassengerId", range(N), "it is an identifier"),
        ("Unnamed: 0", range(N), "it is an identifier"),
        ("row_id", [str(i) for i in range(N)], "it is an identifier"),
        ("a", 1.8 * np.linspace(0, 1, N) + 32, "it says nearly the same as 'b'"),
        ("a", np.linspace(0, 1, N) + 1e-4 * RNG.normal(size=N), "it says nearly the same as 'b'"),
        ("a", -np.linspace(0, 1, N), "it says nearly the same as 'b'"),
        ("a", ["u" if i % 3 else "v" for i in range(N)], "it says nearly the same as 'c'"),
    ],
)
def test_column_that_says_nothing_is_left_out(name, values, why):
    table = {"b": np.linspace(0, 1, N), "c": ["y" if i % 3 == 0 else "n" for i in range(N)]}
    frame = pd.DataFrame(table | {name: values})
    columns = Columns.of(frame)
    assert [one.name for one in columns.left_out] == [name]
    assert columns.left_out[0].why.startswith(why)
    assert columns.matrix(frame).shape == (N, 2)


@pytest.mark.parametrize(
    ("name", "values"),
    [("a", range(N)), ("grid", range(N)), ("id", RNG.normal(size=N)), ("id", [1, 2] * (N // 2))],
)
def test_numbers_that_may_say_something_stay(name, values):
    frame = pd.DataFrame({"b": RNG.normal(size=N), name: values})
    assert not Columns.of(frame).left_out


@pytest.mark.parametrize(
    "other",
    [
        np.r_[RNG.normal(size=N - 1), 1e6],  # only a value far off is common to both
        np.linspace(0, 1, N) ** 1.1,
        np.where(np.arange(N) == 7, np.nan, np.linspace(0, 1, N)),
    ],
    ids=["extreme", "bent", "gap"],
)
def test_numbers_that_differ_in_their_bulk_stay(other):
    line = np.linspace(0, 1, N)
    first = np.r_[RNG.normal(size=N - 1), 1e6] if np.nanmax(other) > 1 else line
    columns = Columns.of(pd.DataFrame({"a": first, "b": other}))
    assert not columns.left_out


def test_repeats_are_found_among_many_columns():
    frame = pd.DataFrame(RNG.normal(size=(100, 300)), columns=[f"x{i}" for i in range(300)])
    sparse = np.zeros(100)
    sparse[3] = 1
    frame = frame.assign(a=3 - 2 * frame["x17"], b=sparse, c=frame["x5"], d=-sparse)
    left = {one.name: one.why for one in Columns.of(frame).left_out}
    assert left == {
        "a": "it says nearly the same as 'x17'",
        "c": "it says nearly the same as 'x5'",
        "d": "it says nearly the same as 'b'",
    }


def test_what_is_to_be_kept_is_kept():
    frame = pd.DataFrame({"id": range(N), "still": 1, "x": range(N), "y": np.arange(N) * 2.0})
    columns = Columns.of(frame, ColumnsAsked(keep=("id", "still", "y")))
    assert [column.name for column in columns.columns] == ["id", "still", "y"]
    assert [one.name for one in columns.left_out] == ["x"]


def test_rare_levels_share_an_input():
    cells = ["a"] * 300 + ["b"] * 190 + ["c"] * 5 + ["d"] * 3 + ["e"] * 2
    column, _ = only(cells)
    assert (column.levels, column.rare) == (("a", "b", "c"), ("d", "e"))
    assert column.described == "5 levels, 2 rare ones together"
    few, _ = only([*cells[:495], "d"])  # a single rare level has nothing to share with
    assert few.rare == ()


def test_kinds_do_not_depend_on_the_order_of_rows():
    frame = pd.DataFrame(
        {
            "g": [f"g{i % 37}" for i in range(200)],
            "t": [" ".join(RNG.choice(["red", "blue", "car", "bus"], 4)) for _ in range(200)],
            "d": pd.date_range("2020-01-01", periods=200).strftime("%d.%m.%Y"),
        }
    )
    shuffled = frame.sample(frac=1, random_state=0)
    assert Columns.of(frame) == Columns.of(shuffled)
