"""Tables that are not shipped but read from the data folder: Protein and Naval, as UCI publishes them."""

import io
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from pmcnet.data.datasets.folder import Form, at_hand, data_folder, read_first
from pmcnet.data.readers.checksums import Published, check_shape, reading
from pmcnet.data.readers.npy import REAL, Wanted, read_npz
from pmcnet.data.table import Table
from pmcnet.errors import InputError

Numbers = NDArray[np.float64]  # (N, d + 1): features, then the target

_UCI = "UCI Machine Learning Repository, CC BY 4.0"
_MOST_BYTES = 1 << 23  # of text; the official files have less than half

_PROTEIN_ROWS = 45_730
_PROTEIN_COLUMNS = ("RMSD", *(f"F{i}" for i in range(1, 10)))
_PROTEIN = Published(
    "protein", "4277cfcb4e91a181746cbc654f001b57951c9e6a80f4f795fdb5c807e0848f40", "sha256"
)

_NAVAL_ROWS = 11_934
_NAVAL_COLUMNS = (
    *(
        "lp",
        "v",
        "GTT",
        "GTn",
        "GGn",
        "Ts",
        "Tp",
        "T48",
        "T1",
        "T2",
        "P48",
        "P1",
        "P2",
        "Pexh",
        "TIC",
        "mf",
    ),
    *("kMc", "kMt"),
)
_NAVAL_FEATURES = tuple(
    name for name in _NAVAL_COLUMNS[:-2] if name not in ("T1", "P1")
)  # those two never vary
_NAVAL = Published(
    "naval", "de0ea69da1efaab8b9655ffed828547d10dd68c1fb8c6e0163e6a988def393a6", "sha256"
)


@dataclass(frozen=True, kw_only=True)
class FolderTable:
    """What is known of a table before it is read; all are regressions."""

    n_rows: int
    features: tuple[str, ...]
    source: str
    forms: tuple[Form[Numbers], ...]  # the first whose files are there is read


def _read_protein(paths: Sequence[Path], verify: bool) -> Numbers:
    """CASP.csv: a line of names, then the target before the features."""
    (path,) = paths
    header, _, rows = _text(path, "CASP.csv", _PROTEIN if verify else None).partition("\n")
    if tuple(name.strip(' "\r') for name in header.split(",")) != _PROTEIN_COLUMNS:
        raise InputError(
            f"{path} must begin with the line {','.join(_PROTEIN_COLUMNS)}. Replace it by UCI's "
            "CASP.csv."
        )
    return np.roll(_numbers(rows, ",", (_PROTEIN_ROWS, len(_PROTEIN_COLUMNS)), path), -1, axis=1)


def _read_naval(paths: Sequence[Path], verify: bool) -> Numbers:
    """data.txt: 16 features, the decay of the compressor and that of the turbine, without names."""
    (path,) = paths
    text = _text(path, "UCI CBM Dataset/data.txt", _NAVAL if verify else None)
    values = _numbers(text, None, (_NAVAL_ROWS, len(_NAVAL_COLUMNS)), path)
    return values[:, [_NAVAL_COLUMNS.index(name) for name in (*_NAVAL_FEATURES, "kMc")]]


def _read_protein_arrays(paths: Sequence[Path], verify: bool) -> Numbers:
    (path,) = paths
    x, y = read_npz(
        path, {"X": Wanted((_PROTEIN_ROWS, 9), REAL), "y": Wanted((_PROTEIN_ROWS,), REAL)}
    )
    return np.column_stack([x, y]).astype(np.float64)


def _read_naval_arrays(paths: Sequence[Path], verify: bool) -> Numbers:
    (path,) = paths
    x, y = read_npz(path, {"X": Wanted((_NAVAL_ROWS, 16), REAL), "y": Wanted((_NAVAL_ROWS,), REAL)})
    return np.column_stack(
        [x[:, [_NAVAL_COLUMNS.index(name) for name in _NAVAL_FEATURES]], y]
    ).astype(np.float64)


FOLDER_TABLES: Mapping[str, FolderTable] = MappingProxyType(
    {
        "protein": FolderTable(
            n_rows=_PROTEIN_ROWS,
            features=_PROTEIN_COLUMNS[1:],
            source=f"Rana (2013), Physicochemical Properties of Protein Tertiary Structure. {_UCI}.",
            forms=(
                Form((("protein/CASP.csv", "CASP.csv", "protein/protein.zip"),), _read_protein),
                Form((("uci/protein-tertiary-structure.npz",),), _read_protein_arrays),
            ),
        ),
        "naval": FolderTable(
            n_rows=_NAVAL_ROWS,
            features=_NAVAL_FEATURES,
            source="Coraddu, Oneto, Ghio, Savio, Anguita and Figari (2014), Condition Based Maintenance of Naval "
            f"Propulsion Plants. {_UCI}. Decay of the compressor; constant columns T1 and P1 left "
            "out.",
            forms=(
                Form(
                    (("naval/data.txt", "naval/UCI CBM Dataset/data.txt", "naval/naval.zip"),),
                    _read_naval,
                ),
                Form((("uci/naval-propulsion-plant.npz",),), _read_naval_arrays),
            ),
        ),
    }
)


def load_folder_table(name: str, folder: str | Path | None, verify: bool) -> Table:
    """One of `FOLDER_TABLES`, in the order of UCI's file.

    Args:
        name: One of `FOLDER_TABLES`.
        folder: The data folder, if not the usual one.
        verify: Whether to compare official files with their published sums.
    """
    known = FOLDER_TABLES[name]
    values = read_first(name, known.forms, data_folder(folder), verify)  # (N, d + 1)
    if not np.isfinite(values).all():
        raise InputError(
            f"the file of {name} holds values that are not finite. Replace it by the official file."
        )
    return Table(
        name=name,
        x=values[:, :-1].copy(),  # (N, d)
        y=values[:, -1].copy(),  # (N,)
        task="regression",
        classes=(),
        features=known.features,
        source=known.source,
    )


def table_at_hand(name: str, folder: str | Path | None = None) -> bool:
    """Whether `load_folder_table` would find its files; none is opened."""
    return at_hand(FOLDER_TABLES[name].forms, data_folder(folder))


def _text(path: Path, member: str, published: Published | None) -> str:
    """The text of a file, or of a file in a zip file."""
    with reading(path):
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive, archive.open(member) as file:
                content = file.read(_MOST_BYTES + 1)
        else:
            with path.open("rb") as plain:
                content = plain.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise InputError(
                f"{path} has more than {_MOST_BYTES} bytes of text. Replace it by the official "
                "file."
            )
        if published:
            published.check((content,), path)
        return content.decode("ascii")


def _numbers(text: str, delimiter: str | None, largest: tuple[int, int], path: Path) -> Numbers:
    """Rows of numbers, as many columns as expected and at most as many rows."""
    if not text.strip():
        raise InputError(f"{path} has no rows. Replace it by the official file.")
    with reading(path):
        values = np.loadtxt(
            io.StringIO(text), delimiter=delimiter, comments=None, ndmin=2, max_rows=largest[0] + 1
        )
    check_shape(values.shape, largest, str(path))
    return values
