import io
import tarfile

import numpy as np
import pytest

from data.making import BATCH_NAMES, batches, cifar_tar, made, tar
from pmcnet import data
from pmcnet.data.datasets import cifar
from pmcnet.data.readers.checksums import Published
from pmcnet.errors import InputError


def unpacked(folder, records):
    for name, array in records.items():
        made(folder / f"{name}.bin", array.tobytes())


def check(images: data.Images, records) -> None:
    train = np.concatenate([records[name] for name in BATCH_NAMES[:-1]])
    assert images.x_train.shape == (len(train), 3, 32, 32)
    assert np.array_equal(images.x_train.reshape(-1, 3072), train[:, 1:])
    assert np.array_equal(images.y_train, train[:, 0])
    assert np.array_equal(images.x_test.reshape(-1, 3072), records["test_batch"][:, 1:])
    assert np.array_equal(images.y_test, records["test_batch"][:, 0])
    images.x_test[:] = 0  # its own


@pytest.mark.parametrize("place", ["cifar10/cifar-10-binary.tar.gz", "cifar-10-binary.tar.gz"])
def test_archive_gives_back_its_records(tmp_path, place):
    made(tmp_path / place, cifar_tar(batches()))
    check(data.load_images("cifar10", tmp_path, verify=False), batches())


def test_archive_is_read_in_any_order_of_its_members(tmp_path):
    reverse = dict(reversed(batches().items()))
    made(tmp_path / "cifar-10-binary.tar.gz", cifar_tar(reverse))
    check(data.load_images("cifar10", tmp_path, verify=False), batches())


@pytest.mark.parametrize(
    "place", ["cifar10/cifar-10-batches-bin", "cifar-10-batches-bin", "cifar10"]
)
def test_unpacked_batches_give_back_their_records(tmp_path, place):
    unpacked(tmp_path / place, batches())
    check(data.load_images("cifar10", tmp_path, verify=False), batches())


def test_planes_are_red_green_and_blue(tmp_path):
    records = batches(1)
    records["test_batch"][0, 1:] = np.repeat([10, 20, 30], 1024)
    made(tmp_path / "cifar-10-binary.tar.gz", cifar_tar(records))
    assert data.load_images("cifar10", tmp_path, verify=False).x_test[0, :, 0, 0].tolist() == [
        10,
        20,
        30,
    ]


@pytest.mark.parametrize("packed", [True, False])
def test_sums_are_verified_batch_by_batch(tmp_path, monkeypatch, packed):
    records = batches()
    if packed:
        made(tmp_path / "cifar-10-binary.tar.gz", cifar_tar(records))
    else:
        unpacked(tmp_path / "cifar10", records)
    with pytest.raises(
        InputError,
        match=r"data_batch_1\.bin is not the published.*5dd7e06a14cb22eb9f671a540d1b7c25",
    ):
        data.load_images("cifar10", tmp_path)
    known = {
        name: Published("cifar10", Published("", "").of([array.tobytes()]))
        for name, array in records.items()
    }
    monkeypatch.setattr(cifar, "_BATCHES", known)
    check(data.load_images("cifar10", tmp_path), records)


@pytest.mark.parametrize("n_bytes", [0, 3072, 3074, 3073 * 10_001])
def test_batch_of_a_false_size_is_refused(tmp_path, n_bytes):
    members = {f"{name}.bin": array.tobytes() for name, array in batches().items()}
    members["data_batch_3.bin"] = bytes(n_bytes)
    made(tmp_path / "packed" / "cifar-10-binary.tar.gz", tar(members))
    with pytest.raises(
        InputError, match=rf"data_batch_3\.bin in .* has {n_bytes} bytes; 1 to 10000 records"
    ):
        data.load_images("cifar10", tmp_path / "packed", verify=False)
    for name, content in members.items():
        made(tmp_path / "cifar10" / name, content)
    with pytest.raises(
        InputError, match=rf"data_batch_3\.bin has {n_bytes} bytes; 1 to 10000 records"
    ):
        data.load_images("cifar10", tmp_path, verify=False)


def test_archive_without_a_batch_is_refused(tmp_path):
    records = batches()
    del records["data_batch_2"], records["test_batch"]
    made(tmp_path / "cifar-10-binary.tar.gz", cifar_tar(records))
    with pytest.raises(InputError, match=r"has no data_batch_2\.bin, test_batch\.bin"):
        data.load_images("cifar10", tmp_path, verify=False)


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE]
)
def test_archive_members_that_are_no_files_are_passed_over(tmp_path, kind):
    members = {f"{name}.bin": b"" for name in BATCH_NAMES}
    made(tmp_path / "cifar-10-binary.tar.gz", tar(members, type=kind, linkname="/etc/passwd"))
    with pytest.raises(InputError, match=r"has no data_batch_1\.bin"):
        data.load_images("cifar10", tmp_path, verify=False)


