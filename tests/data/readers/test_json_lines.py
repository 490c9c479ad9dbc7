"""JSON lines: the names of all objects, scalars only."""

import math

import pytest

from pmcnet import data
from pmcnet.data.readers import values
from pmcnet.errors import InputError


@pytest.fixture
def rows(tmp_path):
    def write(content: str, name: str = "rows.jsonl"):
        (tmp_path / name).write_text(content)
        return tmp_path / name

    return write


def test_columns_are_the_names_of_all_objects(rows):
    frame = data.read_frame(rows('{"b": 1}\n\n{"a": "x", "b": 2}\n{"c": true}\n', "r.ndjson"))
    assert list(frame.columns) == ["b", "a", "c"]
    assert frame["b"].tolist()[:2] == [1, 2]
    assert math.isnan(frame["b"][2])
    assert frame["a"].isna().tolist() == [True, False, True]
    assert frame["c"].tolist()[2] == 1.0


def test_whole_numbers_keep_their_digits_and_huge_ones_are_floats(rows):
    frame = data.read_frame(rows(f'{{"a": {2**62 + 1}, "b": {10**30}}}\n'))
    assert frame["a"].tolist() == [2**62 + 1]
    assert frame["b"].tolist() == [1e30]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"a": 1}\n{"a": \n', "line 2 of .* is no JSON"),
        ('{"a": NaN}\n', r"line 1 of .* is no JSON \(NaN is no number of JSON\)"),
        ('{"a": 1}\n[1]\n', r"line 2 of .* holds '\[1\]', which is no object"),
        ('{"a": [1]}\n', "column 'a' of .* holds list"),
        ('{"a": {"b": 1}}\n', "column 'a' of .* holds dict"),
        ('{"": 1}\n', "column 1 of .* has no name"),
        ("{}\n", "no rows"),
        ("\n\n", "no rows"),
        ('{"a": ' + "[" * 100_000 + "\n", "line 1 of .* is no JSON"),
    ],
)
def test_lines_that_are_no_rows_are_refused(rows, content, message):
    with pytest.raises(InputError, match=message):
        data.read_frame(rows(content))


def test_many_names_in_few_bytes_are_refused(rows, monkeypatch):
    monkeypatch.setattr(values, "_FEW_CELLS", 1000)
    content = "".join(f'{{"c{i}":1}}\n' for i in range(700))
    with pytest.raises(InputError, match=r"unpacks to .* cells"):
        data.read_frame(rows(content))


def test_column_that_is_absent_is_named_at_once(rows):
    with pytest.raises(InputError, match="no column 'c'; it has 'a'"):
        data.frame_chunks(rows('{"a": 1}\n'), columns={"c": "number"})
