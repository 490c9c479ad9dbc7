"""What the formats that pyarrow reads share; it is an optional library."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pmcnet.data.readers.base import TableFile, check_cells, check_names, check_some_rows
from pmcnet.data.readers.cells import Kind, check_asked, converted
from pmcnet.errors import InputError
from pmcnet.io.files import one_line

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]


SMALL = 1 << 26
"""Cells that are never too many."""


@dataclass(frozen=True, kw_only=True)
class ArrowFile(TableFile):
    """A table of typed columns, of which an unnamed index that pandas wrote is left out."""

    path: Path
    format_name: str

    @classmethod
    def of(cls, path: Path, schema: Any, n_rows: int, format_name: str) -> Self:
        """The table with that schema, after checking names, types and size."""
        names = _checked_columns(schema, n_rows, path)
        return cls(
            where=str(path),
            place=str(path.resolve()),
            names=names,
            path=path,
            format_name=format_name,
        )

    @abstractmethod
    def table(self) -> Any:
        """The named columns as a table of pyarrow."""

    @abstractmethod
    def batches(self, n_rows: int) -> Iterator[Any]:
        """The same in batches of at most n_rows."""

    def frame(self) -> "DataFrame":
        """The whole table."""
        with arrow(self.path, self.format_name):
            return _plain(self.table()).to_pandas(ignore_metadata=True)

    def chunks(self, columns: Mapping[str, Kind], n_rows: int) -> Iterator["DataFrame"]:
        """The table in pieces; columns that were not asked for are as pyarrow gives them."""
        check_asked(columns, self.names, self.where)
        return self._chunks(columns, n_rows)

    def _chunks(self, columns: Mapping[str, Kind], n_rows: int) -> Iterator["DataFrame"]:
        import pandas as pd
        import pyarrow as pa  # type: ignore[import-untyped]

        start = 0
        with arrow(self.path, self.format_name):
            for batch in self.batches(n_rows):
                table = _plain(pa.Table.from_batches([batch]), gaps_in_booleans=False)
                # whole numbers with gaps stay whole, so that they are written back as they were
                chunk = table.to_pandas(ignore_metadata=True, integer_object_nulls=True)
                chunk.index = pd.RangeIndex(start, start + len(chunk))
                yield converted(chunk, columns, where=self.where, first_row=start + 1)
                start += len(chunk)


@contextmanager
def arrow(path: Path, format_name: str) -> Iterator[None]:
    """What pyarrow refuses, and its absence, as errors of this package."""
    try:
        import pyarrow as pa
    except ImportError as error:
        raise InputError(
            f"{path} is a {format_name} file, and pyarrow, which reads those, is not installed. "
            "Run: pip install 'pmcnet[parquet]', or save the table as CSV."
        ) from error
    try:
        yield
    except InputError:
        raise
    except (
        pa.ArrowException,
        OSError,
        ArithmeticError,
        LookupError,
        TypeError,
        ValueError,
    ) as error:
        raise InputError(
            f"{path} is not whole as a {format_name} file ({one_line(error, 200)}). Copy or write "
            "it again."
        ) from error


def _checked_columns(schema: Any, n_rows: int, path: Path) -> tuple[str, ...]:
    """Names of the columns, after checking names, types and size."""
    import pyarrow as pa

    names = tuple(name for name in schema.names if not _is_unnamed_index(name))
    check_names(names, path)
    check_some_rows(n_rows if names else 0, path)
    for field in schema:
        if (
            pa.types.is_nested(field.type)
            or pa.types.is_binary(field.type)
            or pa.types.is_large_binary(field.type)
        ):
            raise InputError(
                f"column {field.name!r} of {path} holds {field.type}; a cell must be a number, a "
                "string, a boolean or a date. Spread it over columns of its own, or drop it."
            )
    check_cells(n_rows * len(names), path.stat().st_size, str(path), few=SMALL)
    return names


def _is_unnamed_index(name: str) -> bool:
    return name.startswith("__index_level_") and name.endswith("__")


def _plain(table: Any, *, gaps_in_booleans: bool = True) -> Any:
    """The table without dictionaries and decimals; booleans with gaps as numbers where asked."""
    import pyarrow as pa

    def plain_column(position: int) -> Any:
        column = table.column(position)
        if pa.types.is_dictionary(column.type):
            return column.cast(column.type.value_type)
        if pa.types.is_decimal(column.type):
            return column.cast(pa.float64())
        if gaps_in_booleans and pa.types.is_boolean(column.type) and column.null_count:
            return column.cast(pa.uint8()).cast(pa.float64())
        return column

    return pa.table([plain_column(i) for i in range(table.num_columns)], names=table.column_names)
