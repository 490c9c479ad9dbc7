"""Queries of databases: one statement that reads, run once, and nothing else."""

import gc
import sqlite3
from pathlib import Path

import pandas as pd
import pytest

from pmcnet import data
from pmcnet.data import ReadOptions
from pmcnet.data.readers import database, spool
from pmcnet.data.readers.sql_text import check_reads
from pmcnet.errors import InputError

HOUSES = "CREATE TABLE houses (price REAL, city TEXT, rooms INTEGER)"


@pytest.fixture
def path(tmp_path):
    connection = sqlite3.connect(tmp_path / "shop.db")
    connection.execute(HOUSES)
    rows = [(i + 0.5, ["Ulm", "Oslo", None][i % 3], i) for i in range(30)]
    connection.executemany("INSERT INTO houses VALUES (?, ?, ?)", rows)
    connection.commit()
    connection.close()
    return tmp_path / "shop.db"


def queried(path, sql: str) -> data.TableFile:
    return data.open_table(f"sqlite:///{path}", ReadOptions(sql=sql))


def test_query_gives_a_table(path):
    table = queried(path, "SELECT price, city FROM houses WHERE rooms < 6 ORDER BY rooms;")
    frame = table.frame()
    assert frame["price"].tolist() == [0.5, 1.5, 2.5, 3.5, 4.5, 5.5]
    assert frame["city"].isna().tolist() == [False, False, True] * 2
    pieces = [len(chunk) for chunk in table.chunks({"price": "number"}, 4)]
    assert pieces == [4, 2]
    assert table.described(frame) == f"read 6 rows, 2 columns; SQL from sqlite:///{path}"


def test_query_may_hold_colons_percents_and_words_in_quotes(path):
    sql = """WITH h AS (SELECT * FROM houses) -- ; drop table houses
        SELECT ':a %s %% delete' AS "update", price FROM h WHERE city LIKE 'U%' LIMIT 1"""
    assert queried(path, sql).frame()["update"].tolist() == [":a %s %% delete"]


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("DROP TABLE houses", "must be one SELECT statement"),
        ("  -- SELECT\n DELETE FROM houses", "must be one SELECT statement"),
        ("PRAGMA writable_schema = 1", "must be one SELECT statement"),
        ("SELECT 1; SELECT 2", "got several"),
        ("SELECT 1; DROP TABLE houses; --", "got several"),
        ("WITH a AS (SELECT 1) DELETE FROM houses", "the word DELETE"),
        ("SELECT * INTO other FROM houses", "the word INTO"),
        ("SELECT * FROM houses FOR UPDATE", "the word UPDATE"),
        ("SELECT 1 /*! INTO OUTFILE 'x' */", r"the word /\*!"),
        ("", "Say which rows"),
    ],
)
def test_statements_that_do_not_only_read_are_refused(path, sql, message):
    before = path.read_bytes()
    with pytest.raises(InputError, match=message):
        queried(path, sql)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM houses",
        "DROP TABLE houses",
        "CREATE TABLE a (b)",
        "ATTACH 'other.db' AS o",
        "PRAGMA user_version = 3",
        "SELECT load_extension('x')",
    ],
)
def test_sqlite_itself_refuses_what_is_no_reading(path, sql, monkeypatch):
    """The text of a statement is not all that is relied on."""
    monkeypatch.setattr(database, "check_reads", lambda sql: None)
    before = path.read_bytes()
    with pytest.raises(InputError, match="has refused the query"):
        queried(path, sql)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1",
        " ( SELECT 1 ) ;",
        "/* why */ select updated, \"delete\", 'a; b' from t -- end",
        "WITH a AS (SELECT 1) SELECT * FROM a",
        "SELECT replace(a, 'insert', ''), `merge` FROM t",
    ],
)
def test_statements_that_read_are_accepted(sql):
    check_reads(sql)


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT other FROM houses", "no such column: other"),
        ("SELECT price FROM (houses", "has refused the query"),
        ("SELECT price, price FROM houses", "'price' more than once"),
        ("SELECT price FROM houses WHERE rooms > 99", "no rows"),
        ("SELECT x'00ff' AS a", "column 'a' of .* holds bytes"),
    ],
)
def test_queries_that_give_no_table_are_refused(path, sql, message):
    with pytest.raises(InputError, match=message):
        queried(path, sql).frame()


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("sqlite:///no.db", "no database file .*no.db"),
        ("sqlite://", "must name its file"),
        ("nosuch://host/db", "has refused the query or cannot be reached"),
        ("postgresql://u:secret@127.0.0.1:1/db", "cannot be reached"),
        ("mysql://u:secret@localhost/db?password=secret", "driver .*not installed"),
        ("sqlite:///a:b@c:d", "no database file"),
    ],
)
def test_databases_that_cannot_be_read_are_refused_without_their_password(source, message):
    with pytest.raises(InputError, match=message) as refusal:
        data.open_table(source, ReadOptions(sql="SELECT 1"))
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize("source", ["shop.db", "rows.csv", "-"])
def test_query_of_what_is_no_url_is_refused(source):
    with pytest.raises(InputError, match=r"URL like sqlite:///shop\.db; got"):
        data.open_table(source, ReadOptions(sql="SELECT 1"))


def test_place_of_a_database_has_no_password(path, monkeypatch):
    monkeypatch.chdir(path.parent)
    assert database.place_of("sqlite:///shop.db") == f"sqlite:///{path}"
    url = "postgresql+psycopg://me:secret@host/db?password=secret&sslmode=require"
    assert database.place_of(url) == "postgresql+psycopg://me@host/db?sslmode=require"


def test_rows_are_kept_no_longer_than_the_table(path, monkeypatch, tmp_path):
    monkeypatch.setattr(spool.tempfile, "tempdir", str(tmp_path))
    table = queried(path, "SELECT * FROM houses")
    assert len(list(tmp_path.glob("pmcnet-*/query-result"))) == 1
    del table
    gc.collect()
    assert not list(tmp_path.glob("pmcnet-*"))
    with pytest.raises(InputError):
        queried(path, "SELECT x'00' AS a")
    assert not list(tmp_path.glob("pmcnet-*"))


def test_rows_are_bounded(path, monkeypatch):
    monkeypatch.setattr(spool, "MOST_BYTES", 100)
    with pytest.raises(InputError, match="query-result has more than 0 MiB"):
        queried(path, "SELECT * FROM houses")


def test_cells_with_sql_and_formulas_are_words(path):
    words = ["'; DROP TABLE houses; --", "=1+1", "%s", ":a"]
    connection = sqlite3.connect(path)
    connection.executemany("INSERT INTO houses VALUES (1, ?, 99)", [(word,) for word in words])
    connection.commit()
    connection.close()
    found = queried(path, "SELECT city FROM houses WHERE rooms = 99").frame()
    assert found["city"].tolist() == words
    assert isinstance(found, pd.DataFrame)
    assert Path(path).is_file()
