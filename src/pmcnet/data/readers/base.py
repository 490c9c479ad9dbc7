"""What reads the files of one format, and the checks that every reader makes."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pmcnet.data.readers.cells import Kind, check_asked, converted, shown
from pmcnet.errors import InputError

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]

MOST_COLUMNS = 15_000
"""Beyond this a table takes far more memory than its file."""


@dataclass(frozen=True, kw_only=True)
class Reader(ABC):
    """A file format: how its files end, and how a table is read from one.

    Both methods get a file that exists, is not empty and may be read. They refuse a table without
    rows and column names that `check_names` refuses, and raise `InputError` for what is damaged.
    """

    name: str  # as in "a Parquet file"
    suffixes: tuple[str, ...]  # in lower case

    @abstractmethod
    def frame(self, path: Path) -> "DataFrame":
        """The whole table; columns are numbers or booleans where all cells are, else strings."""

    def chunks(self, path: Path, columns: Mapping[str, Kind], n_rows: int) -> Iterator["DataFrame"]:
        """The table in pieces; here cut from the whole, for formats that can only be read whole.

        Args:
            path: of the file.
            columns: the columns to convert, as for `frame_chunks`; the others stay as stored.
            n_rows: rows of a piece, at most.
        """
        return slices(self.frame(path), columns, n_rows, where=str(path))


def slices(
    frame: "DataFrame", columns: Mapping[str, Kind], n_rows: int, *, where: str
) -> Iterator["DataFrame"]:
    """A table in pieces of at most n_rows, with the asked columns converted."""
    check_asked(columns, frame.columns, where)
    whole = converted(frame, columns, where=where)
    return (whole.iloc[start : start + n_rows] for start in range(0, len(whole), n_rows))


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


def check_some_rows(n_rows: int, path: Path) -> None:
    """Refuse a header without rows."""
    if n_rows == 0:
        raise InputError(f"{path} has column names and no rows. Add at least one row.")
