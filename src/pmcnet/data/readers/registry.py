"""The file formats of tables: a new one is a file beside this one and a line of `READERS`."""

from pathlib import Path

from pmcnet.data.readers.base import Reader
from pmcnet.data.readers.delimited import DELIMITED
from pmcnet.data.readers.excel import EXCEL
from pmcnet.data.readers.feather import FEATHER
from pmcnet.data.readers.json_lines import JSON_LINES
from pmcnet.data.readers.options import ReadOptions
from pmcnet.data.readers.parquet import PARQUET
from pmcnet.errors import InputError

READERS: tuple[Reader, ...] = (
    DELIMITED,
    EXCEL,
    PARQUET,
    FEATHER,
    JSON_LINES,
)


def format_names() -> str:
    """The formats, as part of a sentence: CSV, TSV, Excel or Parquet."""
    *first, last = (reader.name for reader in READERS)
    return f"{', '.join(first)} or {last}"


def suffixes() -> str:
    """How files of tables may end, as a list for a sentence."""
    return ", ".join(suffix for reader in READERS for suffix in reader.suffixes)


def reader_of(path: Path, asked: ReadOptions) -> Reader:
    """The reader of an existing file, by its suffix, after checking that the file can be read.

    Args:
        path: of the file.
        asked: what is known of the table, which must fit the format.
    """
    if path.is_dir():
        raise InputError(
            f"{str(path)!r} is a folder. Give the path of one file in it ({suffixes()})."
        )
    name = path.name.lower()
    reader = next((reader for reader in READERS if name.endswith(reader.suffixes)), None)
    if reader is None:
        raise InputError(
            f"{path} must end in one of {suffixes()}; got {path.suffix or 'no suffix'}. Rename it "
            "or save it as one."
        )
    return _checked(reader, path, asked)


def recognised(path: Path, asked: ReadOptions) -> Reader:
    """The reader of a file without a suffix, by its content; text where nothing else fits.

    Args:
        path: of the file.
        asked: what is known of the table, which must fit the format.
    """
    _check_readable(path)
    reader = next((reader for reader in READERS if reader.recognises(path)), DELIMITED)
    return _checked(reader, path, asked)


def _checked(reader: Reader, path: Path, asked: ReadOptions) -> Reader:
    _check_readable(path)
    asked.check(reader.takes, f"{path} is read as {reader.name}")
    return reader


def _check_readable(path: Path) -> None:
    if not path.is_file():
        raise InputError(
            f"{path} is a pipe or a device. Write what comes out of it to a file, and give that."
        )
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
