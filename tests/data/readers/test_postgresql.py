"""PostgreSQL, by a server of its own that lasts as long as these tests."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pmcnet import data
from pmcnet.data import ReadOptions
from pmcnet.data.readers import database
from pmcnet.errors import InputError

FOLDERS = sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin")))
PATH = os.pathsep.join([os.environ.get("PATH", ""), *FOLDERS])


def unprivileged() -> dict[str, int]:
    """Whose server it is: PostgreSQL refuses to be run by the superuser."""
    if os.geteuid() != 0:
        return {}
    try:
        user = pwd.getpwnam("postgres")
    except KeyError:
        user = pwd.getpwnam("nobody")
    return {"user": user.pw_uid, "group": user.pw_gid}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The URL of a database with the table `houses`."""
    programs = {name: shutil.which(name, path=PATH) for name in ("initdb", "postgres")}
    absent = [name for name, found in programs.items() if found is None]
    if absent:
        pytest.skip(f"PostgreSQL is not installed: no {' and no '.join(absent)}")
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")
    owner = unprivileged()
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    os.chown(folder, owner.get("user", -1), owner.get("group", -1))
    where = {"cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, **owner}
    cluster = folder / "data"
    made = subprocess.run(
        [programs["initdb"], "-D", cluster, "-U", "me", "-A", "trust", "-N", "-E", "UTF8"],
        check=False,
        **where,
    )
    if made.returncode:
        shutil.rmtree(folder)
        pytest.skip(f"no server could be made: {made.stderr.decode()[-200:]!r}")
    options = ("-c", "listen_addresses=", "-c", "fsync=off", "-k", str(folder))
    process = subprocess.Popen([programs["postgres"], "-D", cluster, *options], **where)
    try:
        yield f"postgresql+psycopg://me@/postgres?host={_filled(psycopg, folder, process)}"
    finally:
        process.terminate()
        process.communicate(timeout=30)
        shutil.rmtree(folder, ignore_errors=True)


def _filled(psycopg, folder: Path, process: subprocess.Popen) -> Path:
    """Wait for the server, and make a table."""
    for _ in range(100):
        try:
            connection = psycopg.connect(host=str(folder), user="me", dbname="postgres")
            break
        except psycopg.OperationalError:
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0.1)
    with connection:
        connection.execute(
            "CREATE TABLE houses AS SELECT i, i / 4.0 AS price, i::float8 / 3 AS size, "
            "i % 2 = 0 AS sold, 'city' || i % 3 AS city, DATE '2024-01-01' + i AS day, "
            "TIMESTAMP '2024-01-01 10:00' + i * INTERVAL '1 hour' AS moment, "
            "CASE WHEN i % 5 > 0 THEN i END AS gaps FROM generate_series(0, 29) AS i"
        )
        connection.execute("CREATE SEQUENCE counter")
    return folder


def test_query_gives_typed_columns(server):
    table = data.open_table(server, ReadOptions(sql="SELECT * FROM houses ORDER BY i"))
    frame = table.frame()
    assert frame["i"].tolist() == list(range(30))
    assert frame["price"].tolist() == [i / 4 for i in range(30)]
    assert frame["size"].tolist() == [i / 3 for i in range(30)]
    assert frame["sold"].tolist() == [i % 2 == 0 for i in range(30)]
    assert frame["day"].tolist()[:2] == ["2024-01-01", "2024-01-02"]
    assert frame["moment"].tolist()[0] == "2024-01-01 10:00:00"
    assert int(frame["gaps"].isna().sum()) == 6
    assert [len(chunk) for chunk in table.chunks({}, 20)] == [20, 10]


@pytest.mark.parametrize("sql", ["SELECT i::text AS a FROM houses WHERE city LIKE '%1'"])
def test_casts_and_percents_are_part_of_the_statement(server, sql):
    assert len(data.read_frame(server, ReadOptions(sql=sql))) == 10


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM houses RETURNING i",
        "WITH a AS (DELETE FROM houses RETURNING i) SELECT * FROM a",
        "SELECT nextval('counter')",
        "SELECT * INTO other FROM houses",
        "CREATE TABLE other AS SELECT 1",
    ],
)
def test_transaction_only_reads(server, sql, monkeypatch):
    """Whatever passes the check of the text."""
    monkeypatch.setattr(database, "check_reads", lambda sql: None)
    says = "read-only transaction" if "nextval" in sql else "has refused the query"
    with pytest.raises(InputError, match=says):
        data.open_table(server, ReadOptions(sql=sql))
    assert len(data.read_frame(server, ReadOptions(sql="SELECT i FROM houses"))) == 30


def test_refusal_of_the_server_is_said(server):
    with pytest.raises(InputError, match='relation "nothing" does not exist'):
        data.open_table(server, ReadOptions(sql="SELECT * FROM nothing"))
