import io
import zipfile

import numpy as np
import pytest

from data.making import made
from pmcnet import data
from pmcnet.data.datasets import uci
from pmcnet.data.readers.checksums import Published
from pmcnet.errors import InputError

CASP = """\
"RMSD","F1","F2","F3","F4","F5","F6","F7","F8","F9"
17.284,1,2,3,4,5,6,7,8,9
6.021,10,20,30,40,50,60,70,80,90
"""
NAVAL = "".join(
    "".join(f"   {row + column:.7e}" for column in range(18)) + "\n" for row in (0, 100)
)
MEMBERS = {"protein": "CASP.csv", "naval": "UCI CBM Dataset/data.txt"}
TEXTS = {"protein": CASP, "naval": NAVAL}
PLACES = {"protein": "protein/CASP.csv", "naval": "naval/data.txt"}


def zipped(name: str, content: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr(name, content)
    return file.getvalue()


def read(tmp_path, name: str, text: str) -> data.Table:
    made(tmp_path / PLACES[name], text.encode())
    return data.load(name, tmp_path, verify=False)


def test_protein_features_follow_their_names(tmp_path):
    table = read(tmp_path, "protein", CASP)
    assert table.x.tolist() == [[1, 2, 3, 4, 5, 6, 7, 8, 9], [10, 20, 30, 40, 50, 60, 70, 80, 90]]
    assert table.y.tolist() == [17.284, 6.021]
    assert table.features == tuple(f"F{i}" for i in range(1, 10))
    assert (table.task, table.classes) == ("regression", ())


@pytest.mark.parametrize(
    "header", ["RMSD,F1,F2,F3,F4,F5,F6,F7,F8,F9", " RMSD, F1, F2,F3,F4,F5,F6,F7,F8,F9\r"]
)
def test_protein_header_may_be_unquoted(tmp_path, header):
    assert read(tmp_path, "protein", header + CASP[CASP.index("\n") :]).y[0] == 17.284


def test_naval_leaves_out_what_never_varies_and_the_other_target(tmp_path):
    table = read(tmp_path, "naval", NAVAL)
    kept = [0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 12, 13, 14, 15]
    assert table.x.tolist() == [kept, [100 + i for i in kept]]
    assert table.y.tolist() == [16, 116]
    assert len(table.features) == 14
    assert not {"T1", "P1"} & set(table.features)


@pytest.mark.parametrize(
    ("name", "place"),
    [("protein", "CASP.csv"), ("naval", "naval/UCI CBM Dataset/data.txt")],
)
def test_tables_may_lie_elsewhere_in_the_folder(tmp_path, name, place):
    made(tmp_path / place, TEXTS[name].encode())
    assert len(data.load(name, tmp_path, verify=False).x) == 2


@pytest.mark.parametrize("name", TEXTS)
def test_tables_are_read_in_their_archive(tmp_path, name):
    made(tmp_path / name / f"{name}.zip", zipped(MEMBERS[name], TEXTS[name]))
    assert np.array_equal(
        data.load(name, tmp_path, verify=False).x, read(tmp_path / "plain", name, TEXTS[name]).x
    )


@pytest.mark.parametrize("name", TEXTS)
def test_sums_are_verified_by_default(tmp_path, name, monkeypatch):
    made(tmp_path / PLACES[name], TEXTS[name].encode())
    known = getattr(uci, f"_{name.upper()}")
    with pytest.raises(
        InputError,
        match=f"not the published file of {name}: its sha256.*{known.digest}.*--fetch {name}",
    ):
        data.load(name, tmp_path)
    true = Published(name, known.of([TEXTS[name].encode()]), "sha256")
    monkeypatch.setattr(uci, f"_{name.upper()}", true)
    assert len(data.load(name, tmp_path).x) == 2


@pytest.mark.parametrize("name", TEXTS)
def test_absent_table_says_what_to_put_where(tmp_path, name):
    with pytest.raises(
        InputError, match=f"{tmp_path} has no {PLACES[name]}.*`pmcnet datasets --fetch {name}`"
    ):
        data.load(name, tmp_path)
    with pytest.raises(InputError, match="is not at hand"):
        data.paper_split(name, tmp_path)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("protein", "", "must begin with the line RMSD,F1"),
        ("protein", CASP.replace("F3", "F0"), "must begin with the line RMSD,F1"),
        ("protein", CASP[CASP.index("\n") + 1 :], "must begin with the line RMSD,F1"),
        ("protein", CASP[: CASP.index("\n")], "has no rows"),
        ("protein", CASP[:-4], "damaged or of another kind"),
        ("protein", CASP.replace("30", "x"), "damaged or of another kind.*'x'"),
        ("protein", CASP.replace("30", "inf"), "not finite"),
        ("protein", CASP.replace("30", "ü"), "damaged or of another kind"),
        ("protein", CASP.replace("30", "30,1"), "damaged or of another kind"),
        ("naval", "", "has no rows"),
        ("naval", "1 2 3\n", r"announces the shape \(1, 3\)"),
        ("naval", NAVAL[:-20], "damaged or of another kind"),
        ("naval", " " * (1 << 23) + NAVAL, "more than 8388608 bytes"),
    ],
)
def test_malformed_table_is_refused(tmp_path, name, text, message):
    with pytest.raises(InputError, match=message):
        read(tmp_path, name, text)


