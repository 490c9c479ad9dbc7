"""The same table gives the same frame and the same inputs, however it is written."""

import io
import sys

import numpy as np
import pandas as pd
import pytest

from data.readers.same_table import QUERY, WAYS, database, table
from pmcnet import data
from pmcnet.data import ReadOptions
from pmcnet.estimators.columns import Columns


def check_same(opened: data.TableFile) -> None:
    frame, expected = opened.frame(), data_frame()
    pd.testing.assert_frame_equal(frame, expected, check_exact=True)
    kinds = data.column_kinds(frame)
    columns = Columns.of(expected)
    rows = columns.matrix(expected)
    for pieces in (
        opened.chunks(kinds, 7),
        (typed for _, typed in opened.pairs(kinds, 7)),
    ):
        np.testing.assert_array_equal(columns.matrix(pd.concat(pieces)), rows)


def data_frame() -> pd.DataFrame:
    """The table as pandas has it, strings as in its version."""
    return pd.read_csv(io.StringIO(table().to_csv(index=False)))


@pytest.mark.parametrize("name", WAYS)
def test_file_gives_the_same_rows(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(WAYS[name](table()))
    check_same(data.open_table(path))


@pytest.mark.parametrize("name", WAYS)
def test_standard_input_gives_the_same_rows(monkeypatch, name):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(WAYS[name](table()))))
    check_same(data.open_table("-"))
    assert len(data.read_frame("-")) == 40  # it may be read again


def test_query_gives_the_same_rows(tmp_path):
    url = database(table(), tmp_path / "rows.db")
    check_same(data.open_table(url, ReadOptions(sql=QUERY)))


@pytest.mark.parametrize(
    ("name", "understood"),
    [
        ("commas.csv", ("delimiter ','",)),
        ("decimal.csv", ("delimiter ';'", "decimal comma")),
        ("wide.csv", ("delimiter ';'", "decimal comma", "UTF-16-LE")),
        ("rows.csv.bz2", ("delimiter ';'", "decimal comma", "bzip2")),
        ("rows.zip", ("delimiter ','", "zip")),
        ("rows.xlsx", ("sheet 'Sheet1'",)),
        ("rows.jsonl", ("JSON lines",)),
        ("rows.parquet", ()),
    ],
)
def test_what_was_understood_is_said(tmp_path, name, understood):
    path = tmp_path / name
    path.write_bytes(WAYS[name](table()))
    opened = data.open_table(path)
    assert opened.understood == understood
    said = "; ".join(filter(None, ("read 40 rows, 5 columns", ", ".join(understood))))
    assert opened.described(opened.frame()) == said
