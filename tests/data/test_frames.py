import gzip
import io
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pmcnet import data
from pmcnet.data.readers.cells import MISSING_NUMBER, number

pq = pytest.importorskip("pyarrow.parquet")
pa = pytest.importorskip("pyarrow")


@pytest.fixture
def write(tmp_path):
    """A file with that content, by its name."""

    def write(content: str | bytes, name: str = "rows.csv"):
        path = tmp_path / name
        content = content.encode() if isinstance(content, str) else content
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path

    return write


def kinds_of(frame: pd.DataFrame) -> str:
    return "".join("n" if pd.api.types.is_numeric_dtype(dtype) else "t" for dtype in frame.dtypes)


def test_import_is_light():
    heavy = "{'pandas', 'pyarrow', 'scipy', 'sklearn', 'torch'}"
    code = f"import sys, pmcnet.data; sys.exit(bool({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("name", "delimiter"), [("r.csv", ","), ("r.CSV", ","), ("r.csv.gz", ","), ("r.tsv.gz", "\t")]
)
def test_read_frame_suffix_decides_the_format(write, name, delimiter):
    frame = data.read_frame(write("a,b\n1,x\n2,y\n".replace(",", delimiter), name))
    assert frame.to_dict("list") == {"a": [1, 2], "b": ["x", "y"]}


def test_read_frame_takes_the_path_as_a_string(write):
    assert data.read_frame(str(write("a,b\n1,2\n"))).shape == (1, 2)


@pytest.mark.parametrize(
    "name", ["ionosphere", "glass", "wine", "breast_cancer", "digits", "diabetes"]
)
def test_read_frame_built_in_is_that_of_load(name):
    frame, table = data.read_frame(name), data.load(name)
    assert tuple(frame.columns) == (*table.features, data.built_in_target(name))
    assert np.array_equal(frame.iloc[:, :-1].to_numpy(), table.x)
    target = frame[data.built_in_target(name)].tolist()
    assert target == ([table.classes[i] for i in table.y] if table.classes else table.y.tolist())


def test_built_in_target_avoids_the_features(monkeypatch):
    table = data.Table(
        "t", np.zeros((1, 2)), np.zeros(1), "regression", (), ("target", "target_"), "Made up."
    )
    monkeypatch.setattr("pmcnet.data.frames.load", lambda name: table)
    assert data.built_in_target("t") == "target__"


def test_read_frame_built_in_name_wins_over_a_file_without_suffix(write, monkeypatch):
    monkeypatch.chdir(write("a,b\n1,2\n", "glass").parent)
    assert len(data.read_frame("glass")) == 214


def test_read_frame_path_with_suffix_wins_over_a_built_in_name(write, monkeypatch):
    monkeypatch.chdir(write("a,b\n1,2\n", "glass.csv").parent)
    assert len(data.read_frame("glass.csv")) == 1


def test_read_frame_byte_order_mark_is_dropped(write):
    assert list(data.read_frame(write(b"\xef\xbb\xbfa,b\n1,2\n")).columns) == ["a", "b"]


