import io
import zipfile

import numpy as np
import pytest
from scipy import ndimage

from data.making import idx_folder, made, mnist_arrays, npy, pixels
from pmcnet import data
from pmcnet.data.datasets import mnist_c
from pmcnet.data.datasets.mnist_c import random_signs, rotate
from pmcnet.data.readers.checksums import Published
from pmcnet.errors import InputError

NAMES = ("train_images", "train_labels", "test_images", "test_labels")


def official() -> dict[str, np.ndarray]:
    """Arrays as the published files have them."""
    x_train, y_train, x_test, y_test = mnist_arrays()
    arrays = (
        x_train[..., None],
        y_train.astype(np.int64),
        x_test[..., None],
        y_test.astype(np.int64),
    )
    return dict(zip(NAMES, arrays, strict=True))


def archive(arrays: dict[str, np.ndarray]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, array in arrays.items():
            packed.writestr(f"mnist_c/rotate/{name}.npy", npy(array))
    return file.getvalue()


def check(images: data.Images, arrays: dict[str, np.ndarray]) -> None:
    for found, written in zip(images[1:5], arrays.values(), strict=True):
        assert np.array_equal(np.squeeze(found), np.squeeze(written))
    assert images.x_train.shape == (7, 1, 28, 28)


def test_published_files_are_read_unpacked(tmp_path):
    for name, array in official().items():
        made(tmp_path / "mnist_c" / "rotate" / f"{name}.npy", npy(array))
    images = data.load_images("mnist-c", tmp_path)
    check(images, official())
    assert "Made" not in images.source


def test_published_files_are_read_in_their_archive(tmp_path, monkeypatch):
    content = archive(official())
    made(tmp_path / "mnist_c.zip", content)
    check(data.load_images("mnist-c", tmp_path, verify=False), official())
    with pytest.raises(
        InputError, match=r"mnist_c\.zip is not the published.*4b34b33045869ee6d424616cd3a65da3"
    ):
        data.load_images("mnist-c", tmp_path)
    monkeypatch.setattr(mnist_c, "ARCHIVE", Published("mnist-c", mnist_c.ARCHIVE.of([content])))
    check(data.load_images("mnist-c", tmp_path), official())


def test_archive_without_the_rotated_images_is_refused(tmp_path):
    arrays = official()
    del arrays["test_images"]
    made(tmp_path / "mnist_c.zip", archive(arrays))
    with pytest.raises(InputError, match=r"has no array 'mnist_c/rotate/test_images'"):
        data.load_images("mnist-c", tmp_path, verify=False)


def test_arrays_of_another_shape_are_refused(tmp_path):
    for name, array in (official() | {"test_images": pixels(4, 28, 28)}).items():
        made(tmp_path / "mnist_c" / "rotate" / f"{name}.npy", npy(array))
    with pytest.raises(InputError, match=r"test_images\.npy announces the shape \(4, 28, 28\)"):
        data.load_images("mnist-c", tmp_path)


def test_set_is_made_from_mnist_where_only_that_is_at_hand(tmp_path):
    arrays = mnist_arrays()
    idx_folder(tmp_path / "mnist", arrays)
    images = data.load_images("mnist-c", tmp_path, verify=False)
    train, test = random_signs(7, 4)
    assert np.array_equal(images.x_train[:, 0], rotate(arrays[0], train))
    assert np.array_equal(images.x_test[:, 0], rotate(arrays[2], test))
    assert np.array_equal(images.y_train, arrays[1])
    assert images.source.endswith("Made from MNIST by their recipe, directions by seed 0.")


def test_rotation_is_that_of_the_recipe():
    x, signs = pixels(20, 28, 28), np.where(np.arange(20) % 3, 1, -1)
    row, column = np.mgrid[:28, :28] - 13.5
    for image, sign, turned in zip(x, signs, rotate(x, signs), strict=True):
        cos, sin = np.cos(0.4 * sign), np.sin(0.4 * sign)
        places = np.stack([sin * column + cos * row, cos * column - sin * row]) + 13.5
        expected = ndimage.map_coordinates(
            image / 255.0, places, order=1, mode="grid-constant", prefilter=False
        )
        assert np.array_equal(turned, np.rint(255 * np.clip(expected, 0, 1)))


def test_rotation_by_a_positive_sign_is_anticlockwise():
    x = np.zeros((2, 28, 28), np.uint8)
    x[:, 12:16, 22:25] = 255  # to the right of the centre
    first, second = (np.argwhere(image).mean(0) for image in rotate(x, np.array([1, -1])))
    assert first[0] < 13.5 < second[0]  # rows count downwards
    assert first[1] == pytest.approx(second[1], abs=0.1)


def test_rotation_keeps_the_channel_and_the_input():
    x = pixels(3, 1, 28, 28)
    before = x.copy()
    assert rotate(x, np.ones(3, int)).shape == x.shape
    assert np.array_equal(x, before)


def test_rotation_of_nothing_is_nothing():
    assert rotate(np.empty((0, 28, 28), np.uint8), np.empty(0, int)).shape == (0, 28, 28)


@pytest.mark.parametrize(
    "x", [pixels(3, 27, 28), pixels(3, 3, 28, 28), pixels(28, 28), np.zeros((3, 28, 28))]
)
def test_rotation_refuses_other_images(x):
    with pytest.raises(InputError, match="images must be bytes"):
        rotate(x, np.ones(len(x), int))


@pytest.mark.parametrize("signs", [np.ones(2, int), np.ones((3, 1), int), np.array([1, 0, -1])])
def test_rotation_refuses_other_signs(signs):
    with pytest.raises(InputError, match="signs must be 3 times 1 or -1"):
        rotate(pixels(3, 28, 28), signs)


def test_rotation_agrees_with_the_set_made_earlier(shared):
    folder = shared("mnist.npz", "mnist_c_rotate_regen.npz")
    with (
        np.load(folder / "mnist.npz") as mnist,
        np.load(folder / "mnist_c_rotate_regen.npz") as stored,
    ):
        assert np.array_equal(
            rotate(mnist["x_test"][:1000], stored["sign_test"][:1000]), stored["x_test"][:1000]
        )
        train, test = random_signs(60_000, 10_000)
        assert np.array_equal(train, stored["sign_train"])
        assert np.array_equal(test, stored["sign_test"])


def test_set_made_earlier_is_read(shared):
    folder = shared("mnist.npz", "mnist_c_rotate_regen.npz")
    images, mnist = data.load_images("mnist-c", folder), data.load_images("mnist", folder)
    assert np.array_equal(images.y_train, mnist.y_train)
    assert images.x_train.shape == mnist.x_train.shape
    assert images.source.endswith("directions by seed 0.")


def test_set_made_earlier_says_where_it_comes_from(tmp_path):
    arrays = {
        "x_train": pixels(4, 28, 28),
        "y_train": np.arange(4),
        "x_test": pixels(2, 28, 28),
        "y_test": np.arange(2),
    }
    np.savez(tmp_path / "mnist_c_rotate_regen.npz", **arrays)
    found = data.load_images("mnist-c", tmp_path)
    assert np.array_equal(found.x_train[:, 0], arrays["x_train"])
    assert found.y_test.tolist() == [0, 1]
    assert found.source.endswith("directions by seed 0.")
