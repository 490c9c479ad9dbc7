"""CIFAR-10: the binary version, packed or not, or mosaics of 100 x 100 images with their labels.

A record of a binary file is a label and the red, green and blue planes of a 32 x 32 image, 3073
bytes in all. The version that needs unpickling is not read.
"""

import tarfile
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from pmcnet.data.datasets.data_folder import Form
from pmcnet.data.datasets.downloads import Download
from pmcnet.data.datasets.images import ImageSet, Parts
from pmcnet.data.readers.checksums import Published, check_end, exactly, reading
from pmcnet.data.readers.npy import BYTES, Wanted, read_npz
from pmcnet.errors import InputError

_N_IMAGES = 10_000  # of a batch
_RECORD = 1 + 3 * 32 * 32
_N_MEMBERS = 100  # how far into an archive to look
_SIDE = 100  # images along each side of a mosaic
_OBJECTS = "airplane automobile bird cat deer dog frog horse ship truck"
_UNPACKED_PLACES = ("cifar10/cifar-10-batches-bin/", "cifar-10-batches-bin/", "cifar10/")

_BATCHES: Mapping[str, Published] = MappingProxyType(
    {
        "data_batch_1": Published("cifar10", "5dd7e06a14cb22eb9f671a540d1b7c25"),
        "data_batch_2": Published("cifar10", "5ea93a67294ea407fff1d09f752e9692"),
        "data_batch_3": Published("cifar10", "942cd6a4bcdd0dd3c604fbe906cb4421"),
        "data_batch_4": Published("cifar10", "ae636b3ba5c66a11e91e8cb52e771fcb"),
        "data_batch_5": Published("cifar10", "53f37980c15c3d472c316c40844f3f0d"),
        "test_batch": Published("cifar10", "803d5f7f4d78ea53de84dbe85f74fb6d"),
    }
)

Records = NDArray[np.uint8]  # (n, 3073)


def read_archive(paths: Sequence[Path], verify: bool) -> Parts:
    """The batches of cifar-10-binary.tar.gz, one after the other; nothing is extracted."""
    (path,) = paths
    found: dict[str, bytes] = {}
    with reading(path), tarfile.open(path, "r:gz") as archive:
        for _, member in zip(range(_N_MEMBERS), archive, strict=False):
            name = member.name.rpartition("/")[2].removesuffix(".bin")
            if name not in _BATCHES or not member.isreg() or member.issparse():
                continue
            _check_size(member.size, f"{member.name} in {path}")
            file = archive.extractfile(member)
            assert file is not None  # a regular file
            found[name] = exactly(file, member.size, path)
    missing = ", ".join(f"{name}.bin" for name in _BATCHES if name not in found)
    if missing:
        raise InputError(f"{path} has no {missing}. Replace it by the binary version of CIFAR-10.")
    return _parts((found[name] for name in _BATCHES), path, verify)


def read_batches(paths: Sequence[Path], verify: bool) -> Parts:
    """Unpacked batches, the test batch last."""
    return _parts(map(_content, paths), paths[0].parent, verify)


def read_mosaics(paths: Sequence[Path], verify: bool) -> Parts:
    """Six lossless mosaics, row by row, then labels.npz; these have no published sums."""
    *mosaics, labels = paths
    wanted = {"y_train": Wanted((50_000,), BYTES), "y_test": Wanted((_N_IMAGES,), BYTES)}
    y = np.concatenate(read_npz(labels, wanted))  # (60000,)
    x = np.concatenate([_tiles(path) for path in mosaics])  # (60000, 3, 32, 32)
    n_train = len(x) - _N_IMAGES
    return Parts(
        x[:n_train], y[:n_train].astype(np.int64), x[n_train:], y[n_train:].astype(np.int64)
    )


CIFAR10 = ImageSet(
    name="cifar10",
    n_rows=60_000,
    n_test=10_000,
    shape=(3, 32, 32),
    classes=tuple(_OBJECTS.split()),
    source="Krizhevsky (2009), Learning Multiple Layers of Features from Tiny Images. No licence "
    "is stated.",
    forms=(
        Form((("cifar10/cifar-10-binary.tar.gz", "cifar-10-binary.tar.gz"),), read_archive),
        Form(
            tuple(tuple(f"{place}{name}.bin" for place in _UNPACKED_PLACES) for name in _BATCHES),
            read_batches,
        ),
        Form(
            (*((f"cifar10/{name}.webp",) for name in _BATCHES), ("cifar10/labels.npz",)),
            read_mosaics,
        ),
    ),
    downloads=(
        Download(
            "cifar10/cifar-10-binary.tar.gz",
            "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
            Published("cifar10", "c32a1d4ab5d03f1284b67883e8d87530"),
        ),
    ),
)


def _content(path: Path) -> bytes:
    with reading(path), path.open("rb") as file:
        n_bytes = path.stat().st_size
        _check_size(n_bytes, str(path))
        content = exactly(file, n_bytes, path)
        check_end(file, path)
        return content


def _check_size(n_bytes: int, what: str) -> None:
    if n_bytes % _RECORD or not 1 <= n_bytes // _RECORD <= _N_IMAGES:
        raise InputError(
            f"{what} has {n_bytes} bytes; 1 to {_N_IMAGES} records of {_RECORD} bytes are "
            "possible. Replace it by the binary version of CIFAR-10."
        )


def _parts(contents: Iterable[bytes], where: Path, verify: bool) -> Parts:
    batches: list[Records] = []
    for content, (name, published) in zip(contents, _BATCHES.items(), strict=True):
        if verify:
            published.check((content,), where / f"{name}.bin")
        batches.append(np.frombuffer(content, np.uint8).reshape(-1, _RECORD))
    train, test = np.concatenate(batches[:-1]), batches[-1]
    return Parts(*_unpacked(train), *_unpacked(test))


def _unpacked(records: Records) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    return records[:, 1:].reshape(-1, 3, 32, 32).copy(), records[:, 0].astype(np.int64)


def _tiles(path: Path) -> NDArray[np.uint8]:
    """The images of a mosaic (10000, 3, 32, 32)."""
    from PIL import Image

    with reading(path), warnings.catch_warnings():
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # the size is checked here
        try:
            image = Image.open(path, formats=["WEBP"])
        except Image.DecompressionBombError as error:
            raise InputError(
                f"{path} is a far larger image than a mosaic, which is 3200 x 3200."
            ) from error
    with reading(path), image:
        if image.size != (_SIDE * 32, _SIDE * 32):  # known before the pixels are
            raise InputError(
                f"{path} is {image.size[0]} x {image.size[1]} pixels; a mosaic is 3200 x 3200."
            )
        mosaic = np.asarray(image.convert("RGB")).reshape(_SIDE, 32, _SIDE, 32, 3)
    return mosaic.transpose(0, 2, 4, 1, 3).reshape(-1, 3, 32, 32)  # (10000, 3, 32, 32)
