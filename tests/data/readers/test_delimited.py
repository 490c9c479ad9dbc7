"""Delimiter and decimal mark are found where the text shows them, and are said where asked for."""

import pandas as pd
import pytest

from pmcnet import data
from pmcnet.data import ReadOptions
from pmcnet.errors import InputError


@pytest.fixture
def opened(tmp_path):
    """The table in that text."""

    def opened(content: str | bytes, name: str = "rows.csv", **asked: str) -> data.TableFile:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return data.open_table(path, ReadOptions(**asked))

    return opened


@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv", "rows.txt"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiter_is_found_whatever_the_suffix(opened, name, delimiter):
    table = opened("a,b,c\n1,x,2\n3,y,4\n".replace(",", delimiter), name)
    assert table.delimiter == delimiter
    assert table.frame().to_dict("list") == {"a": [1, 3], "b": ["x", "y"], "c": [2, 4]}


@pytest.mark.parametrize(
    ("content", "delimiter"),
    [
        ("Size, cm;Weight, kg;Name\n1,5;2,5;x\n1,7;3,5;y\n", ";"),  # as many fields by commas
        ("name, first\tage\nDoe, J\t3\nRoe, P\t4\n", "\t"),
        ("a,b;c,d\n1,x;y,2\n3,z;w,4\n", ","),
        ('"a;b",c\n"x;y",1\n', ","),
        ('"a;b"\n"x;y"\n', ","),
        ("a\n1\n2\n", ","),
        ("a;b\n1,2;3\n4,5\n", ";"),  # a row that is too short
    ],
)
def test_delimiter_is_that_of_the_header_and_the_numbers(opened, content, delimiter):
    assert opened(content).delimiter == delimiter


def test_delimiter_may_be_any_character(opened):
    assert opened("a:b\n1:2\n", delimiter=":").frame().to_dict("list") == {"a": [1], "b": [2]}
    with pytest.raises(InputError, match=r"delimiter must be one character.*got 'ab'"):
        opened("a,b\n1,2\n", delimiter="ab")


@pytest.mark.parametrize(
    "cells",
    [
        ["1,5", "2"],
        ["0,25", "1,234"],
        ["-1,5e3", ""],
        [",5", "?"],
        ["1,2345", "NA"],
    ],
)
def test_decimal_commas_are_found(opened, cells):
    table = opened("a;b\n" + "".join(f"{cell};7\n" for cell in cells))
    assert table.decimal == ","
    pointed = opened("a;b\n" + "".join(f"{c.replace(',', '.')};7\n" for c in cells), "p.csv")
    assert pointed.decimal == "."
    pd.testing.assert_frame_equal(table.frame(), pointed.frame())


@pytest.mark.parametrize(
    ("content", "remark"),
    [
        ("a;b\n1,234;2\n5,678;3\n", True),  # may be thousands
        ("a;b\n1,5;2.5\n3,5;4.5\n", True),  # points elsewhere
        ("a;b\n1.234,5;x\n2.345,5;y\n", False),  # points between thousands
        ("a;b\n1,5;x\n2,5,6;y\n", False),  # not the whole column
        ('a,b\n"1,5",2\n"2,5",3\n', False),  # may be lists
    ],
)
def test_decimal_comma_is_not_guessed_where_it_is_not_clear(opened, content, remark):
    table = opened(content)
    assert table.decimal == "."
    assert pd.api.types.is_string_dtype(table.frame()["a"].dtype)
    found = "commas in the numbers of 'a', read column by column" in table.understood
    assert found == remark


def test_decimal_comma_is_found_in_the_last_of_many_rows(opened):
    assert opened("a;b\n" + "1;x\n" * 60_000 + "1,5;x\n").frame()["a"].iloc[-1] == 1.5


@pytest.mark.parametrize(
    ("content", "number"),
    [('a,b\n"1,5",2\n', 1.5), ("a;b\n1,234;2\n", 1.234), ("a;b\n1,234;2.5,6\n", 1.234)],
)
def test_asked_decimal_comma_is_taken(opened, content, number):
    table = opened(content, decimal=",")
    assert table.frame()["a"].tolist() == [number]
    (chunk,) = table.chunks({"a": "number"}, 10)
    assert chunk["a"].tolist() == [number]


def test_points_between_thousands_are_refused_under_a_decimal_comma(opened):
    with pytest.raises(InputError, match=r"'a' .*holds '1\.234'.*without points between thousands"):
        opened("a;b\n1.234;1,5\n2.345;2,5\n", decimal=",").frame()


def test_words_among_decimal_commas_keep_their_numbers_pointed(opened):
    table = opened("a;b;c\n1,5;low;0,5\n2,5;1,5;1,5\n")
    assert table.frame()["b"].tolist() == ["low", "1.5"]
    (chunk,) = table.chunks({"b": "text"}, 10)
    assert chunk["b"].tolist() == ["low", "1.5"]


def test_comma_where_a_point_is_expected_names_the_option(opened):
    table = opened("a;b\n1,234;2\n")
    with pytest.raises(InputError, match=r"holds '1,234'.*--decimal ,"):
        list(table.chunks({"a": "number"}, 10))


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16-le", "utf-16-be"])
def test_asked_encoding_is_taken(opened, encoding):
    table = opened("Größe;Ort\n1,5;Zürich\n".encode(encoding), encoding=encoding)
    assert table.frame().to_dict("list") == {"Größe": [1.5], "Ort": ["Zürich"]}
    assert encoding.upper() in table.understood


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "utf-16-be"])
def test_encoding_against_the_byte_order_mark_is_refused(opened, encoding):
    content = "a,b\n1,2\n".encode("utf-8-sig" if encoding != "utf-8" else "utf-16")
    with pytest.raises(InputError, match=r"byte order mark of UTF-.*Leave the encoding out"):
        opened(content, encoding=encoding)


def test_utf_16_without_a_mark_is_not_guessed(opened):
    with pytest.raises(InputError, match=r"NUL byte.*utf-16-le"):
        opened("a,b\n1,2\n".encode("utf-16-le"))
    with pytest.raises(InputError, match=r"no byte order mark.*utf-16-le or utf-16-be"):
        opened("a,b\n1,2\n".encode("utf-16-le"), encoding="utf-16")


def test_utf_16_that_is_damaged_is_located(opened):
    content = "a,b\n1,x\n2,y\n".encode("utf-16") + b"\x00\xd8"
    with pytest.raises(InputError, match="not UTF-16-LE at byte 27"):
        opened(content).frame()


@pytest.mark.parametrize(
    ("asked", "allowed"), [({"decimal": ";"}, r"\. ,"), ({"encoding": "ebcdic"}, "utf-8 utf-16")]
)
def test_unknown_settings_list_the_known_ones(asked, allowed):
    with pytest.raises(InputError, match=f"must be one of {allowed}"):
        ReadOptions(**asked)


def test_settings_of_another_format_are_refused(opened):
    with pytest.raises(InputError, match=r"read as CSV, TSV and has no sheet; it takes delimiter"):
        opened("a,b\n1,2\n", sheet="2")
    with pytest.raises(InputError, match="wine is a built-in dataset and has no delimiter"):
        data.open_table("wine", ReadOptions(delimiter=";"))
