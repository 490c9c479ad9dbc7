"""Tables and arrays that were made to do harm: refused at once, without much memory."""

import gzip
import io
import lzma
import os
import resource
import time
import zipfile

import numpy as np
import pandas as pd
import pytest

from pmcnet import data
from pmcnet.data.readers import arrow, compression
from pmcnet.data.readers.npy import BYTES, Wanted, read_npz
from pmcnet.errors import InputError


def refused(source, says: str) -> None:
    start, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(InputError, match=says) as caught:
        data.read_frame(source)
    assert len(str(caught.value)) < 1500
    assert time.process_time() - start < 5
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300 * 1024


@pytest.mark.parametrize("name", ["a.csv", "a.tsv.gz", "a.parquet"])
def test_pipe_and_device_are_refused_at_once(tmp_path, name):
    os.mkfifo(tmp_path / name)
    refused(tmp_path / name, "is a pipe or a device")
    (tmp_path / name).unlink()
    (tmp_path / name).symlink_to("/dev/zero")
    refused(tmp_path / name, "is a pipe or a device")


@pytest.mark.parametrize("name", ["x" * 5000 + ".csv", "a\0b.csv", "a/" * 3000 + "x.csv"])
def test_name_that_cannot_be_is_no_file(name):
    refused(name, "there is no file")


def test_gzip_file_that_unpacks_to_gigabytes_is_refused(tmp_path):
    file = tmp_path / "rows.csv.gz"
    with gzip.open(file, "wb", 1) as packed:
        packed.write(b"a,b\n")
        for _ in range(80):
            packed.write(b"1,1\n" * (1 << 18))
    refused(file, r"unpacks to more than 100 times its size.*unpack it")
    with pytest.raises(InputError, match="unpacks to more than"):
        list(data.frame_chunks(file))


def test_gzip_file_of_many_equal_rows_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(compression, "SMALL", 1 << 12)
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 1000))
    assert data.read_frame(tmp_path / "rows.csv.gz").shape == (1000, 2)


def test_table_of_a_hundred_thousand_columns_is_refused(tmp_path):
    names = ",".join(f"c{i}" for i in range(100_000))
    (tmp_path / "rows.csv").write_text(f"{names}\n{names}\n")
    refused(tmp_path / "rows.csv", "has 100000 columns; 15000 are possible")


def test_wide_table_is_read_in_seconds(tmp_path):
    names = [f"c{i}" for i in range(4000)]
    (tmp_path / "rows.csv").write_text("\n".join(map(",".join, [names, names, names])))
    start = time.process_time()
    frame = data.read_frame(tmp_path / "rows.csv")
    assert frame.shape == (2, 4000)
    assert frame["c3999"].tolist() == ["c3999"] * 2
    assert time.process_time() - start < 10


def test_column_that_is_repeated_often_is_named_once(tmp_path):
    (tmp_path / "rows.csv").write_text(",".join(["x" * 1000] * 5000) + "\n1")
    refused(tmp_path / "rows.csv", r"more than once \(columns 1 and 2 and 3 and 4 and 5\)")


@pytest.mark.parametrize("sign", ["", "-"])
def test_number_of_hundreds_of_digits_is_an_infinity(tmp_path, sign):
    (tmp_path / "rows.csv").write_text(f"a\n{sign}{'9' * 400}\n1\n")
    assert data.read_frame(tmp_path / "rows.csv")["a"].tolist() == [float(f"{sign}inf"), 1]


def test_row_that_is_a_byte_order_mark_is_none(tmp_path):
    (tmp_path / "rows.csv").write_bytes(b"a\n\xef\xbb\xbf")
    refused(tmp_path / "rows.csv", "column names and no rows")
    with pytest.raises(InputError, match="no rows"):
        list(data.frame_chunks(tmp_path / "rows.csv"))


def test_parquet_file_that_unpacks_to_gigabytes_is_refused(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    pd.DataFrame({"a": np.zeros(1_000_000), "b": np.zeros(1_000_000)}).to_parquet(
        tmp_path / "rows.parquet"
    )
    assert len(data.read_frame(tmp_path / "rows.parquet")) == 1_000_000
    monkeypatch.setattr(arrow, "SMALL", 1 << 20)
    refused(tmp_path / "rows.parquet", "unpacks to 2000000 cells")


@pytest.mark.parametrize("seed", range(40))
def test_damaged_parquet_file_is_refused_or_read(tmp_path, seed):
    pytest.importorskip("pyarrow")
    file = io.BytesIO()
    pd.DataFrame({"a": [1.0, None, 3.0] * 9, "b": ["x", "y", None] * 9}).to_parquet(file)
    content, draw = bytearray(file.getvalue()), np.random.default_rng(seed)
    for _ in range(3):
        content[draw.integers(len(content))] ^= 1 << int(draw.integers(8))
    (tmp_path / "rows.parquet").write_bytes(content)
    try:
        data.read_frame(tmp_path / "rows.parquet")
    except InputError:
        return


def zipped(tmp_path, content: bytes, **options):
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w", **options) as archive:
        archive.writestr("x.npy", content)
    return path


def test_array_header_of_gigabytes_is_refused_unread(tmp_path):
    header = b"\x93NUMPY\x02\x00" + ((1 << 32) - 1).to_bytes(4, "little")
    path = zipped(tmp_path, header + bytes(1 << 29), compression=zipfile.ZIP_DEFLATED)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(InputError, match="damaged or of another kind"):
        read_npz(path, {"x": Wanted((9,), BYTES)})
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 * 1024


@pytest.mark.parametrize(
    "content", [b"\x93NUMPY\x01\x00\x05\x00'''\n\n", b"\x93NUMPY\x01\x00\x08\x00" + b"(" * 8]
)
def test_array_header_that_is_no_python_is_refused(tmp_path, content):
    with pytest.raises(InputError, match="damaged or of another kind"):
        read_npz(zipped(tmp_path, content), {"x": Wanted((9,), BYTES)})


def test_damaged_lzma_in_a_zip_file_is_refused(tmp_path):
    path = zipped(tmp_path, bytes(1000), compression=zipfile.ZIP_LZMA)
    content = bytearray(path.read_bytes())
    content[40:60] = bytes(20)
    path.write_bytes(content)
    assert issubclass(lzma.LZMAError, Exception)
    with pytest.raises(InputError, match="damaged or of another kind"):
        read_npz(path, {"x": Wanted((9,), BYTES)})
