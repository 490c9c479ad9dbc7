"""What reads the files of one format, the table in a file, and the checks that each makes."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pmcnet.data.readers.cells import Kind, check_asked, converted, shown
from pmcnet.data.readers.options import ReadOptions
from pmcnet.errors import InputError

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]

MOST_COLUMNS = 15_000
"""Beyond this a table takes far more memory than its file."""
MOST_CELLS = 50
"""For each byte of a file, once they are not few."""


@dataclass(frozen=True, kw_only=True)
class TableFile(ABC):
    """A table whose form is known: it may be read again and again, whole or in pieces.

    Args:
        where: names the table in errors.
        place: what finds the table again, from whatever folder.
        names: of its columns.
        understood: what was found out about its form, in a few words each.
    """

    where: str
    place: str
    names: tuple[str, ...]
    understood: tuple[str, ...] = ()

    @abstractmethod
    def frame(self) -> "DataFrame":
        """The whole table; columns are numbers or booleans where all cells are, else strings."""

    def chunks(self, columns: Mapping[str, Kind], n_rows: int) -> Iterator["DataFrame"]:
        """The table in pieces; here cut from the whole, for formats that can only be read whole.

        Args:
            columns: the columns to convert, as for `frame_chunks`; the others stay as stored.
            n_rows: rows of a piece, at most.
        """
        check_asked(columns, self.names, self.where)
        whole = converted(self.frame(), columns, where=self.where)
        return (whole.iloc[start : start + n_rows] for start in range(0, len(whole), n_rows))

    def pairs(
        self, columns: Mapping[str, Kind], n_rows: int
    ) -> Iterator[tuple["DataFrame", "DataFrame"]]:
        """The pieces as they are stored, each with itself converted."""
        check_asked(columns, self.names, self.where)
        for raw in self.chunks({}, n_rows):
            first_row = int(raw.index[0]) + 1
            yield raw, converted(raw, columns, where=self.where, first_row=first_row)

    def described(self, frame: "DataFrame") -> str:
        """One sentence on what was read and how."""
        size = f"read {len(frame)} rows, {len(frame.columns)} columns"
        return f"{size}; {', '.join(self.understood)}" if self.understood else size


@dataclass(frozen=True, kw_only=True)
class Reader(ABC):
    """A file format: how its files end, and how the table in one is found.

    Args:
        name: as in "a Parquet file".
        suffixes: in lower case.
        takes: the fields of `ReadOptions` that say something about this format.
        signature: how its files begin, where they all begin alike.
    """

    name: str
    suffixes: tuple[str, ...]
    takes: tuple[str, ...] = ()
    signature: bytes = b""

    @abstractmethod
    def opened(self, path: Path, asked: ReadOptions) -> TableFile:
        """The table in a file.

        A table without rows, column names that `check_names` refuses and what is damaged are an
        `InputError`, here or when the rows are read.

        Args:
            path: of a file that exists, is not empty and may be read.
            asked: what the caller knows of it.
        """

    def recognises(self, path: Path) -> bool:
        """Whether the content of a file is of this format."""
        with path.open("rb") as file:
            return bool(self.signature) and file.read(len(self.signature)) == self.signature


def check_names(names: tuple[str, ...], path: Path | str) -> None:
    """Refuse too many columns, columns without a name and names given twice."""
    if len(names) > MOST_COLUMNS:
        raise InputError(
            f"{path} has {len(names)} columns; {MOST_COLUMNS} are possible. Save fewer of them."
        )
    for position, name in enumerate(names, start=1):
        if not name:
            raise InputError(
                f"column {position} of {path} has no name. Name it in the first line, or leave the "
                "column out (pandas: to_csv(..., index=False); also look for a delimiter too many "
                "at the end of the line)."
            )
    repeated = next((name for name, count in Counter(names).items() if count > 1), None)
    if repeated is not None:
        all_positions = [str(i) for i, name in enumerate(names, start=1) if name == repeated]
        positions = " and ".join(all_positions[:5])
        raise InputError(
            f"{path} has the column name {shown(repeated)} more than once (columns {positions}). "
            "Rename or drop all but one; if the file has no header line, add one."
        )


def check_some_rows(n_rows: int, path: Path | str) -> None:
    """Refuse a header without rows."""
    if n_rows == 0:
        raise InputError(f"{path} has column names and no rows. Add at least one row.")


def check_cells(n_cells: int, n_bytes: int, where: str, *, few: int) -> None:
    """Refuse a few bytes that stand for gigabytes of the same value.

    Args:
        n_cells: of the table.
        n_bytes: that it is stored in.
        where: names the table.
        few: cells that are never too many.
    """
    if n_cells > max(few, MOST_CELLS * n_bytes):
        raise InputError(
            f"{where} unpacks to {n_cells} cells, more than {MOST_CELLS} for each of its bytes, as "
            "a trap would. If it is none, save it as CSV."
        )
