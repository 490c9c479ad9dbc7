"""More that is fuzzed: tables as text, workbooks, Arrow files, JSON lines and databases."""

import bz2
import gzip
import io
import json
import lzma
import re
import sqlite3
import tempfile
import zipfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from random import Random

import numpy as np
import openpyxl
import pandas as pd

from faults.mutations import mutated_bytes
from pmcnet import data
from pmcnet.data import ReadOptions

FRAME = pd.DataFrame(
    {
        "x": np.linspace(-1, 1, 40).round(3),
        "n": np.arange(40),
        "city": ["Oslo", "Zürich", None, "-x"] * 10,
        "flag": [True, False] * 20,
        "when": pd.date_range("2024-05-01", periods=40),
    }
)


def read_both_ways(source: str | Path, asked: ReadOptions) -> None:
    """Read a table whole and in pieces, which must agree."""
    table = data.open_table(source, asked)
    frame = table.frame()
    assert len(frame) > 0
    assert list(frame.columns) == list(table.names)
    found = table.pairs(data.column_kinds(frame), 7)
    again = pd.concat([chunk for _, chunk in found])
    assert len(again) == len(frame), "chunks have other rows"
    for name, kind in data.column_kinds(frame).items():
        if kind == "number":
            np.testing.assert_array_equal(again[name], frame[name].astype(float))


class Texts:
    """Text with every delimiter, decimal mark, encoding and compression."""

    def __init__(self) -> None:
        self.seeds = [
            FRAME.to_csv(index=False, sep=sep, decimal=decimal)
            for sep in (",", ";", "\t", "|")
            for decimal in (".", ",")
        ] + ["a;b\n1,234;2\n5,678;3\n", "a;b\n1.234,5;x\n0,5;y\n"]
        self.asked = ReadOptions()

    def damaged(self, folder: Path, draw: Random) -> Path:
        encoding = draw.choice(("utf-8", "utf-8", "utf-8-sig", "utf-16", "latin-1"))
        content = draw.choice(self.seeds).encode(encoding)
        if draw.random() < 0.7:
            content = mutated_bytes(content, draw)
        name, suffix = draw.choice(("rows.csv", "rows.tsv", "rows.txt")), ""
        if draw.random() < 0.4:
            suffix, pack = draw.choice(COMPRESSIONS)
            content = pack(content)
            content = mutated_bytes(content, draw) if draw.random() < 0.4 else content
        self.asked = ReadOptions(
            delimiter=draw.choice(("",) * 12 + (";", "tab", ":", " ")),
            decimal=draw.choice(("",) * 4 + (",", ".")),
            encoding=draw.choice(("",) * 9 + ("latin-1", "utf-16-le", "cp1252")),
        )
        path = folder / f"{name}{suffix if draw.random() < 0.7 else ''}"
        path.write_bytes(content)
        return path

    def read(self, path: Path) -> None:
        read_both_ways(path, self.asked)


def _zipped(content: bytes) -> bytes:
    return zipped({"rows.csv": content})


