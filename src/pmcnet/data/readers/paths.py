"""Where a table is: the file behind a path, checked before anything is read from it."""

import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from pmcnet.data.datasets.catalogue import names
from pmcnet.data.datasets.images import check_no_images
from pmcnet.data.readers.cells import shown
from pmcnet.errors import InputError

# what separates the fields; None where that is not text
_FORMATS: Mapping[str, str | None] = MappingProxyType(
    {".csv": ",", ".csv.gz": ",", ".tsv": "\t", ".tsv.gz": "\t", ".parquet": None}
)
_KNOWN = ", ".join(_FORMATS)

MOST_COLUMNS = 15_000
"""Beyond this a table takes far more memory than its file."""


class Place(NamedTuple):
    """A file that exists, is not empty and may be read."""

    path: Path
    delimiter: str | None  # None for Parquet

    @property
    def gzipped(self) -> bool:
        """Whether the text is compressed."""
        return self.path.suffix.lower() == ".gz"


def is_built_in(source: str | Path) -> bool:
    """Whether `read_frame` takes this for the name of a built-in table; those have no suffix, files do."""
    if not isinstance(source, str | Path):
        raise InputError(
            f"a table is named by a path or a built-in dataset's name; got {type(source).__name__}."
        )
    check_no_images(str(source))
    return str(source) in names()


def locate(source: str | Path) -> Place:
    """The file at a path.

    Args:
        source: Of a file with one of the suffixes .csv, .csv.gz, .tsv, .tsv.gz and .parquet, in
            capitals or not.
    """
    path = Path(source)
    if not os.path.exists(path):  # unlike the method, False for a name that is too long
        built_in = (
            f" It is no built-in dataset either; those are {', '.join(names())}."
            if not path.suffix
            else ""
        )
        folder = f"{path.absolute().parent!s:.200}"
        raise InputError(
            f"there is no file {shown(source, 200)} (looked in {folder}).{built_in} Check the path."
        )
    if path.is_dir():
        raise InputError(
            f"{str(source)!r} is a folder. Give the path of one file in it ({_KNOWN})."
        )
    suffix = next((end for end in _FORMATS if path.name.lower().endswith(end)), None)
    if suffix is None:
        raise InputError(
            f"{path} must end in one of {_KNOWN}; got {path.suffix or 'no suffix'}. Rename it or "
            "save it as one."
        )
    if not path.is_file():
        raise InputError(
            f"{path} is a pipe or a device. Write what comes out of it to a file, and give that."
        )
    _check_readable(path)
    return Place(path, _FORMATS[suffix])


def _check_readable(path: Path) -> None:
    try:
        with path.open("rb") as file:
            empty = not file.read(1)
    except PermissionError as error:
        raise InputError(
            f"{path} may not be read by you. Ask its owner, or: chmod u+r '{path}'."
        ) from error
    except OSError as error:
        raise InputError(
            f"{path} cannot be read: {error.strerror or error}. Check the disk, or copy the file."
        ) from error
    if empty:
        raise InputError(
            f"{path} is empty (0 bytes). A table needs a header line and at least one row."
        )


def check_names(names: tuple[str, ...], path: Path) -> None:
    """Refuse too many columns, columns without a name and names given twice."""
    if len(names) > MOST_COLUMNS:
        raise InputError(
            f"{path} has {len(names)} columns; {MOST_COLUMNS} are possible. Save fewer of them."
        )
    for position, name in enumerate(names, start=1):
        if not name:
            raise InputError(
                f"column {position} of {path} has no name. Name it in the first line, or leave the "
                "column out "
                "(pandas: to_csv(..., index=False); also look for a delimiter too many at the end "
                "of the line)."
            )
    repeated = next((name for name, count in Counter(names).items() if count > 1), None)
    if repeated is not None:
        all_positions = [str(i) for i, name in enumerate(names, start=1) if name == repeated]
        positions = " and ".join(all_positions[:5])
        raise InputError(
            f"{path} has the column name {shown(repeated)} more than once (columns {positions}). "
            "Rename or drop all "
            "but one; if the file has no header line, add one."
        )


def check_some_rows(n_rows: int, path: Path) -> None:
    """Refuse a header without rows."""
    if n_rows == 0:
        raise InputError(f"{path} has column names and no rows. Add at least one row.")
