"""Small files of the official forms."""

import gzip
import io
import struct
import tarfile
from pathlib import Path

import numpy as np
from scipy.io import savemat

IDX_NAMES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)
BATCH_NAMES = (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch")


def made(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(
        gzip.compress(content)
        if path.suffix == ".gz" and not path.name.endswith(".tar.gz")
        else content
    )
    return path


def pixels(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def labels(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 10, n, dtype=np.uint8)


def idx(array: np.ndarray) -> bytes:
    return struct.pack(f">{1 + array.ndim}I", 0x800 + array.ndim, *array.shape) + array.tobytes()


def mnist_arrays(n_train: int = 7, n_test: int = 4) -> list[np.ndarray]:
    """Images and labels for training, then for testing."""
    return [
        pixels(n_train, 28, 28),
        labels(n_train),
        pixels(n_test, 28, 28, seed=1),
        labels(n_test, seed=1),
    ]


def idx_folder(folder: Path, arrays: list[np.ndarray], suffix: str = ".gz") -> Path:
    """The four files of MNIST, in a folder of their own."""
    for name, array in zip(IDX_NAMES, arrays, strict=True):
        made(folder / f"{name}{suffix}", idx(array))
    return folder


def batches(n: int = 3) -> dict[str, np.ndarray]:
    """Records (n, 3073) of each batch of CIFAR-10."""
    return {
        name: np.concatenate([labels(n, seed)[:, None], pixels(n, 3072, seed=seed)], 1)
        for seed, name in enumerate(BATCH_NAMES)
    }


def tar(members: dict[str, bytes], **fields: bytes) -> bytes:
    """A gzipped archive; `fields` are of every member."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            for field, value in fields.items():
                setattr(member, field, value)
            archive.addfile(member, io.BytesIO(content))
    return file.getvalue()


def cifar_tar(records: dict[str, np.ndarray]) -> bytes:
    members = {
        f"cifar-10-batches-bin/{name}.bin": array.tobytes() for name, array in records.items()
    }
    return tar({"cifar-10-batches-bin/readme.html": b"<html>", **members})


def svhn_mat(path: Path, x: np.ndarray, y: np.ndarray, **more: np.ndarray) -> Path:
    """Images (N, 32, 32, 3) and labels 1 to 10, stored as the official file stores them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    savemat(path, {"X": x.transpose(1, 2, 3, 0), "y": y[:, None], **more}, do_compression=True)
    return path


def npy(array: np.ndarray, version: tuple[int, int] | None = None) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, array, version=version)
    return file.getvalue()
