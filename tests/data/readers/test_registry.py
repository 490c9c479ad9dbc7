"""A file format is one reader and one line of the registry, which every list of formats uses."""

import re
from pathlib import Path

import pandas as pd
import pytest

from cli.commands import TINY, done
from pmcnet import data
from pmcnet.data.readers import registry
from pmcnet.data.readers.base import Reader, check_names, check_some_rows
from pmcnet.errors import InputError

DOCS = Path(__file__).parents[3] / "docs"


class JsonLines(Reader):
    """One object in each line."""

    def frame(self, path: Path) -> pd.DataFrame:
        frame = pd.read_json(path, lines=True)
        check_names(tuple(frame.columns), path)
        check_some_rows(len(frame), path)
        return frame


@pytest.fixture
def rows(tmp_path, monkeypatch) -> Path:
    """A file of a format that one line makes known."""
    toy = JsonLines(name="JSON lines", suffixes=(".jsonl",))
    monkeypatch.setattr(registry, "READERS", (*registry.READERS, toy))
    path = tmp_path / "rows.JSONL"
    path.write_text(
        "".join(f'{{"x": {i / 7}, "city": "{"ab"[i % 2]}", "y": {i}}}\n' for i in range(30))
    )
    return path


def test_registered_format_is_read_whole(rows):
    frame = data.read_frame(rows)
    assert frame.shape == (30, 3)
    assert data.column_kinds(frame) == {"x": "number", "city": "text", "y": "number"}


def test_registered_format_is_read_in_chunks_without_further_code(rows):
    chunks = list(data.frame_chunks(rows, 20, columns={"y": "number"}))
    assert [len(chunk) for chunk in chunks] == [20, 10]
    assert [str(chunk["y"].dtype) for chunk in chunks] == ["float64", "float64"]
    assert chunks[1].index[0] == 20
    with pytest.raises(InputError, match=r"rows\.JSONL has no column 'z'"):
        data.frame_chunks(rows, columns={"z": "number"})


def test_registered_format_is_fitted_and_predicted(rows, tmp_path):
    done("fit", rows, "--target", "y", *TINY, "--out", tmp_path / "run")
    done("predict", tmp_path / "run", rows, "-o", tmp_path / "out.csv")
    assert len(pd.read_csv(tmp_path / "out.csv")) == 30


def test_registered_format_is_named_in_errors_and_help(rows, tmp_path):
    (tmp_path / "rows.xlsx").touch()
    with pytest.raises(InputError, match=r"must end in one of \.csv, .*, \.parquet, \.jsonl; got"):
        data.read_frame(tmp_path / "rows.xlsx")
    with pytest.raises(InputError, match=r"is a folder.*\.jsonl"):
        data.read_frame(tmp_path)
    assert "CSV, TSV, Parquet or JSON lines file" in " ".join(done("fit", "--help").stdout.split())


def test_help_names_the_formats():
    assert "DATA is a CSV, TSV or Parquet file" in " ".join(done("fit", "--help").stdout.split())


def test_documentation_lists_the_formats():
    page = (DOCS / "data.md").read_text()
    listed = re.findall(r"^\| (\S.*?) \| (`\..*?`) \|", page, flags=re.MULTILINE)
    expected = [
        (reader.name, ", ".join(f"`{suffix}`" for suffix in reader.suffixes))
        for reader in registry.READERS
    ]
    assert listed == expected


def test_suffixes_belong_to_one_format():
    suffixes = [suffix for reader in registry.READERS for suffix in reader.suffixes]
    assert len(suffixes) == len(set(suffixes))
    assert all(suffix == suffix.lower() for suffix in suffixes)