def test_read_frame_byte_order_mark_before_a_quote_is_dropped(write):
    assert list(data.read_frame(write(b'\xef\xbb\xbf"a,a",b\n1,2\n')).columns) == ["a,a", "b"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_read_frame_takes_every_line_end(write, end):
    assert data.read_frame(write(end.join(["a,b", "1,x", "2,y", ""]))).to_dict("list") == {
        "a": [1, 2],
        "b": ["x", "y"],
    }


def test_read_frame_quoted_fields_hold_delimiters_quotes_and_lines(write):
    frame = data.read_frame(write('"a\nb",c\n"x,""y""\r\nz",1\n'))
    assert frame.to_dict("list") == {"a\nb": ['x,"y"\r\nz'], "c": [1]}


def test_read_frame_header_names_are_stripped(write):
    assert list(data.read_frame(write(" a , b\n1, 2\n")).columns) == ["a", "b"]


def test_read_frame_blank_lines_are_skipped(write):
    assert data.read_frame(write("\n\na,b\n\n1,2\n\n3,4\n\n"))["b"].tolist() == [2, 4]


def test_read_frame_column_may_have_any_name(write):
    assert data.read_frame(write("self,0\n?,x\n2,y\n"))["self"].tolist()[1] == 2


def test_read_frame_numbers_and_booleans_as_usual(write):
    frame = data.read_frame(write("i,f,b,s\n1,1.5,True,x\n2,2,false,y\n"))
    assert [str(dtype) for dtype in frame.dtypes[:3]] == ["int64", "float64", "bool"]


@pytest.mark.parametrize("word", sorted(set(MISSING_NUMBER)))
def test_read_frame_missing_number_is_nan(write, word):
    column = data.read_frame(write(f"a,b\n1,x\n{word},y\n3,z\n"))["a"]
    assert column.dtype == np.float64
    assert column.isna().tolist() == [False, True, False]


@pytest.mark.parametrize("word", [" NA", " ?", "? ", "  "])
def test_read_frame_missing_number_may_be_padded(write, word):
    assert data.read_frame(write(f"a,b\n1,x\n{word},y\n"))["a"].isna().tolist() == [False, True]


def test_read_frame_missing_string_is_missing(write):
    column = data.read_frame(write("a,b\nx,1\n,1\nNA,1\nNone,1\nnull,1\n"))["a"]
    assert column.isna().tolist() == [False, True, True, True, True]


@pytest.mark.parametrize("cells", [["x", "?"], ["?", "?"]])
def test_read_frame_question_mark_among_strings_is_a_string(write, cells):
    assert (
        data.read_frame(write("a,b\n" + "".join(f"{cell},1\n" for cell in cells)))["a"].tolist()
        == cells
    )


def test_read_frame_mixed_column_stays_strings(write):
    assert data.read_frame(write("a,b\n1,1\n2.50,1\nx,1\n"))["a"].tolist() == ["1", "2.50", "x"]


def test_read_frame_mixed_column_with_gaps_stays_strings(write):
    assert data.read_frame(write("a,b\n1,1\n?,1\nx,1\n"))["a"].tolist() == ["1", "?", "x"]


def test_read_frame_booleans_with_gaps_are_numbers(write):
    np.testing.assert_array_equal(
        data.read_frame(write("a,b\nTrue,1\n,1\nFALSE,1\n"))["a"], [1.0, np.nan, 0.0]
    )


def test_read_frame_booleans_with_question_marks_are_numbers(write):
    np.testing.assert_array_equal(
        data.read_frame(write("a,b\nTrue,1\n?,1\nfalse,1\n"))["a"], [1.0, np.nan, 0.0]
    )


@pytest.mark.parametrize("gap", ["", "?,1\n"])
def test_read_frame_booleans_among_numbers_stay_strings(write, gap):
    assert data.read_frame(write(f"a,b\nTrue,1\n2,1\n{gap}"))["a"].tolist()[:2] == ["True", "2"]


def test_read_frame_huge_whole_numbers_are_numbers(write):
    assert data.read_frame(write(f"a,b\n{10**30},1\n1,1\n"))["a"].tolist() == [1e30, 1.0]


def test_read_frame_infinities_are_numbers(write):
    assert data.read_frame(write("a,b\ninf,1\n-inf,2\n"))["a"].tolist() == [np.inf, -np.inf]


def test_read_frame_all_missing_column_is_numbers(write):
    assert data.read_frame(write("a,b\n,1\nNA,2\n"))["a"].isna().all()


def test_read_frame_short_row_ends_in_missing_values(write):
    assert data.read_frame(write("a,b,c\n1,2,3\n4\n"))["c"].isna().tolist() == [False, True]


def test_read_frame_delimiter_at_the_end_of_rows_is_forgiven(write):
    assert data.read_frame(write("a,b\n1,x,\n2,y,\n")).to_dict("list") == {
        "a": [1, 2],
        "b": ["x", "y"],
    }


def test_read_frame_late_string_makes_the_whole_column_strings(write):
    lines = ["a,b"] + ["1,2"] * 300_000 + ["x,2"]
    assert set(data.read_frame(write("\n".join(lines)))["a"]) == {"1", "x"}


@pytest.mark.parametrize("word", ["1_000", "٣", "1,5", "0x1F", "x", "--1"])
def test_number_is_strict(word):
    assert number(word) is None


CELLS = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")) | st.sampled_from(',;"\n\t'),
    min_size=1,
    max_size=8,
)


@settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(
        st.tuples(st.floats(allow_nan=False), st.integers(-(2**63), 2**63 - 1), CELLS),
        min_size=1,
        max_size=20,
    )
)
def test_read_frame_gives_back_what_was_written(tmp_path, rows):
    frame = pd.DataFrame(rows, columns=["float", "whole", "text"])
    # a cell of digits only, or of spaces only, would be a number or missing
    frame["text"] = "t" + frame["text"]
    path = tmp_path / "rows.csv"
    frame.to_csv(path, index=False)
    again = data.read_frame(path)
    np.testing.assert_array_equal(again["float"].to_numpy(float), frame["float"].to_numpy(float))
    assert again["whole"].tolist() == frame["whole"].tolist()
    assert again["text"].tolist() == frame["text"].tolist()


TABLE = "id,x,flag,city\n" + "".join(
    f"{i:03d},{i / 7 if i % 5 else ''},{i % 2 == 0},{'NA' if i % 4 == 0 else 'Ulm'}\n"
    for i in range(23)
)


def parquet(frame: pd.DataFrame) -> bytes:
    file = io.BytesIO()
    frame.to_parquet(file, index=False, row_group_size=10)
    return file.getvalue()


@pytest.mark.parametrize("n_rows", [1, 4, 23, 100])
@pytest.mark.parametrize("name", ["rows.csv", "rows.csv.gz", "rows.parquet"])
def test_frame_chunks_together_are_the_whole(write, name, n_rows):
    path = write(TABLE)
    if name == "rows.parquet":
        path = write(parquet(data.read_frame(path)), name)
    whole = data.read_frame(path)
    chunks = list(data.frame_chunks(path, n_rows, columns=data.column_kinds(whole)))
    assert max(map(len, chunks)) <= n_rows
    assert len({tuple(map(str, chunk.dtypes)) for chunk in chunks}) == 1
    expected = whole.astype({"id": float, "x": float, "flag": float})
    pd.testing.assert_frame_equal(pd.concat(chunks), expected, check_index_type=False)


