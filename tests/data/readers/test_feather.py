"""Feather: typed columns as they are in Parquet, damage refused before it is used."""

import io

import numpy as np
import pandas as pd
import pytest

from pmcnet import data
from pmcnet.data.readers import arrow
from pmcnet.errors import InputError


@pytest.fixture
def path(tmp_path):
    frame = pd.DataFrame({"a": np.arange(100), "c": pd.Categorical(["x", "y"] * 50)})
    frame.to_feather(tmp_path / "rows.feather", chunksize=30)
    return tmp_path / "rows.feather"


@pytest.mark.parametrize("n_rows", [1, 7, 30, 1000])
def test_pieces_are_the_whole(path, n_rows):
    chunks = list(data.frame_chunks(path, n_rows, columns={"a": "number"}))
    assert max(map(len, chunks)) <= n_rows
    found = pd.concat(chunks)
    assert found["a"].tolist() == list(range(100))
    assert found.index.tolist() == list(range(100))
    assert data.column_kinds(data.read_frame(path)) == {"a": "number", "c": "text"}


def test_lists_are_refused(tmp_path):
    pd.DataFrame({"a": [[1], [2]]}).to_feather(tmp_path / "rows.arrow")
    with pytest.raises(InputError, match=r"column 'a' .*list.*drop it"):
        data.read_frame(tmp_path / "rows.arrow")


def test_damage_is_refused(path):
    content = path.read_bytes()
    for damaged in (content[:-40], b"ARROW1" + content[30:], b"a,b\n1,2\n"):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=r"not whole as a Feather file"):
            data.read_frame(path)


def test_file_that_unpacks_to_gigabytes_is_refused(tmp_path, monkeypatch):
    file = io.BytesIO()
    pd.DataFrame({"a": np.zeros(1_000_000)}).to_feather(file, compression="zstd")
    (tmp_path / "rows.feather").write_bytes(file.getvalue())
    monkeypatch.setattr(arrow, "SMALL", 1 << 10)
    with pytest.raises(InputError, match="unpacks to 1000000 cells"):
        data.read_frame(tmp_path / "rows.feather")
