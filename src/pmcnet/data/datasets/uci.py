"""Tables read from the data folder: Protein and Naval, as UCI publishes them."""

import io
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pmcnet.data.datasets.data_folder import Form
from pmcnet.data.datasets.downloads import Download
from pmcnet.data.datasets.table_set import UCI, TableRows, TableSet
from pmcnet.data.readers.checksums import Published, check_shape, reading
from pmcnet.data.readers.npy import REAL, Wanted, read_npz
from pmcnet.errors import InputError

_ADDRESS = "https://archive.ics.uci.edu/static/public"
_MOST_BYTES = 1 << 23  # of text; the official files have less than half

_PROTEIN_ROWS = 45_730
_PROTEIN_COLUMNS = ("RMSD", *(f"F{i}" for i in range(1, 10)))
_PROTEIN = Published(
    "protein", "4277cfcb4e91a181746cbc654f001b57951c9e6a80f4f795fdb5c807e0848f40", "sha256"
)
_PROTEIN_ZIP = Published(
    "protein", "ee6536c8cc415dc50d66bd247af7c9bc95c187ab8a4ea0f1f546b127206c1100", "sha256"
)

_NAVAL_ROWS = 11_934
_NAVAL_NAMES = "lp v GTT GTn GGn Ts Tp T48 T1 T2 P48 P1 P2 Pexh TIC mf kMc kMt"
_NAVAL_COLUMNS = tuple(_NAVAL_NAMES.split())
_NAVAL_FEATURES = tuple(  # without T1 and P1, which never vary
    name for name in _NAVAL_COLUMNS[:-2] if name not in ("T1", "P1")
)
_NAVAL = Published(
    "naval", "de0ea69da1efaab8b9655ffed828547d10dd68c1fb8c6e0163e6a988def393a6", "sha256"
)
_NAVAL_ZIP = Published(
    "naval", "91a3815da80b5ab7e2d5b82ac82f1c2cbf89182c7a65bcdf240db1e014423cb9", "sha256"
)


def _read_protein(paths: Sequence[Path], verify: bool) -> TableRows:
    """CASP.csv: a line of names, then the target before the features."""
    (path,) = paths
    header, _, rows = _text(path, "CASP.csv", _PROTEIN if verify else None).partition("\n")
    if tuple(name.strip(' "\r') for name in header.split(",")) != _PROTEIN_COLUMNS:
        raise InputError(
            f"{path} must begin with the line {','.join(_PROTEIN_COLUMNS)}. Replace it by UCI's "
            "CASP.csv."
        )
    values = _numbers(rows, ",", (_PROTEIN_ROWS, len(_PROTEIN_COLUMNS)), path)  # (N, 1 + d)
    return TableRows(_PROTEIN_COLUMNS[1:], values[:, 1:], values[:, 0])


def _read_naval(paths: Sequence[Path], verify: bool) -> TableRows:
    """data.txt: 16 features, the decay of the compressor and that of the turbine, without names."""
    (path,) = paths
    text = _text(path, "UCI CBM Dataset/data.txt", _NAVAL if verify else None)
    values = _numbers(text, None, (_NAVAL_ROWS, len(_NAVAL_COLUMNS)), path)  # (N, 18)
    return _selected(_NAVAL_FEATURES, _NAVAL_COLUMNS, values, values[:, -2])


def _stored(
    place: str, n_rows: int, columns: tuple[str, ...], features: tuple[str, ...]
) -> Form[TableRows]:
    """Arrays X of all columns and y, in the order of UCI's file."""

    def read(paths: Sequence[Path], verify: bool) -> TableRows:
        (path,) = paths
        wanted = {"X": Wanted((n_rows, len(columns)), REAL), "y": Wanted((n_rows,), REAL)}
        x, y = read_npz(path, wanted)
        return _selected(features, columns, x, y)

    return Form(((place,),), read)


def _selected(
    features: tuple[str, ...],
    columns: tuple[str, ...],
    x: NDArray[np.float64],
    y: NDArray[np.float64],
) -> TableRows:
    return TableRows(features, x[:, [columns.index(name) for name in features]], y)


PROTEIN = TableSet(
    name="protein",
    n_rows=_PROTEIN_ROWS,
    shape=(9,),
    source=f"Rana (2013), Physicochemical Properties of Protein Tertiary Structure. {UCI}.",
    forms=(
        Form((("protein/CASP.csv", "CASP.csv", "protein/protein.zip"),), _read_protein),
        _stored(
            "uci/protein-tertiary-structure.npz",
            _PROTEIN_ROWS,
            _PROTEIN_COLUMNS[1:],
            _PROTEIN_COLUMNS[1:],
        ),
    ),
    downloads=(
        Download(
            "protein/protein.zip",
            f"{_ADDRESS}/265/physicochemical+properties+of+protein+tertiary+structure.zip",
            _PROTEIN_ZIP,
        ),
    ),
)
NAVAL = TableSet(
    name="naval",
    n_rows=_NAVAL_ROWS,
    shape=(len(_NAVAL_FEATURES),),
    source="Coraddu, Oneto, Ghio, Savio, Anguita and Figari (2014), Condition Based Maintenance of "
    f"Naval Propulsion Plants. {UCI}. Decay of the compressor; constant columns T1 and P1 left "
    "out.",
    forms=(
        Form(
            (("naval/data.txt", "naval/UCI CBM Dataset/data.txt", "naval/naval.zip"),),
            _read_naval,
        ),
        _stored(
            "uci/naval-propulsion-plant.npz", _NAVAL_ROWS, _NAVAL_COLUMNS[:-2], _NAVAL_FEATURES
        ),
    ),
    downloads=(
        Download(
            "naval/naval.zip",
            f"{_ADDRESS}/316/condition+based+maintenance+of+naval+propulsion+plants.zip",
            _NAVAL_ZIP,
        ),
    ),
)


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


def _numbers(
    text: str, delimiter: str | None, largest: tuple[int, int], path: Path
) -> NDArray[np.float64]:
    """Rows of numbers, as many columns as expected and at most as many rows."""
    if not text.strip():
        raise InputError(f"{path} has no rows. Replace it by the official file.")
    with reading(path):
        values = np.loadtxt(
            io.StringIO(text), delimiter=delimiter, comments=None, ndmin=2, max_rows=largest[0] + 1
        )
    check_shape(values.shape, largest, str(path))
    return values
