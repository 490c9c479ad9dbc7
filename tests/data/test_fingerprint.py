import numpy as np
import pandas as pd
import pytest

from pmcnet import data


def table() -> pd.DataFrame:
    return pd.DataFrame(
        {"x": [1.0, 2.0, np.nan], "n": [1, 2, 3], "b": [True, False, True], "s": ["a", None, "ü"]}
    )


def test_fingerprint_is_the_same_everywhere():
    expected = "cdfa4fe7219c6a17a77c4410ec2b1eddd8321e5bc4eba48fb87497d3eb1cb93e"
    assert data.fingerprint(table()) == expected


def test_fingerprint_ignores_the_index():
    assert data.fingerprint(table().set_index(pd.Index([7, 8, 9]))) == data.fingerprint(table())


@pytest.mark.parametrize(
    ("column", "value"), [("x", 1.0000000000000002), ("n", 4), ("b", False), ("s", "b")]
)
def test_fingerprint_changes_with_a_cell(column, value):
    changed = table()
    changed.loc[0, column] = value
    assert data.fingerprint(changed) != data.fingerprint(table())


@pytest.mark.parametrize(("column", "value"), [("x", np.nan), ("s", None)])
def test_fingerprint_changes_with_a_missing_cell(column, value):
    changed = table()
    changed.loc[0, column] = value
    assert data.fingerprint(changed) != data.fingerprint(table())


@pytest.mark.parametrize(
    "change",
    [
        lambda frame: frame[["n", "x", "b", "s"]],
        lambda frame: frame.rename(columns={"x": "y"}),
        lambda frame: frame.iloc[::-1],
        lambda frame: frame.iloc[:2],
        lambda frame: frame.drop(columns="b"),
        lambda frame: frame.astype({"n": float}),
        lambda frame: frame.astype({"n": "int32"}),
        lambda frame: frame.astype({"n": str}),
        lambda frame: frame.astype({"s": "category"}),
    ],
    ids=[
        "column order",
        "name",
        "row order",
        "rows",
        "columns",
        "type",
        "width",
        "text",
        "category",
    ],
)
def test_fingerprint_changes_with(change):
    assert data.fingerprint(change(table())) != data.fingerprint(table())


def test_fingerprint_tells_missing_from_empty_text():
    assert data.fingerprint(pd.DataFrame({"s": ["a", None]})) != data.fingerprint(
        pd.DataFrame({"s": ["a", ""]})
    )


def test_fingerprint_tells_where_text_is_cut():
    assert data.fingerprint(pd.DataFrame({"s": ["ab", "c"]})) != data.fingerprint(
        pd.DataFrame({"s": ["a", "bc"]})
    )


def test_fingerprint_tells_a_number_from_its_text():
    one, text = (pd.DataFrame({"s": pd.Series([value, "x"], dtype=object)}) for value in (1, "1"))
    assert data.fingerprint(one) != data.fingerprint(text)


def test_fingerprint_does_not_depend_on_how_text_is_stored():
    stored = [
        pd.DataFrame({"s": pd.Series(["a", None], dtype=dtype)}) for dtype in (object, "string")
    ]
    assert data.fingerprint(stored[0]) == data.fingerprint(stored[1])


def test_fingerprint_does_not_depend_on_the_bits_of_nan():
    other = np.array([0x7FF8000000000001], np.uint64).view(np.float64)
    assert data.fingerprint(pd.DataFrame({"x": other})) == data.fingerprint(
        pd.DataFrame({"x": [np.nan]})
    )


def test_fingerprint_does_not_depend_on_the_unit_of_dates():
    dates = pd.to_datetime(pd.Series(["2020-01-01", None]))
    frames = [pd.DataFrame({"d": dates.astype(f"datetime64[{unit}]")}) for unit in ("ns", "us")]
    assert data.fingerprint(frames[0]) == data.fingerprint(frames[1])


def test_fingerprint_of_no_rows_and_no_columns_differ():
    assert data.fingerprint(pd.DataFrame()) != data.fingerprint(pd.DataFrame({"x": np.zeros(0)}))
