import numpy as np
import pytest

from data.making import idx_folder, labels, mnist_arrays
from pmcnet import data
from pmcnet.data.datasets.catalogue import IMAGE_SETS
from pmcnet.data.datasets.mnist import MNIST
from pmcnet.errors import InputError


def images(n_train: int = 10) -> data.Images:
    """Image i is filled with i, so that a split shows which images it took."""
    x = np.arange(n_train, dtype=np.uint8)[:, None, None, None].repeat(4, 2)
    return data.Images("numbered", x, np.arange(n_train), x[:2], np.arange(2), ("a",), "Made up.")


def test_image_names_are_known():
    assert data.image_names() == ("mnist", "mnist-c", "fashion-mnist", "svhn-g", "cifar10")


@pytest.mark.parametrize("known", IMAGE_SETS, ids=data.image_names())
def test_image_sets_have_ten_named_classes_and_a_source(known):
    assert len(set(known.classes)) == 10
    assert known.source.endswith(".")
    assert "(19" in known.source or "(20" in known.source


def test_image_sets_cannot_be_changed():
    with pytest.raises(TypeError):
        IMAGE_SETS[0] = IMAGE_SETS[1]
    with pytest.raises(AttributeError):
        IMAGE_SETS[0].n_test = 0


def test_load_images_unknown_name_lists_the_known_ones():
    with pytest.raises(
        InputError, match=r"'glass'. Use one of mnist, mnist-c, fashion-mnist, svhn-g, cifar10"
    ):
        data.load_images("glass")


@pytest.mark.parametrize("name", data.image_names())
def test_load_images_that_are_absent_says_what_to_put_where(tmp_path, name):
    with pytest.raises(
        InputError, match=f"{name} is not at hand.*{tmp_path}.*`pmcnet datasets --fetch {name}`"
    ):
        data.load_images(name, tmp_path)
    assert not list(tmp_path.iterdir())


def test_load_images_looks_in_the_folder_of_the_environment(tmp_path, monkeypatch):
    idx_folder(tmp_path / "mnist", mnist_arrays())
    monkeypatch.setenv("PMCNET_DATA", str(tmp_path))
    assert len(data.load_images("mnist", verify=False).x_train) == 7


def test_images_without_a_label_are_refused(tmp_path):
    arrays = mnist_arrays()
    arrays[1] = labels(6)
    idx_folder(tmp_path / "mnist", arrays)
    with pytest.raises(InputError, match="training files of mnist hold 7 images and 6 labels"):
        data.load_images("mnist", tmp_path, verify=False)


def test_labels_without_a_class_are_refused(tmp_path):
    arrays = mnist_arrays()
    arrays[3][0] = 10
    idx_folder(tmp_path / "mnist", arrays)
    with pytest.raises(
        InputError, match=r"test labels of mnist run from \d to 10; 0 to 9 are possible"
    ):
        data.load_images("mnist", tmp_path, verify=False)


def test_stored_arrays_stand_in_for_mnist(tmp_path):
    x_train, y_train, x_test, y_test = mnist_arrays()
    np.savez_compressed(
        tmp_path / "mnist.npz", x_train=x_train, y_train=y_train, x_test=x_test, y_test=y_test
    )
    found = data.load_images("mnist", tmp_path)
    assert np.array_equal(found.x_train[:, 0], x_train)
    assert np.array_equal(found.y_test, y_test)


def test_official_files_win_over_stored_arrays(tmp_path):
    x_train, y_train, x_test, y_test = mnist_arrays()
    np.savez(tmp_path / "mnist.npz", x_train=x_train, y_train=y_train, x_test=x_test, y_test=y_test)
    idx_folder(tmp_path / "mnist", mnist_arrays(n_train=5))
    assert len(data.load_images("mnist", tmp_path, verify=False).x_train) == 5


@pytest.mark.parametrize("name", data.image_names())
def test_images_are_no_table(name):
    for read in (data.load, data.read_frame, lambda source: list(data.frame_chunks(source))):
        with pytest.raises(
            InputError, match=rf"{name} is a set of images, not a table.*load_images\('{name}'\)"
        ):
            read(name)


def test_catalogue_opens_no_file_of_the_folder(tmp_path):
    (tmp_path / "mnist.npz").write_bytes(b"no array")
    (tmp_path / "CASP.csv").touch()
    found = {entry["name"]: entry for entry in data.catalogue(tmp_path)}
    assert [name for name, entry in found.items() if not entry["at_hand"]] == [
        "naval",
        "fashion-mnist",
        "svhn-g",
        "cifar10",
    ]
    cifar = found["cifar10"]
    assert (cifar["kind"], cifar["rows"], cifar["test_rows"], cifar["columns"]) == (
        "images",
        60_000,
        10_000,
        3072,
    )
    assert (cifar["shape"], cifar["classes"]) == ([3, 32, 32], 10)
    assert (found["protein"]["rows"], found["protein"]["shape"]) == (45_730, [9])
    assert (found["naval"]["rows"], found["naval"]["shape"]) == (11_934, [14])


def test_image_split_takes_the_permutation_in_order():
    order = np.random.RandomState(3).permutation(10)
    split = data.image_split(images(), n_validation=4, seed=3)
    assert split.y_val.tolist() == order[:4].tolist()
    assert split.y_train.tolist() == order[4:].tolist()


def test_image_split_keeps_images_beside_their_labels():
    split = data.image_split(images(), n_validation=4, seed=3)
    assert np.array_equal(split.x_val[:, 0, 0, 0], split.y_val)
    assert np.array_equal(split.x_train[:, 0, 3, 0], split.y_train)


def test_image_split_leaves_the_test_set_alone():
    split = data.image_split(images(), 4, 3)
    assert np.array_equal(split.x_test, images().x_test)
    assert np.array_equal(split.y_test, images().y_test)


def test_image_split_may_have_no_validation_set():
    split = data.image_split(images(), 0, 3)
    assert split.x_val.shape == (0, 1, 4, 1)
    assert len(split.x_train) == 10


@pytest.mark.parametrize("n", [-1, 0.5, True])
def test_image_split_size_must_be_a_count(n):
    with pytest.raises(InputError, match="n_validation must be a whole number"):
        data.image_split(images(), n, 0)


def test_image_split_without_training_images_is_refused():
    with pytest.raises(
        InputError, match=r"10 training images; n_validation=10 leaves none.*at most 9"
    ):
        data.image_split(images(), 10, 0)


@pytest.mark.parametrize("seed", [-1, 1 << 32, 0.5])
def test_image_split_seed_out_of_range_is_refused(seed):
    with pytest.raises(InputError, match="seed"):
        data.image_split(images(), 1, seed)


def test_sets_at_hand_are_of_the_announced_sizes(shared):
    folder = shared("mnist.npz")
    found = data.load_images("mnist", folder)
    assert found.x_train.shape == (MNIST.n_rows - MNIST.n_test, *MNIST.shape)
    assert found.x_test.shape == (MNIST.n_test, *MNIST.shape)
    assert np.unique(found.y_train).tolist() == list(range(10))
    assert found.x_train.dtype == found.x_test.dtype == np.uint8