def test_frame_chunks_built_in_are_the_whole():
    whole = data.read_frame("wine")
    chunks = list(data.frame_chunks("wine", 50, columns=data.column_kinds(whole)))
    assert [len(chunk) for chunk in chunks] == [50, 50, 50, 28]
    pd.testing.assert_frame_equal(pd.concat(chunks), whole)


def test_frame_chunks_columns_not_asked_for_are_untouched(write):
    path = write(" id ,x,note\n007,1, NA\n1.50,2,\nNone,3,?\n")
    (chunk,) = data.frame_chunks(path, columns={"x": "number"})
    assert chunk["id"].tolist() == ["007", "1.50", "None"]
    assert chunk["note"].tolist() == [" NA", "", "?"]


def test_frame_chunks_by_default_leave_everything_untouched(write):
    (chunk,) = data.frame_chunks(write("a,b\n01,NA\n"))
    assert chunk.to_dict("list") == {"a": ["01"], "b": ["NA"]}


def test_frame_chunks_text_keeps_its_digits(write):
    (chunk,) = data.frame_chunks(write("a,b\n01,1\nNA,1\n"), columns={"a": "text"})
    assert chunk["a"].isna().tolist() == [False, True]
    assert chunk["a"].tolist()[0] == "01"


def test_frame_chunks_numbers_are_float64_whatever_a_chunk_holds(write):
    chunks = list(
        data.frame_chunks(
            write("a,b\n1,1\n1.5,1\n,1\n?,1\nTrue,1\n NA,1\n"), 1, columns={"a": "number"}
        )
    )
    assert {chunk["a"].dtype for chunk in chunks} == {np.dtype(np.float64)}
    np.testing.assert_array_equal(pd.concat(chunks)["a"], [1, 1.5, np.nan, np.nan, 1, np.nan])


def test_frame_chunks_may_be_left_early(write):
    chunks = data.frame_chunks(write(TABLE), 5)
    assert len(next(chunks)) == 5
    chunks.close()


def test_frame_chunks_parquet_whole_numbers_with_gaps_stay_whole(write):
    table = pa.table({"a": pa.array([1, None, 2**60 + 1]), "b": [1.0, 2.0, 3.0]})
    file = io.BytesIO()
    pq.write_table(table, file)
    (chunk,) = data.frame_chunks(write(file.getvalue(), "rows.parquet"), columns={"b": "number"})
    assert chunk["a"].tolist() == [1, None, 2**60 + 1]


def test_frame_chunks_parquet_text_is_parsed_where_numbers_are_asked_for(write):
    path = write(parquet(pd.DataFrame({"a": ["1", "?", "2.5"]})), "rows.parquet")
    (chunk,) = data.frame_chunks(path, columns={"a": "number"})
    np.testing.assert_array_equal(chunk["a"], [1, np.nan, 2.5])


def test_frame_chunks_parquet_numbers_become_text_where_asked_for(write):
    path = write(parquet(pd.DataFrame({"a": [1, 2]})), "rows.parquet")
    (chunk,) = data.frame_chunks(path, columns={"a": "text"})
    assert chunk["a"].tolist() == ["1", "2"]


def test_read_frame_parquet_leaves_out_an_unnamed_index(write):
    file = io.BytesIO()
    pd.DataFrame({"a": [1, 2]}, index=[5, 7]).to_parquet(file)
    assert data.read_frame(write(file.getvalue(), "rows.parquet")).to_dict("list") == {"a": [1, 2]}


def test_read_frame_parquet_keeps_a_named_index_as_a_column(write):
    file = io.BytesIO()
    pd.DataFrame({"a": [1, 2]}, index=pd.Index([5, 7], name="id")).to_parquet(file)
    assert data.read_frame(write(file.getvalue(), "rows.parquet"))["id"].tolist() == [5, 7]


def test_read_frame_parquet_categories_decimals_and_gaps_are_plain(write):
    table = pa.table(
        {
            "c": pa.array(["x", "y", None]).dictionary_encode(),
            "d": pa.array([1, 2, 3]).cast(pa.decimal128(21, 1)),
            "b": pa.array([True, None, False]),
        }
    )
    file = io.BytesIO()
    pq.write_table(table, file)
    frame = data.read_frame(write(file.getvalue(), "rows.parquet"))
    assert kinds_of(frame) == "tnn"
    np.testing.assert_array_equal(frame["b"], [1, np.nan, 0])


def test_column_kinds_are_number_and_text(write):
    frame = data.read_frame(write("i,f,b,s\n1,1.5,True,x\n2,2,False,y\n"))
    assert data.column_kinds(frame) == {"i": "number", "f": "number", "b": "number", "s": "text"}
