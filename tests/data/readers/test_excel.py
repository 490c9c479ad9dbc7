"""Workbooks: stored values only, any sheet, and nothing that asks for much memory or runs."""

import builtins
import zipfile
from datetime import date, datetime, time, timedelta

import numpy as np
import pandas as pd
import pytest

from data.readers.workbooks import workbook
from pmcnet import data
from pmcnet.data import ReadOptions
from pmcnet.errors import InputError


@pytest.fixture
def path(tmp_path):
    return tmp_path / "rows.xlsx"


def columns(path, **asked: str) -> dict:
    return data.read_frame(path, ReadOptions(**asked)).to_dict("list")


def test_cells_are_what_they_would_be_in_text(path):
    rows = [
        ("n", "x", "flag", "text", "mixed", "numbers"),
        (1, 1.5, True, "a", 1, "1"),
        (2, 2, False, "NA", "b", "2.5"),
    ]
    found = columns(workbook(path, rows))
    assert found["n"] == [1, 2]
    assert found["x"] == [1.5, 2.0]
    assert found["flag"] == [True, False]
    assert found["text"][0] == "a"
    assert found["mixed"] == ["1", "b"]
    assert found["numbers"] == [1.0, 2.5]
    assert pd.isna(found["text"][1])  # missing


def test_times_become_strings(path):
    rows = [
        ("day", "moment", "clock", "span"),
        (date(2024, 5, 31), datetime(2024, 5, 31, 12, 30), time(9, 15), timedelta(hours=26)),
    ]
    assert columns(workbook(path, rows)) == {
        "day": ["2024-05-31"],
        "moment": ["2024-05-31 12:30:00"],
        "clock": ["09:15:00"],
        "span": ["1 days 02:00:00"],
    }


def test_table_may_begin_anywhere_and_have_blank_rows(path):
    rows = [(), (None, None), (None, "a", "b"), (None, 1, 2), (), (None, None, 4), (None, None)]
    found = columns(workbook(path, rows))
    np.testing.assert_array_equal(found["a"], [1, np.nan])
    assert found["b"] == [2, 4]


@pytest.mark.parametrize(("asked", "value"), [("", 1), ("1", 1), ("2", 2), ("Sheet2", 2)])
def test_sheet_is_chosen_by_name_or_number(path, asked, value):
    workbook(path, [("a",), (1,)], [("a",), (2,)])
    assert columns(path, sheet=asked) == {"a": [value]}


@pytest.mark.parametrize("asked", ["0", "3", "Sheet3", "-1"])
def test_unknown_sheet_lists_the_names(path, asked):
    workbook(path, [("a",), (1,)], [("a",), (2,)])
    with pytest.raises(InputError, match=f"no sheet '{asked}'; it has 'Sheet1', 'Sheet2'.*1 to 2"):
        columns(path, sheet=asked)


def test_stored_value_of_a_formula_is_taken(path):
    replace = {"<f>1+1</f><v></v>": "<f>1+1</f><v>7</v>", "<f>1+1</f><v />": "<f>1+1</f><v>7</v>"}
    assert columns(workbook(path, [("a",), ("=1+1",)], replace=replace)) == {"a": [7]}


def test_formula_without_a_stored_value_is_missing(path):
    found = columns(workbook(path, [("a", "b"), (1, 1), ("=1+1", 2)]))
    np.testing.assert_array_equal(found["a"], [1, np.nan])


def test_column_of_formulas_without_values_is_refused(path):
    workbook(path, [("a", "sum"), (1, "=A2+1"), (2, "=A3+1")])
    with pytest.raises(InputError, match=r"'sum' of .* never stored.*not evaluated.*save it"):
        columns(path)


def test_error_values_are_missing(path):
    found = columns(workbook(path, [("a",), ("#N/A",), (1,), ("#DIV/0!",)]))
    np.testing.assert_array_equal(found["a"], [np.nan, 1, np.nan])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "is empty"),
        ([("a", "b")], "no rows"),
        ([("a", None, "b"), (1, 2, 3)], "column 2 of .* has no name"),
        ([("a", "a"), (1, 2)], "'a' more than once"),
        ([("a",), (1, 2)], "row 1 of .*cell beside the named columns"),
    ],
)
def test_sheets_that_are_no_tables_are_refused(path, rows, message):
    with pytest.raises(InputError, match=message):
        columns(workbook(path, rows))


def test_word_among_numbers_is_named_with_its_row(path):
    workbook(path, [("a",), (1,), ("x",)])
    with pytest.raises(InputError, match=r"'a' of .*row 2 .*holds 'x'"):
        list(data.frame_chunks(path, 1, columns={"a": "number"}))


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("<sheetData>", '<!DOCTYPE x [<!ENTITY y "z">]><sheetData>', "defines entities"),
        ('r="A2"', 'r="XFD2"', "beyond 15000 columns"),
        ('row r="2"', 'row r="99999999999"', "1048576 rows"),
        ("<v>1</v>", "<v>1", "not whole as an Excel workbook"),
    ],
)
def test_traps_are_refused(path, before, after, message):
    with pytest.raises(InputError, match=message):
        columns(workbook(path, [("a",), (1,)], replace={before: after}))


def test_workbook_that_unpacks_to_gigabytes_is_refused(path):
    workbook(path, [("a",), (1,)])
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("xl/media/image1.png", bytes(1 << 27))
    with pytest.raises(InputError, match="unpacks to more than 100 times"):
        columns(path)


def test_workbook_called_otherwise_is_recognised(tmp_path):
    workbook(tmp_path / "rows.csv", [("a",), (1,)])
    with pytest.raises(InputError, match=r"is an Excel workbook. Rename it to end in \.xlsx"):
        data.read_frame(tmp_path / "rows.csv")


def test_missing_openpyxl_names_the_extra(path, monkeypatch):
    workbook(path, [("a",), (1,)])
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("openpyxl"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InputError, match=r"pip install 'pmcnet\[excel\]'"):
        data.read_frame(path)