def test_archive_is_not_extracted(tmp_path):
    members = {f"../../{name}.bin": array.tobytes() for name, array in batches().items()}
    made(tmp_path / "a" / "b" / "cifar-10-binary.tar.gz", tar(members))
    check(data.load_images("cifar10", tmp_path / "a" / "b", verify=False), batches())
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == [
        "cifar-10-binary.tar.gz"
    ]


def test_archive_is_not_searched_for_ever(tmp_path):
    members = {f"{i}.bin": b"" for i in range(100)}
    last = {f"{name}.bin": array.tobytes() for name, array in batches().items()}
    made(tmp_path / "cifar-10-binary.tar.gz", tar(members | last))
    with pytest.raises(InputError, match=r"has no data_batch_1\.bin"):
        data.load_images("cifar10", tmp_path, verify=False)


@pytest.mark.parametrize("cut", [0, 20, 400, -400])
def test_damaged_archive_is_refused(tmp_path, cut):
    made(tmp_path / "cifar-10-binary.tar.gz", cifar_tar(batches())[:cut])
    with pytest.raises(InputError, match=r"cifar-10-binary\.tar\.gz (is|has)"):
        data.load_images("cifar10", tmp_path, verify=False)


def test_pickled_version_is_not_read(tmp_path):
    made(
        tmp_path / "cifar10" / "cifar-10-python.tar.gz",
        tar({"cifar-10-batches-py/data_batch_1": b"\x80\x02."}),
    )
    with pytest.raises(InputError, match=r"has no cifar10/cifar-10-binary\.tar\.gz"):
        data.load_images("cifar10", tmp_path)


def mosaic(size: tuple[int, int] = (3200, 3200), form: str = "WEBP") -> bytes:
    Image = pytest.importorskip("PIL.Image")
    file = io.BytesIO()
    Image.new("RGB", size, (1, 2, 3)).save(file, form, lossless=True)
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"no picture", "is damaged or of another kind"),
        (lambda: mosaic((3200, 32)), "is 3200 x 32 pixels; a mosaic is 3200 x 3200"),
        (lambda: mosaic((32, 32), "PNG"), "is damaged or of another kind"),
        (lambda: mosaic()[:-20], "is damaged or of another kind"),
    ],
)
def test_malformed_mosaic_is_refused(tmp_path, content, message):
    content = content if isinstance(content, bytes) else content()
    for name in BATCH_NAMES:
        made(tmp_path / "cifar10" / f"{name}.webp", content)
    np.savez(
        tmp_path / "cifar10" / "labels.npz",
        y_train=np.zeros(50_000, "u1"),
        y_test=np.zeros(10_000, "u1"),
    )
    with pytest.raises(InputError, match=rf"data_batch_1\.webp {message}"):
        data.load_images("cifar10", tmp_path)


def test_mosaic_is_cut_row_by_row(tmp_path):
    Image = pytest.importorskip("PIL.Image")
    number = np.arange(10_000).reshape(100, 100)
    colours = np.stack([number // 100, number % 100, np.full_like(number, 7)], -1).astype(np.uint8)
    tiles = colours.repeat(32, 0).repeat(32, 1)  # (3200, 3200, 3)
    Image.fromarray(tiles).save(tmp_path / "mosaic.webp", lossless=True, method=0)
    found = cifar._tiles(tmp_path / "mosaic.webp")
    assert found.shape == (10_000, 3, 32, 32)
    assert (found[:, 0] == (np.arange(10_000) // 100)[:, None, None]).all()
    assert (found[:, 1] == (np.arange(10_000) % 100)[:, None, None]).all()
    assert (found[:, 2] == 7).all()


def test_mosaics_hold_the_official_records(shared):
    names = [f"cifar10/{name}.webp" for name in BATCH_NAMES] + ["cifar10/labels.npz"]
    images = data.load_images("cifar10", shared(*names))
    assert images.x_train.shape == (50_000, 3, 32, 32)
    for name, start in (("data_batch_1", 0), ("data_batch_5", 40_000)):
        part = slice(start, start + 10_000)
        records = np.concatenate(
            [images.y_train[part, None].astype(np.uint8), images.x_train[part].reshape(-1, 3072)], 1
        )
        cifar._BATCHES[name].check([records.tobytes()], shared() / name)
    records = np.concatenate(
        [images.y_test[:, None].astype(np.uint8), images.x_test.reshape(-1, 3072)], 1
    )
    cifar._BATCHES["test_batch"].check([records.tobytes()], shared() / "test_batch")
