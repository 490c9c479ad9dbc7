"""Texts that a spreadsheet would run: written harmless, read as they were."""

import csv
import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pmcnet import data
from pmcnet.data.csv_injection import (
    guarded,
    guarded_column,
    guarded_csv,
    has_carriage_return,
    unguarded,
)

ATTACKS = [
    "=1+1",
    "+cmd|' /C calc'!A0",
    "-2+3+cmd|'x'!A0",
    "@SUM(1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "=",
    "==",
    "-x",
    "+-1",
    "-1-1",
]
HARMLESS = [
    "",
    "-",
    "+",
    "=",
    "@",
    "-1",
    "+1.5e3",
    "-.5",
    "-inf",
    "1-2",
    "a=b",
    " =1",
    "'x",
    "''=1",
    "'-1",
    "é",
    "\t5",
]
TEXTS = st.text(alphabet="=+-@\t\r\n' \",;ab19.e", max_size=6)


@pytest.mark.parametrize("text", [text for text in ATTACKS if len(text) > 1])
def test_formula_is_guarded_and_comes_back(text):
    assert guarded(text) == f"'{text}"
    assert unguarded(guarded(text)) == text


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless_text_stays(text):
    assert guarded(text) == text


@given(TEXTS)
def test_guarding_is_undone_and_done_once(text):
    assert guarded(guarded(text)) == guarded(text)
    assert guarded(unguarded(text)) in (text, guarded(text))
    if not text.startswith("'"):
        assert unguarded(guarded(text)) == text


@given(st.lists(st.lists(TEXTS, min_size=3, max_size=3), min_size=1, max_size=4))
def test_text_of_a_file_is_guarded_cell_by_cell(rows):
    written = pd.DataFrame(rows[1:], columns=rows[0], dtype=object).to_csv(
        index=False, lineterminator="\n"
    )
    found = list(csv.reader(io.StringIO(guarded_csv(written), newline="")))
    assert found == [[guarded(cell) for cell in row] for row in rows]


def test_numbers_of_a_file_stay_as_they_are():
    text = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 4))).to_csv(
        index=False, lineterminator="\n"
    )
    assert guarded_csv(text) == text


@given(st.lists(TEXTS | st.none() | st.floats(allow_nan=False), min_size=1, max_size=5))
def test_column_is_guarded_cell_by_cell(cells):
    values = np.empty(len(cells), dtype=object)
    values[:] = cells
    assert guarded_column(values).tolist() == [
        guarded(cell) if isinstance(cell, str) else cell for cell in cells
    ]
    assert has_carriage_return(values) == any(
        isinstance(cell, str) and "\r" in cell for cell in cells
    )


@pytest.mark.parametrize(
    "text", ["-e5", "-.", "+.5.", "-1e", "-1,5", "+1 ", "-0x10", "-1_0", "--1"]
)
def test_text_that_is_almost_a_number_is_guarded(text):
    assert guarded_column(np.array([text, "1"], dtype=object)).tolist() == [guarded(text), "1"]


def test_column_of_numbers_is_not_copied():
    values = np.array([-1.5, 2.0])
    assert guarded_column(values) is values
    assert guarded_column(np.array(["=1", "b"])).tolist() == ["'=1", "b"]
    assert guarded_column(np.array(["=1", None, -2.5], dtype=object)).tolist() == [
        "'=1",
        None,
        -2.5,
    ]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text(alphabet="=+-@ab'", min_size=1, max_size=4), min_size=2, max_size=5))
def test_guarded_table_is_read_as_it_was(tmp_path_factory, cells):
    texts = [*cells, "some word"]
    path = tmp_path_factory.mktemp("table") / "rows.csv"
    path.write_text(
        guarded_csv(pd.DataFrame({"=x": texts}).to_csv(index=False, lineterminator="\n"))
    )
    expected = [unguarded(guarded(text)) for text in texts]
    assert data.read_frame(path)["=x"].tolist() == expected
    (chunk,) = data.frame_chunks(path, columns={"=x": "text"})
    assert chunk["=x"].tolist() == expected
    (raw,) = data.frame_chunks(path)
    assert raw["=x"].tolist() == [guarded(text) for text in texts]
