"""Tables that a query gives: a SELECT statement on a database, which is read and never changed.

The query runs once, within a transaction that only reads where the database has those, and its rows
stream into a temporary file. A SQLite file is opened read-only, and all but reading is denied.
"""

import json
import sqlite3
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pmcnet.data.readers.base import TableFile, check_names, check_some_rows
from pmcnet.data.readers.json_lines import JSON_LINES
from pmcnet.data.readers.options import ReadOptions
from pmcnet.data.readers.spool import discard, spooled
from pmcnet.data.readers.sql_text import check_reads
from pmcnet.data.readers.values import check_cell, word
from pmcnet.errors import InputError
from pmcnet.io.files import one_line

_ROWS = 5_000  # fetched at a time
_SECRETS = ("password", "passwd", "pwd", "token", "sslpassword")
_ALLOWED = (
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
)


def is_database(source: str) -> bool:
    """Whether it is written like the URL of a database."""
    scheme, separator, _ = source.partition("://")
    return bool(separator) and scheme.replace("+", "").replace("_", "").isalnum()


def query_result(source: str, asked: ReadOptions) -> TableFile:
    """The rows of a query.

    Args:
        source: the URL of a database, as SQLAlchemy writes them.
        asked: with the query.
    """
    asked.check(("sql",), "a database gives a table by a query,")
    place = place_of(source)
    if not asked.sql:
        raise InputError(f"{place} is a database. Say which rows: --sql 'SELECT ... FROM ...'.")
    check_reads(asked.sql)
    with _explained(place):
        path = spooled(_lines(source, asked.sql, place), "query-result")
    try:
        check_some_rows(path.stat().st_size, place)
        found = JSON_LINES.opened(path, ReadOptions())
    except BaseException:
        discard(path)
        raise
    found = replace(found, where=place, place=place, understood=(f"SQL from {place}",))
    weakref.finalize(found, discard, path)
    return found


def place_of(source: str) -> str:
    """The URL as it may be shown and stored: without passwords, the path of a file absolute."""
    url = _url(source)
    if url.get_backend_name() == "sqlite" and url.database not in (None, "", ":memory:"):
        url = url.set(database=str(Path(url.database).resolve()))
    query = {name: value for name, value in url.query.items() if name.lower() not in _SECRETS}
    # `set` would take None for "as it is"
    return str(url._replace(password=None).set(query=query).render_as_string())


def _url(source: str) -> Any:
    try:
        from sqlalchemy.engine import make_url
        from sqlalchemy.exc import ArgumentError
    except ImportError as error:
        raise InputError(
            "SQLAlchemy, which reads databases, is not installed. Run: pip install 'pmcnet[sql]', "
            "or export the rows as CSV."
        ) from error
    try:
        return make_url(source)
    except (ArgumentError, ValueError) as error:
        raise InputError(
            "the URL of the database cannot be read. Write it like sqlite:///rows.db or "
            "postgresql://user@host/database."
        ) from error


def _lines(source: str, sql: str, place: str) -> Iterator[bytes]:
    """The rows as JSON lines."""
    from sqlalchemy import text

    engine = _engine(_url(source))
    try:
        with engine.connect() as connection:
            if engine.dialect.name == "sqlite":  # not before SQLAlchemy has looked at its settings
                connection.connection.driver_connection.set_authorizer(_authorised)
            reading = connection.execution_options(**_read_only(engine.dialect.name))
            # colons are part of the statement, not the names of parameters
            rows = reading.execute(text(sql.replace(":", r"\:")))
            names = tuple(map(str, rows.keys()))
            check_names(names, f"the result of the query on {place}")
            for row in rows:
                cells = dict(zip(names, map(word, row), strict=True))
                for name, cell in cells.items():
                    check_cell(cell, name, place)
                yield json.dumps(cells, allow_nan=False).encode() + b"\n"
    finally:
        engine.dispose()


def _read_only(dialect: str) -> dict[str, Any]:
    """What makes a connection of this dialect stream, and read only."""
    options: dict[str, Any] = {"stream_results": True, "max_row_buffer": _ROWS}
    if dialect == "postgresql":
        options |= {"postgresql_readonly": True, "isolation_level": "REPEATABLE READ"}
    return options


def _engine(url: Any) -> Any:
    """The engine of a URL; of SQLite one that opens the file read-only."""
    from sqlalchemy import create_engine
    from sqlalchemy.pool import NullPool

    if url.get_backend_name() != "sqlite":
        return create_engine(url, poolclass=NullPool)
    if url.database in (None, "", ":memory:"):
        raise InputError(
            "the URL of a SQLite database must name its file. Write it like sqlite:///rows.db."
        )
    path = Path(url.database).resolve()
    if not path.is_file():
        raise InputError(f"there is no database file {str(path)!r:.200}. Check the path.")
    return create_engine("sqlite://", creator=lambda: _read_only_sqlite(path), poolclass=NullPool)


def _read_only_sqlite(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, check_same_thread=False)


def _authorised(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    """Reading is allowed, and no function that reaches other files."""
    loads = action == sqlite3.SQLITE_FUNCTION and second in ("load_extension", "readfile")
    return sqlite3.SQLITE_OK if action in _ALLOWED and not loads else sqlite3.SQLITE_DENY


@contextmanager
def _explained(place: str) -> Iterator[None]:
    """What the database refuses, as errors of this package, without passwords."""
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except InputError:
        raise
    except ImportError as error:
        raise InputError(
            f"the driver of {place} is not installed ({one_line(error, 100)}). Install it with "
            "pip, or name another driver in the URL (postgresql+psycopg://...)."
        ) from error
    except (SQLAlchemyError, sqlite3.Error, ValueError, UnicodeError) as error:
        cause = getattr(error, "orig", None) or error
        raise InputError(
            f"{place} has refused the query or cannot be reached ({one_line(cause, 300)}). "
            "Correct the query or the URL; a password may come from the environment (PGPASSWORD)."
        ) from error