def zipped(members: dict[str, bytes]) -> bytes:
    """A zip file that is the same whenever it is made."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return file.getvalue()


COMPRESSIONS: tuple[tuple[str, Callable[[bytes], bytes]], ...] = (
    (".gz", gzip.compress),
    (".bz2", bz2.compress),
    (".xz", lzma.compress),
    (".zip", _zipped),
)
ODD_XML = (
    'r="XFD1048576"',
    'r="A99999999999"',
    'r="ZZZZZZ1"',
    'r=""',
    't="s"',
    't="e"',
    't="b"',
    't="d"',
    't="str"',
    't="inlineStr"',
    's="999"',
    's="-1"',
    "<v>1e999</v>",
    "<v>NaN</v>",
    "<v>-1</v>",
    "<v></v>",
    "<v>" + "9" * 5000 + "</v>",
    '<f>HYPERLINK("file:///etc/passwd")</f>',
    "<f/>",
    '<f t="shared" si="7"/>',
    "<row/>",
    "</row>",
    '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]>&b;',
)


def _other_xml(content: bytes, draw: Random) -> bytes:
    """XML with attributes or elements replaced, still well-formed in most cases."""
    text = content.decode()
    for _ in range(draw.choice((1, 1, 2, 5))):
        places = list(re.finditer(r'\b[rts]="[^"]*"|<v>[^<]*</v>|<v ?/>|<row', text))
        if not places:
            break
        place = draw.choice(places)
        same = [odd for odd in ODD_XML if odd[:2] == place.group()[:2]]
        text = text[: place.start()] + draw.choice(same or ODD_XML) + text[place.end() :]
    return text.encode()


class Workbooks:
    """Workbooks of one sheet and of two, with formulas, dates, errors and gaps."""

    def __init__(self) -> None:
        plain, odd = openpyxl.Workbook(), openpyxl.Workbook()
        plain.active.append(list(FRAME.columns))
        for row in FRAME.itertuples(index=False):
            plain.active.append([None if cell is None else cell for cell in row])
        odd.active.append([None, "a", "f", "when"])
        odd.active.append([None, 1, '=HYPERLINK("http://example.invalid")', datetime(2024, 5, 1)])
        odd.active.append([None, "#N/A", 3, datetime(2024, 5, 1, 12)])
        odd.create_sheet("Other").append(["x"])
        self.seeds = [_members(plain), _members(odd)]

    def damaged(self, folder: Path, draw: Random) -> Path:
        members = draw.choice(self.seeds)
        if draw.random() < 0.7:
            name = draw.choice(sorted(members))
            mutate = mutated_bytes
            if draw.random() < 0.7:
                name, mutate = "xl/worksheets/sheet1.xml", _other_xml
            content = zipped(members | {name: mutate(members[name], draw)})
        else:
            content = mutated_bytes(zipped(members), draw)
        path = folder / "rows.xlsx"
        path.write_bytes(content)
        return path

    def read(self, path: Path) -> None:
        read_both_ways(path, ReadOptions())


def _members(book: openpyxl.Workbook) -> dict[str, bytes]:
    """The files of a workbook, but for that with the time."""
    file = io.BytesIO()
    book.save(file)
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist() if "docProps" not in name}


class Feathers:
    """Feather with and without compression and dictionaries."""

    def __init__(self) -> None:
        import pyarrow as pa
        from pyarrow import feather

        self.seeds = []
        for frame in (FRAME, FRAME.astype({"city": "category", "n": "Int64"})):
            for compression in ("uncompressed", "lz4", "zstd"):
                file = io.BytesIO()
                feather.write_feather(pa.table(frame), file, compression=compression)
                self.seeds.append(file.getvalue())

    def damaged(self, folder: Path, draw: Random) -> Path:
        path = folder / "rows.feather"
        path.write_bytes(mutated_bytes(draw.choice(self.seeds), draw))
        return path

    def read(self, path: Path) -> None:
        read_both_ways(path, ReadOptions())


class JsonLines:
    """Objects in lines."""

    def __init__(self) -> None:
        self.seeds = [
            FRAME.to_json(orient="records", lines=True, date_format="iso").encode(),
            b'{"a": 1}\n\n{"b": null, "a": "NA"}\n{"a": true}\n',
            json.dumps({"a": 10**40, "b": 1e-300}).encode(),
        ]

    def damaged(self, folder: Path, draw: Random) -> Path:
        content = draw.choice(self.seeds)
        if draw.random() < 0.2:
            odd = draw.choice((b"[" * 5000, b"NaN", b'{"a": [1]}', b'{"a": 1e999}', b'{"a": ""}'))
            content = content + odd + b"\n"
        path = folder / "rows.jsonl"
        path.write_bytes(mutated_bytes(content, draw))
        return path

    def read(self, path: Path) -> None:
        read_both_ways(path, ReadOptions())


QUERIES = (
    "SELECT * FROM rows",
    "SELECT * FROM rows;",
    "WITH a AS (SELECT x, n FROM rows) SELECT * FROM a WHERE n > 3",
    "SELECT x, city FROM rows -- ; DROP TABLE rows",
    "SELECT 'DROP TABLE rows; --' AS a, x FROM rows",
    "DROP TABLE rows",
    "SELECT 1 AS a; DELETE FROM rows",
    "WITH a AS (SELECT 1) DELETE FROM rows",
    "UPDATE rows SET x = 0",
    "PRAGMA user_version = 7",
    "ATTACH 'other.db' AS other",
    "SELECT load_extension('x')",
    "SELECT x FROM (rows",
    "/* */ SELECT x AS x, x AS x FROM rows",
    "SELECT x'00ff' AS a FROM rows",
)


class Databases:
    """SQLite files, and statements of which only some may run."""

    def __init__(self) -> None:
        with tempfile.TemporaryDirectory() as place:
            path = Path(place) / "rows.db"
            connection = sqlite3.connect(path)
            FRAME.astype({"when": str}).to_sql("rows", connection, index=False)
            connection.close()
            self.seed = path.read_bytes()
        self.sql = QUERIES[0]

    def damaged(self, folder: Path, draw: Random) -> Path:
        self.sql = draw.choice(QUERIES)
        if draw.random() < 0.3:
            self.sql = mutated_bytes(self.sql.encode(), draw).decode("utf-8", "replace")
        content = mutated_bytes(self.seed, draw) if draw.random() < 0.5 else self.seed
        path = folder / "rows.db"
        path.write_bytes(content)
        return path

    def read(self, path: Path) -> None:
        before = path.read_bytes()
        try:
            read_both_ways(f"sqlite:///{path}", ReadOptions(sql=self.sql))
        finally:
            assert path.read_bytes() == before, "the database has changed"
            assert [each.name for each in path.parent.iterdir()] == [path.name]


TABLE_READERS: dict[str, Callable[[], object]] = {
    "text": Texts,
    "excel": Workbooks,
    "feather": Feathers,
    "jsonl": JsonLines,
    "database": Databases,
}
