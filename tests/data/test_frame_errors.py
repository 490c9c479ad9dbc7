import builtins
import gzip
import io
import re
from pathlib import Path

import pandas as pd
import pytest

from pmcnet import data
from pmcnet.errors import InputError


def refused(source, message: str, **options) -> None:
    """Both ways of reading refuse it, in these words."""
    with pytest.raises(InputError, match=message):
        data.read_frame(source, options.get("asked", data.ReadOptions()))
    with pytest.raises(InputError, match=message):
        list(data.frame_chunks(source, **options))


@pytest.fixture
def rows(tmp_path):
    """A file with that content, by its name."""

    def write(content: str | bytes, name: str = "rows.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def parquet(frame: pd.DataFrame) -> bytes:
    pytest.importorskip("pyarrow")
    file = io.BytesIO()
    frame.to_parquet(file, index=False)
    return file.getvalue()


def test_missing_file_says_where_it_looked(tmp_path):
    refused(tmp_path / "no.csv", rf"no file .*no\.csv.*looked in {re.escape(str(tmp_path))}")


def test_missing_name_lists_the_built_in_datasets():
    refused("iris", "no file 'iris'.*built-in dataset.*glass, wine")


def test_folder_asks_for_a_file_in_it(tmp_path):
    refused(tmp_path, r"is a folder.*one file in it")


def test_source_of_another_type_is_named():
    refused(3, "path or a built-in dataset's name; got int")


@pytest.mark.parametrize(
    ("name", "suffix"), [("rows.xls", ".xls"), ("rows", "no suffix"), ("rows.gz", ".gz")]
)
def test_unknown_suffix_lists_the_known_ones(rows, name, suffix):
    refused(
        rows("a,b\n1,2\n", name),
        rf"\.csv, \.csv\.gz, .*\.xlsx, .*\.parquet, .*\.jsonl.*; got {re.escape(suffix)}",
    )


def test_forbidden_file_says_how_to_allow_it(rows, monkeypatch):
    def forbid(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    path = rows("a,b\n1,2\n")
    monkeypatch.setattr(Path, "open", forbid)
    refused(path, r"may not be read by you.*chmod u\+r")


def test_failing_disk_is_named(rows, monkeypatch):
    def fail(*args, **kwargs):
        raise OSError(5, "Input/output error")

    path = rows("a,b\n1,2\n")
    monkeypatch.setattr(Path, "open", fail)
    refused(path, "cannot be read: Input/output error")


@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv", "rows.parquet"])
def test_empty_file_says_what_a_table_needs(rows, name):
    refused(rows("", name), r"is empty.*header line and at least one row")


@pytest.mark.parametrize("content", [b"\n\n", b"\xef\xbb\xbf", b"  \r\n"])
def test_blank_file_is_empty(rows, content):
    refused(rows(content), "is empty")


def test_blank_gzip_is_empty(rows):
    refused(rows(gzip.compress(b""), "rows.csv.gz"), "is empty")


@pytest.mark.parametrize("content", ["a,b", "a,b\n", "a,b\r\n\r\n"])
def test_header_only_asks_for_a_row(rows, content):
    refused(rows(content), "no rows. Add at least one row")


def test_parquet_without_rows_asks_for_one(rows):
    refused(
        rows(parquet(pd.DataFrame({"a": [1.0]})[:0]), "rows.parquet"),
        "no rows. Add at least one row",
    )


@pytest.mark.parametrize("header", ["a,b,a", "a,b, a", '"a",b,a '])
def test_repeated_column_name_gives_both_positions(rows, header):
    refused(rows(f"{header}\n1,2,3\n"), r"'a' more than once \(columns 1 and 3\).*Rename or drop")


@pytest.mark.parametrize(("header", "position"), [(",a", 1), ("a,", 2), ("a,  ", 2)])
def test_column_without_a_name_gives_its_position(rows, header, position):
    refused(rows(f"{header}\n1,2\n"), rf"column {position} of .* has no name.*index=False")


@pytest.mark.parametrize(
    ("content", "delimiter", "advice"),
    [
        ("a;b\n1,5;2,5\n", ",", r"'a;b' where ',' separates.*look separated by semicolons"),
        ("a|b\n1|2\n", ";", r"look separated by vertical bars.*ask for '\|'"),
        ("a\tb\n1\t2\n", ",", "look separated by tabs. Leave the delimiter out"),
        ("a,b\n1,2\n", "tab", "look separated by commas"),
    ],
)
def test_wrong_delimiter_is_recognised(rows, content, delimiter, advice):
    refused(rows(content), advice, asked=data.ReadOptions(delimiter=delimiter))


@pytest.mark.parametrize("n_rows", [1, 2, 50])
@pytest.mark.parametrize("row", [1, 2, 3, 4])
@pytest.mark.parametrize("line", ["1,2,3", "1,2,3,4"])
def test_row_with_too_many_fields_is_numbered(rows, line, row, n_rows):
    lines = ["1,2"] * 4
    lines[row - 1] = line
    message = rf"row {row} of .*more fields than the header has names.*quotes"
    refused(rows("\n".join(["a,b", *lines])), message, n_rows=n_rows)


@pytest.mark.parametrize("row", [1, 2])
def test_row_with_fields_behind_an_empty_one_is_refused(rows, row):
    lines = ["1,2", "1,2"]
    lines[row - 1] = "1,2,,4"
    refused(rows("\n".join(["a,b", *lines])), rf"row {row} of .*more fields")


def test_quote_left_open_is_numbered(rows):
    refused(rows('a,b\n1,2\n3,"4\n5,6\n'), "quote opened in row 2 .*never closed")


def test_quote_left_open_in_the_header_is_refused(rows):
    refused(rows('"a,b\n' + "1,2\n" * 50_000), "first lines of .*quote left open")


@pytest.mark.parametrize("n_before", [0, 400_000])
def test_bytes_outside_utf8_are_located(rows, n_before):
    head = b"a,b\n" + b"1,x\n" * n_before + b"2,"
    path = rows(head + "Zürich\n".encode("latin-1") + b"1,y\n" * 20)
    refused(
        path,
        rf"not UTF-8 at byte {len(head) + 2} \(line {n_before + 2}\).*--encoding latin-1",
    )


def test_character_cut_at_the_end_is_located(rows):
    content = "a,b\n1,ü".encode()[:-1]
    refused(rows(content), rf"not UTF-8 at byte {len(content)} \(line 2\)")


def test_characters_across_blocks_are_whole(rows):
    chunk = next(data.frame_chunks(rows("a,b\n1,x\n2," + "ü€𝄞" * 500_000 + "\n")))
    assert chunk["b"][1] == "ü€𝄞" * 500_000


def test_nul_byte_is_located(rows):
    refused(rows(b"a,b\n1,2\n3,\x004\n"), r"NUL byte at byte 11 \(line 3\)")


@pytest.mark.parametrize(
    ("content", "advice"),
    [
        (gzip.compress(gzip.compress(b"a,b\n1,2\n")), "is compressed twice"),
        (b"PK\x03\x04rest", "not whole as a zip file"),
        (b"SQLite format 3\0rest", "sqlite:///.*--sql"),
        (b"ARROW1rest", r"Feather file. Rename it to end in \.feather"),
        (b"PAR1rest", r"Parquet file. Rename it to end in \.parquet"),
    ],
    ids=["gzip in gzip", "zip", "SQLite", "Arrow", "Parquet"],
)
def test_other_formats_are_recognised(rows, content, advice):
    refused(rows(content), advice)


@pytest.mark.parametrize("damage", ["cut", "flipped", "plain"])
def test_damaged_gzip_says_so(rows, damage):
    whole = gzip.compress(b"a,b\n" + b"1,2\n" * 1000)
    content = {
        "cut": whole[:-10],
        "flipped": whole[:20] + b"\xff" * 9 + whole[29:],
        "plain": b"a,b\n1,2\n",
    }[damage]
    refused(rows(content, "rows.csv.gz"), "not whole as a gzip file.*again")


@pytest.mark.parametrize("damage", ["cut", "text"])
def test_damaged_parquet_says_so(rows, damage):
    whole = parquet(pd.DataFrame({"a": [1.0, 2.0]}))
    refused(
        rows(whole[:-20] if damage == "cut" else b"a,b\n1,2\n", "rows.parquet"),
        "not whole as a Parquet file.*again",
    )


def test_parquet_damaged_within_says_so(rows):
    whole = bytearray(parquet(pd.DataFrame({"a": [str(i) for i in range(3000)]})))
    whole[4:400] = b"\xff" * 396
    refused(rows(bytes(whole), "rows.parquet"), "not whole as a Parquet file")


def test_damage_of_parquet_is_reported_without_control_characters(rows):
    """The reader's own messages quote bytes of the file, which a terminal would obey."""
    footer = b"\x1e" * 100  # fields of a type that does not exist
    path = rows(b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1", "rows.parquet")
    for read in (data.read_frame, data.frame_chunks):
        with pytest.raises(InputError, match="not whole as a Parquet file") as refusal:
            read(path)
        assert str(refusal.value).isprintable()


def test_parquet_without_pyarrow_names_the_extra(rows, monkeypatch):
    path = rows(parquet(pd.DataFrame({"a": [1.0]})), "rows.parquet")
    real = builtins.__import__

    def without_pyarrow(name, *args, **kwargs):
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_pyarrow)
    refused(path, r"pip install 'pmcnet\[parquet\]'")


def test_parquet_lists_are_refused(rows):
    refused(
        rows(parquet(pd.DataFrame({"a": [[1], [2]]})), "rows.parquet"), "column 'a' .*list.*drop it"
    )


@pytest.mark.parametrize("n_rows", [1, 2, 50])
def test_word_among_numbers_is_named_with_its_row(rows, n_rows):
    path = rows("a,b\n1,2\n3,4\n5,six\n7,eight\n")
    with pytest.raises(
        InputError, match=r"column 'b' of .*row 3 \(the header not counted\) holds 'six'"
    ):
        list(data.frame_chunks(path, n_rows, columns={"b": "number"}))


def test_word_among_numbers_is_shortened(rows):
    with pytest.raises(InputError, match=r"holds 'x{37}\.\.\.'"):
        list(data.frame_chunks(rows("a,b\n1," + "x" * 500 + "\n"), columns={"b": "number"}))


def test_word_among_numbers_of_parquet_is_named_with_its_row(rows):
    path = rows(parquet(pd.DataFrame({"a": ["1", "2", "x"]})), "rows.parquet")
    with pytest.raises(InputError, match=r"column 'a' .*row 3 .*holds 'x'"):
        list(data.frame_chunks(path, 2, columns={"a": "number"}))


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet"])
def test_asked_column_that_is_absent_is_named_at_once(rows, name):
    content = (
        parquet(pd.DataFrame({"a": [1], "b": [2]})) if name == "rows.parquet" else "a,b\n1,2\n"
    )
    with pytest.raises(InputError, match="no column 'c'; it has 'a', 'b'"):
        data.frame_chunks(rows(content, name), columns={"c": "number"})


def test_asked_column_absent_from_a_wide_table_lists_the_first_few(rows):
    names = [f"x{i}" for i in range(30)]
    with pytest.raises(InputError, match="'x9' and 20 more"):
        data.frame_chunks(
            rows(",".join(names) + "\n" + ",".join("1" * 30)), columns={"c": "number"}
        )


def test_asked_kind_is_number_or_text(rows):
    with pytest.raises(InputError, match="'number' or a 'text'; got 'date' for 'a'"):
        data.frame_chunks(rows("a,b\n1,2\n"), columns={"a": "date"})


@pytest.mark.parametrize("n_rows", [0, -1, 1.5, True])
def test_chunk_size_is_a_count(rows, n_rows):
    with pytest.raises(InputError, match="n_rows must be a whole number"):
        data.frame_chunks(rows("a,b\n1,2\n"), n_rows)
