import gzip
import hashlib
import struct

import numpy as np
import pytest

from data.making import IDX_NAMES, idx, idx_folder, made, mnist_arrays, pixels
from pmcnet import data
from pmcnet.data.readers.checksums import Published
from pmcnet.data.readers.idx import read_idx
from pmcnet.errors import InputError

SHAPE = (60_000, 28, 28)


@pytest.mark.parametrize("name", ["a-ubyte", "a-ubyte.gz"])
def test_read_idx_gives_back_what_was_written(tmp_path, name):
    array = pixels(3, 28, 28)
    read = read_idx(made(tmp_path / name, idx(array)), SHAPE)
    assert read.dtype == np.uint8
    assert np.array_equal(read, array)
    read[:] = 0  # its own


@pytest.mark.parametrize("name", ["a-ubyte", "a-ubyte.gz"])
def test_read_idx_sum_is_that_of_the_unpacked_content(tmp_path, name):
    path = made(tmp_path / name, idx(pixels(3, 28, 28)))
    read_idx(path, SHAPE, Published("mnist", hashlib.md5(idx(pixels(3, 28, 28))).hexdigest()))
    with pytest.raises(
        InputError,
        match=rf"{name} is not the published file of mnist: its md5 is \w{{32}} instead of 0",
    ):
        read_idx(path, SHAPE, Published("mnist", "0" * 32))


def header(*numbers: int) -> bytes:
    return struct.pack(f">{len(numbers)}I", *numbers)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "cut short: 16 bytes were announced where 0 are left"),
        (header(2051, 3), "cut short: 16 bytes"),
        (header(2049, 3, 28, 28), "begins with the number 2049.*begin with 2051"),
        (
            header(2051, 3, 27, 28),
            r"announces the shape \(3, 27, 28\); 1 to 60000 entries of 28 x 28",
        ),
        (header(2051, 0, 28, 28), r"announces the shape \(0, 28, 28\)"),
        (header(2051, 60_001, 28, 28), r"announces the shape \(60001, 28, 28\)"),
        (header(2051, 2**32 - 1, 2**32 - 1, 2**32 - 1), "announces the shape"),
        (
            header(2051, 2, 28, 28) + b"x" * 1567,
            "cut short: 1568 bytes were announced where 1567 are left",
        ),
        (header(2051, 2, 28, 28) + b"x" * 1569, "goes on after the data it announced"),
    ],
)
@pytest.mark.parametrize("name", ["a-ubyte", "a-ubyte.gz"])
def test_malformed_file_is_refused(tmp_path, name, content, message):
    with pytest.raises(InputError, match=message):
        read_idx(made(tmp_path / name, content), SHAPE)


def test_announced_size_allocates_nothing(tmp_path, monkeypatch):
    """A header may claim anything: it is compared with the official size before reading on."""
    path = made(tmp_path / "a-ubyte", header(2051, 60_001, 28, 28))
    monkeypatch.setattr(
        "pmcnet.data.readers.idx.math.prod", lambda sizes: pytest.fail("counted before the check")
    )
    with pytest.raises(InputError, match="announces"):
        read_idx(path, SHAPE)


@pytest.mark.parametrize(
    "content",
    [
        b"not gzip",
        gzip.compress(idx(pixels(3, 28, 28)))[:-9],
        gzip.compress(idx(pixels(3, 28, 28)))[:30],
    ],
    ids=["other", "end", "begin"],
)
def test_damaged_gzip_file_is_refused(tmp_path, content):
    path = tmp_path / "a-ubyte.gz"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"a-ubyte\.gz is damaged or of another kind"):
        read_idx(path, SHAPE)


def test_gzip_file_with_a_false_check_sum_is_refused(tmp_path):
    content = bytearray(gzip.compress(idx(pixels(3, 28, 28))))
    content[-6] ^= 1
    path = tmp_path / "a-ubyte.gz"
    path.write_bytes(content)
    with pytest.raises(InputError, match="damaged"):
        read_idx(path, SHAPE)


@pytest.mark.parametrize("name", ["mnist", "fashion-mnist"])
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_load_images_reads_the_four_files(tmp_path, name, suffix):
    arrays = mnist_arrays()
    idx_folder(tmp_path / name, arrays, suffix)
    images = data.load_images(name, tmp_path, verify=False)
    for found, written in zip(images[1:5], arrays, strict=True):
        assert np.array_equal(np.squeeze(found), written)
    assert images.x_train.shape == (7, 1, 28, 28)
    assert images.y_test.dtype == np.int64


def test_load_images_takes_packed_and_unpacked_files_together(tmp_path):
    arrays = mnist_arrays()
    idx_folder(tmp_path / "mnist", arrays)
    (tmp_path / "mnist" / f"{IDX_NAMES[1]}.gz").unlink()
    made(tmp_path / "mnist" / IDX_NAMES[1], idx(arrays[1]))
    assert data.load_images("mnist", tmp_path, verify=False).y_train.tolist() == arrays[1].tolist()


def test_load_images_verifies_by_default(tmp_path):
    idx_folder(tmp_path / "mnist", mnist_arrays())
    with pytest.raises(
        InputError, match=r"6bbc9ace898e44ae57da46a324031adb.*--fetch mnist.*verify=False"
    ):
        data.load_images("mnist", tmp_path)


def test_published_sums_of_mnist_are_those_of_its_arrays(shared, tmp_path):
    with np.load(shared("mnist.npz") / "mnist.npz") as stored:
        arrays = [stored[key] for key in ("x_train", "y_train", "x_test", "y_test")]
    idx_folder(tmp_path / "mnist", arrays, suffix="")
    images = data.load_images("mnist", tmp_path)
    assert np.array_equal(images.x_test[:, 0], arrays[2])
