import numpy as np
import pytest
from scipy.io import savemat

from data.making import made, pixels, svhn_mat
from pmcnet import data
from pmcnet.data.datasets.svhn import grey
from pmcnet.data.readers.checksums import Published
from pmcnet.errors import InputError

LABELS = np.array([10, 1, 9, 5, 10], np.uint8)


@pytest.fixture
def svhn(tmp_path):
    """A folder with both files."""
    svhn_mat(tmp_path / "svhn" / "train_32x32.mat", pixels(5, 32, 32, 3), LABELS)
    svhn_mat(tmp_path / "svhn" / "test_32x32.mat", pixels(2, 32, 32, 3, seed=1), LABELS[:2])
    return tmp_path


def test_load_images_reads_both_files(svhn):
    images = data.load_images("svhn-g", svhn, verify=False)
    assert images.x_train.shape == (5, 1, 32, 32)
    assert images.x_test.shape == (2, 1, 32, 32)
    assert images.x_train.dtype == np.uint8


def test_label_ten_is_the_digit_zero(svhn):
    images = data.load_images("svhn-g", svhn, verify=False)
    assert images.y_train.tolist() == [0, 1, 9, 5, 0]
    assert images.classes[0] == "0"


def test_grey_has_the_weights_of_rec_601(svhn):
    colours = pixels(5, 32, 32, 3)
    expected = np.rint(colours @ np.array([0.299, 0.587, 0.114]))  # (5, 32, 32)
    found = data.load_images("svhn-g", svhn, verify=False).x_train[:, 0]
    assert np.abs(found - expected).max() <= 1  # halves may round either way
    assert (found == expected).mean() > 0.99


def test_grey_of_grey_is_itself():
    value = np.arange(256, dtype=np.uint8)
    x = np.broadcast_to(value[:, None, None, None], (256, 3, 1, 1))
    assert grey(x).reshape(-1).tolist() == value.tolist()


def test_grey_agrees_across_its_blocks():
    x = pixels(5000, 3, 2, 2)
    assert np.array_equal(grey(x)[4095:4098], grey(x[4095:4098]))


def test_files_may_lie_in_the_folder_itself(svhn):
    for path in (svhn / "svhn").iterdir():
        path.rename(svhn / path.name)
    assert len(data.load_images("svhn-g", svhn, verify=False).x_train) == 5


def test_sums_are_verified_by_default(svhn):
    with pytest.raises(
        InputError, match=r"train_32x32\.mat is not the published.*e26dedcc434d2e4c54c9b2d4a06d8373"
    ):
        data.load_images("svhn-g", svhn)


def refused(svhn, message: str) -> None:
    with pytest.raises(InputError, match=rf"test_32x32\.mat.*{message}|{message}.*test_32x32\.mat"):
        data.load_images("svhn-g", svhn, verify=False)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"y": LABELS[:2, None]}, "X and y are needed"),
        ({"X": pixels(32, 32, 3, 2)}, "X and y are needed"),
        ({"X": pixels(32, 32, 3, 2).astype(float), "y": LABELS[:2, None]}, "X of double"),
        ({"X": pixels(32, 32, 3, 2), "y": np.array(["a", "b"])[:, None]}, "y of char"),
        ({"X": pixels(32, 32, 1, 2), "y": LABELS[:2, None]}, r"shape \(2, 32, 32, 1\)"),
        ({"X": pixels(32, 32), "y": LABELS[:2, None]}, r"shape \(32, 32\)"),
        ({"X": pixels(32, 32, 3, 2), "y": LABELS[:3, None]}, r"shape \(3, 1\)"),
        ({"X": pixels(32, 32, 3, 2), "y": np.array([[0], [1]], np.uint8)}, "labels y from 1 to 10"),
        (
            {"X": pixels(32, 32, 3, 2), "y": np.array([[11], [1]], np.uint8)},
            "labels y from 1 to 10",
        ),
        ({"X": pixels(32, 32, 3, 2), "y": np.array([[np.nan], [1]])}, "labels y from 1 to 10"),
        ({"X": pixels(32, 32, 3, 2), "y": np.array([[1.5], [1]])}, "labels y from 1 to 10"),
    ],
)
def test_arrays_of_another_form_are_refused(svhn, arrays, message):
    savemat(svhn / "svhn" / "test_32x32.mat", arrays)
    refused(svhn, message)


def test_more_images_than_the_official_file_has_are_refused(svhn, monkeypatch):
    monkeypatch.setattr("pmcnet.data.datasets.svhn._N_TEST", 1)
    refused(svhn, r"announces the shape \(2, 32, 32, 3\); 1 to 1 entries")


@pytest.mark.parametrize("cut", [0, 3, 60, 140, 2000, -1])
def test_damaged_file_is_refused(svhn, cut):
    path = svhn / "svhn" / "test_32x32.mat"
    path.write_bytes(path.read_bytes()[:cut])
    refused(svhn, "MATLAB file of version 5|X and y are needed|")


def test_file_of_another_kind_is_refused(svhn):
    made(svhn / "svhn" / "test_32x32.mat", b"\x89HDF\r\n\x1a\n" + bytes(600))
    refused(svhn, "cannot be read as a MATLAB file of version 5")


def test_crops_come_in_colour_from_a_file_of_some_or_else_the_test_set(svhn, monkeypatch):
    monkeypatch.setattr(Published, "check", lambda self, contents, path: None)
    colours = pixels(2, 32, 32, 3, seed=1)
    assert np.array_equal(data.svhn_crops(svhn), colours.transpose(0, 3, 1, 2))
    some = {"x_train_head": pixels(3, 32, 32, 3), "x_test_head": colours}
    np.savez(svhn / "svhn_partial_unlabelled.npz", **some)
    expected = np.concatenate([*some.values()]).transpose(0, 3, 1, 2)
    assert np.array_equal(data.svhn_crops(svhn), expected)


def test_crops_are_none_where_there_are_none_and_refused_where_they_are_of_another_form(tmp_path):
    assert data.svhn_crops(tmp_path) is None
    np.savez(
        tmp_path / "svhn_partial_unlabelled.npz", x_train_head=np.zeros((2, 8, 8, 3), np.uint8)
    )
    with pytest.raises(InputError, match="x_train_head"):
        data.svhn_crops(tmp_path)
