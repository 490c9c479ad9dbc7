"""Street View House Numbers, cropped digits: train_32x32.mat and test_32x32.mat, turned to grey.

In colour and without labels they serve as outliers, of which other networks should be unsure.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pmcnet.data.datasets.data_folder import Form, at_hand, data_folder, read_first
from pmcnet.data.datasets.downloads import Download
from pmcnet.data.datasets.images import Classes, ImageSet, Parts, Pixels
from pmcnet.data.readers.checksums import Published, check_shape, pieces
from pmcnet.data.readers.npy import BYTES, Wanted, read_npz
from pmcnet.errors import InputError
from pmcnet.io.files import one_line

_N_TRAIN, _N_TEST = 73_257, 26_032
_GREY = (299, 587, 114)  # thousandths of red, green and blue: ITU-R 601
_BLOCK = 4096

_ADDRESS = "https://ufldl.stanford.edu/housenumbers"
TRAIN = Published("svhn-g", "e26dedcc434d2e4c54c9b2d4a06d8373")
TEST = Published("svhn-g", "eb5a983be6a315427106f1b164d9cef3")


def read_grey(paths: Sequence[Path], verify: bool) -> Parts:
    """Both files; the digit 0, which they label 10, is class 0."""
    train, test = paths
    x_train, y_train = _read(train, _N_TRAIN, TRAIN if verify else None)
    x_test, y_test = _read(test, _N_TEST, TEST if verify else None)
    return Parts(grey(x_train), y_train, grey(x_test), y_test)


SVHN_GREY = ImageSet(
    name="svhn-g",
    n_rows=_N_TRAIN + _N_TEST,
    n_test=_N_TEST,
    shape=(1, 32, 32),
    classes=tuple("0123456789"),
    source="Netzer, Wang, Coates, Bissacco, Wu and Ng (2011), Street View House Numbers, cropped "
    "digits. For non-commercial use only. Turned to grey.",
    forms=(
        Form(
            tuple((f"svhn/{part}_32x32.mat", f"{part}_32x32.mat") for part in ("train", "test")),
            read_grey,
        ),
    ),
    downloads=(
        Download("svhn/train_32x32.mat", f"{_ADDRESS}/train_32x32.mat", TRAIN),
        Download("svhn/test_32x32.mat", f"{_ADDRESS}/test_32x32.mat", TEST),
    ),
)


def crops(folder: str | Path | None = None) -> Pixels | None:
    """Crops in colour (n, 3, 32, 32): those of a file of some, else the official test set.

    None where neither is at hand.

    Args:
        folder: The data folder; by default that of PMCNET_DATA, else the user's cache folder.
    """
    place = data_folder(folder)
    return read_first("crops of SVHN", _CROPS, place, True) if at_hand(_CROPS, place) else None


def _read_some(paths: Sequence[Path], verify: bool) -> Pixels:
    parts = read_npz(
        paths[0],
        {f"x_{part}_head": Wanted((_N_TEST, 32, 32, 3), BYTES) for part in ("train", "test")},
    )
    return np.ascontiguousarray(np.concatenate(parts).transpose(0, 3, 1, 2))


def _read_colours(paths: Sequence[Path], verify: bool) -> Pixels:
    return np.ascontiguousarray(_read(paths[0], _N_TEST, TEST if verify else None)[0])


_CROPS = (
    Form((("svhn_partial_unlabelled.npz",),), _read_some),
    Form((("svhn/test_32x32.mat", "test_32x32.mat"),), _read_colours),
)


def grey(x: NDArray[np.uint8]) -> Pixels:
    """Luma 0.299 R + 0.587 G + 0.114 B to the nearest whole number.

    Args:
        x: Colours (N, 3, H, W).
    """
    luma = np.empty((len(x), 1, *x.shape[2:]), np.uint8)
    weight = np.array(_GREY, np.uint32)[:, None, None]
    for start in range(0, len(x), _BLOCK):
        block = x[start : start + _BLOCK]
        luma[start : start + _BLOCK, 0] = ((block * weight).sum(1, dtype=np.uint32) + 500) // 1000
    return luma


def _read(path: Path, n_most: int, published: Published | None) -> tuple[Pixels, Classes]:
    """Colours (N, 3, 32, 32) and classes."""
    from scipy import io  # type: ignore[import-untyped]  # takes long to import

    if published:
        published.check(pieces(path), path)
    announced = _parsed(io.whosmat, path)
    _check_announced({name: (shape, kind) for name, shape, kind in announced}, n_most, path)
    arrays = _parsed(io.loadmat, path, variable_names=("X", "y"))
    x, y = arrays["X"], arrays["y"].reshape(-1)  # (32, 32, 3, N), (N,)
    if x.dtype != np.uint8 or not np.isin(y, np.arange(1, 11)).all():
        raise InputError(
            f"{path} must hold bytes X and labels y from 1 to 10. Replace it by the official file."
        )
    return x.transpose(3, 2, 0, 1), y.astype(np.int64) % 10


def _parsed(parse: Callable[..., Any], path: Path, **options: Any) -> Any:
    try:
        with path.open("rb") as file:
            return parse(file, **options)
    except MemoryError:
        raise
    except Exception as error:  # the parser fails on damaged files in many ways
        raise InputError(
            f"{path} cannot be read as a MATLAB file of version 5 ({one_line(error)}). Replace it "
            "by the official file."
        ) from error


def _check_announced(
    announced: dict[str, tuple[tuple[int, ...], str]], n_most: int, path: Path
) -> None:
    """Names, shapes and types, before the arrays are allocated."""
    if not {"X", "y"} <= announced.keys():
        raise InputError(f"{path} holds {', '.join(announced) or 'nothing'}; X and y are needed.")
    (shape, kind), (labels, label_kind) = announced["X"], announced["y"]
    if kind != "uint8" or label_kind not in ("uint8", "double", "int64"):
        raise InputError(
            f"{path} holds X of {kind} and y of {label_kind}; bytes and numbers are needed."
        )
    check_shape(shape[-1:] + shape[:-1], (n_most, 32, 32, 3), f"X in {path}")
    check_shape(labels, (shape[-1], 1), f"y in {path}")
