"""More that is fuzzed: Parquet tables, and the datasets of a data folder in each of their forms."""

import gzip
import io
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import pandas as pd

from data.making import IDX_NAMES, batches, cifar_tar, idx, labels, mnist_arrays, pixels, svhn_mat
from faults.mutations import mutated_bytes
from pmcnet import data

Files = dict[str, bytes]  # by their path in the data folder


class ParquetTables:
    """Parquet, with and without compression and dictionaries."""

    def __init__(self) -> None:
        frame = pd.DataFrame(
            {
                "x": np.linspace(-1, 1, 40),
                "n": np.arange(40),
                "city": ["Oslo", "Bergen", None, "-x"] * 10,
                "flag": [True, False] * 20,
                "when": pd.date_range("2024-05-01", periods=40),
            }
        )
        self.seeds = [
            _parquet(frame, compression=None, use_dictionary=False),
            _parquet(frame, compression="gzip"),
            _parquet(frame[["x", "city"]], compression="snappy", row_group_size=7),
            _parquet(frame.astype({"city": "category", "n": "Int64"})),
        ]

    def damaged(self, folder: Path, draw: Random) -> Path:
        content = draw.choice(self.seeds)
        if draw.random() < 0.5:  # only the footer, which describes the columns
            begin = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
            footer = mutated_bytes(content[begin:-8], draw)
            content = content[:begin] + footer + len(footer).to_bytes(4, "little") + content[-4:]
        else:
            content = mutated_bytes(content, draw)
        path = folder / "rows.parquet"
        path.write_bytes(content)
        return path

    def read(self, path: Path) -> None:
        frame = data.read_frame(path)
        assert len(frame) > 0
        again = sum(
            len(chunk) for chunk in data.frame_chunks(path, 7, columns=data.column_kinds(frame))
        )
        assert again == len(frame), "chunks have other rows"


def _parquet(frame: pd.DataFrame, **options: object) -> bytes:
    file = io.BytesIO()
    frame.to_parquet(file, **options)
    return file.getvalue()


class DataFolders:
    """Images and tables of a data folder, their sums not verified: else no damage would be read."""

    def __init__(self) -> None:
        arrays = mnist_arrays()
        names = ("x_train", "y_train", "x_test", "y_test")
        packed = {
            f"mnist/{name}.gz": gzip.compress(idx(a), 1)
            for name, a in zip(IDX_NAMES, arrays, strict=True)
        }
        plain = {f"mnist/{name}": idx(array) for name, array in zip(IDX_NAMES, arrays, strict=True)}
        rows = [",".join(f"{(i + j) / 7:.3f}" for j in range(10)) for i in range(9)]
        protein = "\n".join([",".join(("RMSD", *(f"F{i}" for i in range(1, 10)))), *rows]).encode()
        naval = "\n".join(
            "   ".join(f"{(i + j) / 7:.3e}" for j in range(18)) for i in range(9)
        ).encode()
        self.seeds: list[tuple[str, Files]] = [
            ("mnist", packed),
            ("mnist", plain),
            ("mnist", {"mnist.npz": _npz(dict(zip(names, arrays, strict=True)))}),
            (
                "svhn-g",
                {f"svhn/{part}_32x32.mat": _mat(n) for part, n in (("train", 3), ("test", 2))},
            ),
            ("cifar10", {"cifar10/cifar-10-binary.tar.gz": cifar_tar(batches(1))}),
            ("protein", {"protein/CASP.csv": protein}),
            ("protein", {"protein/protein.zip": _zip({"CASP.csv": protein})}),
            ("naval", {"naval/data.txt": naval}),
        ]
        self.last = "mnist"

    def damaged(self, folder: Path, draw: Random) -> Path:
        self.last, files = draw.choice(self.seeds)
        chosen = draw.choice(sorted(files))
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(_again_packed(name, content, draw) if name == chosen else content)
        return folder

    def read(self, path: Path) -> None:
        load: Callable[..., object] = (
            data.load_images if self.last in data.image_names() else data.load
        )
        found = load(self.last, path, verify=False)
        if isinstance(found, data.Images):
            assert len(found.x_train) == len(found.y_train) > 0
            assert len(found.x_test) == len(found.y_test) > 0
            assert set(np.unique(found.y_train)) <= set(range(10))
        else:
            assert isinstance(found, data.Table)
            assert np.isfinite(found.x).all()
            assert np.isfinite(found.y).all()


def _again_packed(name: str, content: bytes, draw: Random) -> bytes:
    """Damage a file, or what is in it where it is packed."""
    if name.endswith(".gz") and draw.random() < 0.5:
        return gzip.compress(mutated_bytes(gzip.decompress(content), draw), 1)
    if name.endswith((".zip", ".npz")) and draw.random() < 0.5:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = {member: archive.read(member) for member in archive.namelist()}
        chosen = draw.choice(sorted(members))
        return _zip(members | {chosen: mutated_bytes(members[chosen], draw)})
    return mutated_bytes(content, draw)


def _zip(members: Files) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(
                zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED
            )  # dated 1980, whenever it is made
    return file.getvalue()


def _npz(arrays: dict[str, np.ndarray]) -> bytes:
    def content(array: np.ndarray) -> bytes:
        file = io.BytesIO()
        np.save(file, array)
        return file.getvalue()

    return _zip({f"{name}.npy": content(array) for name, array in arrays.items()})


def _mat(n_images: int) -> bytes:
    with tempfile.TemporaryDirectory() as place:
        path = svhn_mat(
            Path(place) / "x.mat", pixels(n_images, 32, 32, 3), labels(n_images) % 9 + 1
        )
        return (
            b"MATLAB 5.0 MAT-file".ljust(116) + path.read_bytes()[116:]
        )  # without the time, which scipy puts there
