"""How numbers are written: currencies, percent signs, units, separators, words for missing."""

import numpy as np
import pandas as pd
import pytest

from pmcnet.errors import InputError
from pmcnet.estimators.columns import Columns, ColumnsAsked
from pmcnet.estimators.columns.notation import Notation
from pmcnet.estimators.encoding import TableEncoder


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["€ 1.200", "€ 850", "€ 12.000"], [1200, 850, 12000]),
        (["€ 1.200,50", "€ 850,00", "-€ 3,10"], [1200.5, 850, -3.1]),
        (["€1.5", "€ 2.25", "€3"], [1.5, 2.25, 3]),
        (["$1,234.50", "$-20", "$1,000,000"], [1234.5, -20, 1e6]),
        (["1,234", "999", "12,000"], [1234, 999, 12000]),
        (["1,5", "2,25", "-3"], [1.5, 2.25, -3]),
        (["(1,234)", "999", "(5.5)"], [-1234, 999, -5.5]),
        (["1.234.567", "1.000", "2.500"], [1234567, 1000, 2500]),
        (["1 234,5", "12 000", "7"], [1234.5, 12000, 7]),
        (["1\u00a0234", "12\u202f000", "\u22127"], [1234, 12000, -7]),
        (["1'234.5", "12\u2019000", "7"], [1234.5, 12000, 7]),
        (["12%", "3.5 %", "-1 %"], [12, 3.5, -1]),
        (["1.125 %", "3.500 %", "2 %"], [1.125, 3.5, 2]),
        (["5 kg", "7.5kg", "1,000 kg"], [5, 7.5, 1000]),
        (["20 EUR", "1.200 EUR", "35 EUR"], [20, 1200, 35]),
    ],
)
def test_numbers_in_one_notation_are_numbers(cells, numbers):
    frame = pd.DataFrame({"a": cells})
    columns = Columns.of(frame)
    assert columns.columns[0].kind == "number"
    assert "numbers like" in columns.columns[0].why
    np.testing.assert_allclose(columns.matrix(frame)[:, 0], numbers)


@pytest.mark.parametrize(
    "cells",
    [
        ["€ 5", "$ 5", "€ 7"],
        ["5 kg", "5 g", "7 kg"],
        ["12%", "3", "4"],
        ["1,23,4", "5", "6"],
        ["<18", "18-65", ">65"],
        ["room 5", "room 7", "room 8"],
        ["B-17", "B-18", "B-19"],
        ["1-2", "3-4", "5-6"],
        ["1_000", "2_000", "3_000"],
        ["\u0661\u0662", "\u0663\u0664", "\u0665"],
    ],
)
def test_cells_in_several_notations_are_no_numbers(cells):
    assert Notation.of(cells) is None
    assert Columns.of(pd.DataFrame({"a": cells})).columns[0].kind == "category"


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["<0.006", "0.006", "0.02", "> 9"], [0.006, 0.006, 0.02, 9]),
        (["\u22641,5 mg", "2,5 mg", "10 mg"], [1.5, 2.5, 10]),
    ],
)
def test_bounds_count_as_the_number(cells, numbers):
    frame = pd.DataFrame({"a": cells})
    columns = Columns.of(frame)
    assert "that are bounds and count as the number" in columns.columns[0].why
    assert columns.matrix(frame)[:, 0].tolist() == numbers


def test_bounds_that_differ_in_their_side_alone_are_levels():
    frame = pd.DataFrame({"a": ["<50", ">50", "<20", ">20"]})
    assert Columns.of(frame).columns[0].kind == "category"


def test_notation_reads_plain_cells_with_its_separators():
    notation = Notation.of(["€ 1.200", "€ 850"])
    assert notation.value("1.200") == 1200
    assert notation.value("€ 3,5") == 3.5
    assert notation.value("$ 3") is None
    assert notation.value("€ 1.20.0") is None


@pytest.mark.parametrize("word", ["-", "n/a", "N.A.", "?", "unknown", "#N/A", "\u2014", " "])
def test_words_for_missing_do_not_make_numbers_or_dates_levels(word):
    frame = pd.DataFrame(
        {
            "number": ["1.5", "2", "3", *[word] * 7],
            "price": ["€ 1", "€ 2", "€ 3.5", *[word] * 7],
            "date": ["31.12.2020", "01.02.2021", "05.03.2021", *[word] * 7],
            "level": ["a", "b", "c", *[word] * 7],
        }
    )
    columns = Columns.of(frame)
    kinds = [column.kind for column in columns.columns]
    assert kinds == ["number", "number", "date", "category"]
    assert np.isnan(columns.matrix(frame)[3:, :3]).all()
    assert not columns.unseen(columns.matrix(frame))


def test_blanks_around_cells_are_no_part_of_them():
    frame = pd.DataFrame({"level": [" a", "a ", "b", "  "], "number": [" 1", "2 ", "3\t", "4"]})
    columns = Columns.of(frame)
    assert [column.kind for column in columns.columns] == ["category", "number"]
    found = columns.matrix(frame)
    assert np.array_equal(found[:, 0], [0, 0, 1, np.nan], equal_nan=True)
    assert found[:, 1].tolist() == [1, 2, 3, 4]


def test_notation_is_kept_in_files_and_read_as_strings():
    frame = pd.DataFrame({"a": ["€ 1.200", "€ 850", "€ 99", "free"] * 5})
    columns = Columns.of(frame, ColumnsAsked(types={"a": "number"}))
    rows = columns.matrix(frame)
    encoder = TableEncoder.fit(columns, rows, np.ones(20), np.zeros((20, 1)), "columns")
    again = TableEncoder.from_state(encoder.state())
    assert again == encoder
    assert again.columns.columns[0].read_as == "text"
    assert np.array_equal(again.rows(frame), rows, equal_nan=True)
    assert np.isnan(rows[3, 0])


def test_infinity_among_strings_is_refused_with_its_row():
    with pytest.raises(InputError, match=r"'a' has an infinity \(inf\) in row 3"):
        Columns.of(pd.DataFrame({"a": ["1", "2", "-inf", "3"]}))