def test_more_rows_than_the_official_file_has_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(uci, "_NAVAL_ROWS", 1)
    with pytest.raises(InputError, match=r"announces the shape \(2, 18\); 1 to 1 entries of 18"):
        read(tmp_path, "naval", NAVAL)


def test_archive_is_not_unpacked_without_bound(tmp_path):
    made(tmp_path / "naval" / "naval.zip", zipped(MEMBERS["naval"], "0" * (1 << 24)))
    with pytest.raises(InputError, match="more than 8388608 bytes"):
        data.load("naval", tmp_path, verify=False)


@pytest.mark.parametrize(
    "content", [b"", b"no zip", zipped("other.txt", NAVAL), zipped(MEMBERS["naval"], NAVAL)[:-30]]
)
def test_damaged_archive_is_refused(tmp_path, content):
    made(tmp_path / "naval" / "naval.zip", content)
    with pytest.raises(InputError, match=r"naval\.zip is damaged or of another kind"):
        data.load("naval", tmp_path, verify=False)


def test_read_frame_takes_them_by_name(tmp_path, monkeypatch):
    np.savez(
        made(tmp_path / "uci" / "x", b"").with_name("naval-propulsion-plant.npz"),
        X=np.ones((3, 16)),
        y=np.ones(3),
    )
    monkeypatch.setenv("PMCNET_DATA", str(tmp_path))
    frame = data.read_frame("naval")
    assert frame.shape == (3, 15)
    assert frame.columns[-1] == data.built_in_target("naval") == "target"


# what stands for the response in the published arrays
RESPONSE = {"protein": "y", "naval": "y1"}
STORED = {
    "protein": "uci/protein-tertiary-structure.npz",
    "naval": "uci/naval-propulsion-plant.npz",
}


@pytest.mark.parametrize("part", ["train", "val", "test"])
@pytest.mark.parametrize("name", TEXTS)
def test_paper_split_rows_are_the_published_ones(name, part, published, shared):
    rows, split = published(name), data.paper_split(name, shared(STORED[name]))._asdict()
    x, y = rows[f"x_{part}"], rows[f"{RESPONSE[name]}_{part}"]
    assert np.array_equal(split[f"x_{part}"].astype(x.dtype), x)
    assert np.array_equal(split[f"y_{part}"].astype(y.dtype), y)


def test_published_sum_of_protein_is_that_of_its_rows(shared, tmp_path):
    """The text of UCI's file, written again from its numbers."""
    table = data.load("protein", shared(STORED["protein"]))
    rows = np.column_stack([table.y, table.x]).tolist()
    lines = [",".join(repr(int(v)) if v == int(v) else repr(v) for v in row) for row in rows]
    again = read_verified(
        tmp_path, "protein", CASP[: CASP.index("\n") + 1] + "\n".join(lines) + "\n"
    )
    assert np.array_equal(again.x, table.x)


def test_published_sum_of_naval_is_that_of_its_rows(shared, published, tmp_path):
    """The text of UCI's file, written again from its numbers.

    Only the published rows have the second target.
    """
    with np.load(shared(STORED["naval"]) / STORED["naval"]) as stored:
        x, y = stored["X"], stored["y"]
    rows, order = published("naval"), np.random.RandomState(2).permutation(len(x))
    second = np.empty(len(x))
    second[order] = (
        np.concatenate([rows[f"y2_{part}"] for part in ("val", "test", "train")])
        .astype(float)
        .round(3)
    )
    values = np.column_stack([x, y, second]).tolist()
    text = "".join("".join(f"   {v:.7e}" for v in row) + "\n" for row in values)
    again, table = read_verified(tmp_path, "naval", text), data.load("naval", shared())
    assert np.array_equal(again.x, table.x)
    assert np.array_equal(again.y, table.y)


def read_verified(tmp_path, name: str, text: str) -> data.Table:
    made(tmp_path / PLACES[name], text.encode())
    return data.load(name, tmp_path)


@pytest.mark.parametrize(
    ("name", "place", "n_columns"),
    [("protein", "protein-tertiary-structure", 9), ("naval", "naval-propulsion-plant", 16)],
)
def test_stored_arrays_stand_in_for_tables(tmp_path, name, place, n_columns):
    x = np.arange(5.0 * n_columns).reshape(5, n_columns)
    (tmp_path / "uci").mkdir()
    np.savez(tmp_path / "uci" / f"{place}.npz", X=x.astype(np.float32), y=np.arange(5.0))
    found = data.load(name, tmp_path)
    assert found.y.tolist() == [0, 1, 2, 3, 4]
    assert found.x.dtype == np.float64
    kept = [
        i for i in range(n_columns) if name == "protein" or i not in (8, 11)
    ]  # naval's T1 and P1 never vary
    assert np.array_equal(found.x, x[:, kept])
