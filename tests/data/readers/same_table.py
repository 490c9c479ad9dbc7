"""One table, written in many ways."""

import bz2
import gzip
import io
import lzma
import sqlite3
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

QUERY = "SELECT * FROM rows"


def table(n_rows: int = 40) -> pd.DataFrame:
    """Numbers with gaps, whole numbers, strings with gaps, dates, and a response."""
    draw = np.random.default_rng(0)
    x = draw.normal(size=n_rows).round(9)
    frame = pd.DataFrame(
        {
            "x": x,
            "n": draw.integers(0, 1000, n_rows),
            "city": draw.choice(["Ulm", "Zürich", "Oslo"], n_rows).astype(object),
            "when": pd.date_range("2024-01-01", periods=n_rows).strftime("%Y-%m-%d"),
            "y": (3 * x + draw.normal(size=n_rows)).round(3),
        }
    )
    frame.loc[3, "x"] = np.nan
    frame.loc[5, "city"] = None
    return frame


def text(frame: pd.DataFrame, **options: str) -> str:
    return frame.to_csv(index=False, **options)


def zipped(content: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("rows.csv", content)
    return file.getvalue()


def _written(write: Callable[[io.BytesIO], object]) -> bytes:
    file = io.BytesIO()
    write(file)
    return file.getvalue()


def database(frame: pd.DataFrame, path: Path) -> str:
    """The URL of a SQLite database with the table `rows`."""
    connection = sqlite3.connect(path)
    frame.to_sql("rows", connection, index=False)
    connection.close()
    return f"sqlite:///{path}"


WAYS: dict[str, Callable[[pd.DataFrame], bytes]] = {
    "commas.csv": lambda t: text(t).encode(),
    "mark.csv": lambda t: text(t).encode("utf-8-sig"),
    "bars.csv": lambda t: text(t, sep="|").encode(),
    "tabs.tsv": lambda t: text(t, sep="\t").encode(),
    "decimal.csv": lambda t: text(t, sep=";", decimal=",").encode(),
    "decimal.txt": lambda t: text(t, sep="\t", decimal=",").encode(),
    "wide.csv": lambda t: text(t, sep=";", decimal=",").encode("utf-16"),
    "rows.csv.gz": lambda t: gzip.compress(text(t).encode()),
    "rows.csv.bz2": lambda t: bz2.compress(text(t, sep=";", decimal=",").encode()),
    "rows.tsv.xz": lambda t: lzma.compress(text(t, sep="\t").encode()),
    "rows.zip": lambda t: zipped(text(t)),
    "rows.xlsx": lambda t: _written(lambda file: t.to_excel(file, index=False)),
    "rows.parquet": lambda t: _written(lambda file: t.to_parquet(file, index=False)),
    "rows.feather": lambda t: _written(lambda file: t.to_feather(file)),
    "rows.jsonl": lambda t: t.to_json(orient="records", lines=True, double_precision=15).encode(),
}
"""Files by their names; a database and standard input come besides."""
