"""A file format is one reader and one line of the registry, which every list of formats uses."""

import re
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest

from cli.commands import TINY, done
from pmcnet import data
from pmcnet.data.readers import registry
from pmcnet.data.readers.base import Reader, TableFile
from pmcnet.data.readers.options import ReadOptions
from pmcnet.errors import InputError

DOCS = Path(__file__).parents[3] / "docs"


@dataclass(frozen=True, kw_only=True)
class PairsFile(TableFile):
    """A table that can only be read whole."""

    path: Path

    def frame(self) -> pd.DataFrame:
        lines = self.path.read_text().splitlines()
        frame = pd.DataFrame([dict(pair.split("=") for pair in line.split()) for line in lines])
        return frame.astype({"x": float, "y": int})


class Pairs(Reader):
    """Lines of NAME=VALUE."""

    def opened(self, path: Path, asked: ReadOptions) -> PairsFile:
        names = tuple(pair.split("=")[0] for pair in path.read_text().split("\n")[0].split())
        return PairsFile(where=str(path), place=str(path), names=names, path=path)


@pytest.fixture
def rows(tmp_path, monkeypatch) -> Path:
    """A file of a format that one line makes known."""
    toy = Pairs(name="pairs", suffixes=(".pairs",))
    monkeypatch.setattr(registry, "READERS", (*registry.READERS, toy))
    path = tmp_path / "rows.PAIRS"
    path.write_text("".join(f"x={i / 7} city={'ab'[i % 2]} y={i}\n" for i in range(30)))
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
    with pytest.raises(InputError, match=r"rows\.PAIRS has no column 'z'"):
        data.frame_chunks(rows, columns={"z": "number"})


def test_registered_format_is_fitted_and_predicted(rows, tmp_path):
    done("fit", rows, "--target", "y", *TINY, "--out", tmp_path / "run")
    done("predict", tmp_path / "run", rows, "-o", tmp_path / "out.csv")
    assert len(pd.read_csv(tmp_path / "out.csv")) == 30


def test_registered_format_is_named_in_errors_and_help(rows, tmp_path):
    (tmp_path / "rows.xls").touch()
    with pytest.raises(InputError, match=r"must end in one of \.csv, .*, \.pairs; got"):
        data.read_frame(tmp_path / "rows.xls")
    with pytest.raises(InputError, match=r"is a folder.*\.pairs"):
        data.read_frame(tmp_path)
    assert "Feather, JSON lines or pairs file" in " ".join(done("fit", "--help").stdout.split())


def test_help_names_the_formats():
    assert "DATA is a CSV, TSV, Excel, Parquet, Feather or JSON lines file" in " ".join(
        done("fit", "--help").stdout.split()
    )


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
