"""Packed files are unpacked by their content, within bounds, and refused where they are damaged."""

import bz2
import gzip
import lzma
import zipfile

import pytest

from data.readers.same_table import zipped
from pmcnet import data
from pmcnet.data.readers import compression
from pmcnet.errors import InputError

TEXT = "a,b\n" + "1,x\n2,y\n" * 500
PACKED = {
    ".gz": gzip.compress(TEXT.encode()),
    ".bz2": bz2.compress(TEXT.encode()),
    ".xz": lzma.compress(TEXT.encode()),
    ".zip": zipped(TEXT),
}


@pytest.mark.parametrize("name", ["rows.csv{}", "rows.tsv{}", "rows.txt", "ROWS.CSV{}"])
@pytest.mark.parametrize("suffix", PACKED)
def test_packed_text_is_read_whatever_its_suffix(tmp_path, name, suffix):
    path = tmp_path / name.format(suffix)
    path.write_bytes(PACKED[suffix])
    assert data.read_frame(path).shape == (1000, 2)
    assert sum(len(chunk) for chunk in data.frame_chunks(path, 300)) == 1000


@pytest.mark.parametrize("suffix", PACKED)
def test_damaged_packing_is_refused(tmp_path, suffix):
    path = tmp_path / f"rows.csv{suffix}"
    for content in (PACKED[suffix][:-30], PACKED[suffix][:20], TEXT.encode()):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"not whole as a .* file.*again"):
            data.read_frame(path)


def test_streams_one_after_another_are_one_text(tmp_path):
    for suffix, pack in ((".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)):
        path = tmp_path / f"rows.csv{suffix}"
        path.write_bytes(pack(b"a,b\n1,2\n") + pack(b"3,4\n"))
        assert data.read_frame(path)["a"].tolist() == [1, 3]


@pytest.mark.parametrize("suffix", PACKED)
def test_packed_text_that_unpacks_to_far_more_is_refused(tmp_path, suffix, monkeypatch):
    content = b"a,b\n" + b"1,1\n" * (3 << 18)
    pack = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
    monkeypatch.setattr(compression, "SMALL", 1 << 20)
    path = tmp_path / f"rows.csv{suffix}"
    path.write_bytes(pack[suffix](content) if suffix in pack else zipped(content.decode()))
    with pytest.raises(InputError, match="unpacks to more than 100 times its size"):
        list(data.frame_chunks(path))


def test_xz_that_asks_for_gigabytes_of_memory_is_refused(tmp_path):
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 30}]
    path = tmp_path / "rows.csv.xz"
    path.write_bytes(lzma.compress(TEXT.encode(), filters=filters))
    with pytest.raises(InputError, match=r"not whole as a xz file.*emory"):
        data.read_frame(path)


def test_zip_file_of_several_files_names_them(tmp_path):
    path = tmp_path / "rows.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", TEXT)
        archive.writestr("__MACOSX/a.csv", "x")
        archive.writestr("b.csv", TEXT)
    with pytest.raises(InputError, match=r"zip file of 2 files \('a.csv', 'b.csv'\); one is read"):
        data.read_frame(path)


def test_zip_file_of_another_format_is_recognised(tmp_path):
    path = tmp_path / "rows.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("rows.parquet", b"PAR1rest")
    with pytest.raises(InputError, match="is no text: it is a Parquet file"):
        data.read_frame(path)
