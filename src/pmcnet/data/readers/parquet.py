"""Tables in Parquet files, read by pyarrow, an optional library."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pmcnet.data.readers.base import Reader, check_names, check_some_rows
from pmcnet.data.readers.cells import Kind, check_asked, converted
from pmcnet.errors import InputError
from pmcnet.io.files import one_line

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]

_MOST_RATIO = 50
"""Cells that each byte of a file may stand for, once there are more than `_SMALL`."""
_SMALL = 1 << 26


class Parquet(Reader):
    """Parquet, of which an unnamed index that pandas wrote is left out."""

    def frame(self, path: Path) -> "DataFrame":
        """The whole table."""
        with _opened(path) as file:
            columns = _columns(file, path)
            _check_size(file.metadata.num_rows * len(columns), path)
            return _plain(file.read(columns=columns)).to_pandas(ignore_metadata=True)

    def chunks(self, path: Path, columns: Mapping[str, Kind], n_rows: int) -> Iterator["DataFrame"]:
        """The table in pieces; columns that were not asked for are as pyarrow gives them."""
        with _opened(path) as file:
            check_asked(columns, _columns(file, path), str(path))
        return _chunks(path, columns, n_rows)


PARQUET = Parquet(name="Parquet", suffixes=(".parquet",))


def _chunks(path: Path, columns: Mapping[str, Kind], n_rows: int) -> Iterator["DataFrame"]:
    import pandas as pd
    import pyarrow as pa  # type: ignore[import-untyped]

    start = 0
    with _opened(path) as file:
        for batch in file.iter_batches(batch_size=n_rows, columns=_columns(file, path)):
            table = _plain(pa.Table.from_batches([batch]), gaps_in_booleans=False)
            # whole numbers with gaps stay whole, so that they are written back as they were
            chunk = table.to_pandas(ignore_metadata=True, integer_object_nulls=True)
            chunk.index = pd.RangeIndex(start, start + len(chunk))
            yield converted(chunk, columns, where=str(path), first_row=start + 1)
            start += len(chunk)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """The file; what is wrong with it is an error of this package."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq  # type: ignore[import-untyped]
    except ImportError as error:
        raise InputError(
            f"{path} is a Parquet file, and pyarrow, which reads those, is not installed. "
            "Run: pip install 'pmcnet[parquet]', or save the table as CSV."
        ) from error
    try:
        with pq.ParquetFile(path) as file:
            yield file
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
            f"{path} is not whole as a Parquet file ({one_line(error, 200)}). Copy or write it "
            "again."
        ) from error


def _columns(file: Any, path: Path) -> list[str]:
    """Names of the columns, after checking names and types."""
    import pyarrow as pa

    schema = file.schema_arrow
    names = tuple(name for name in schema.names if not _is_unnamed_index(name))
    check_names(names, path)
    check_some_rows(file.metadata.num_rows if names else 0, path)
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
    return list(names)


def _check_size(n_cells: int, path: Path) -> None:
    """Refuse a few bytes that stand for gigabytes of the same value."""
    if n_cells > max(_SMALL, _MOST_RATIO * path.stat().st_size):
        raise InputError(
            f"{path} unpacks to {n_cells} cells, more than {_MOST_RATIO} for each of its bytes, as "
            "a trap would. If it is none, save it as CSV."
        )


def _is_unnamed_index(name: str) -> bool:
    return name.startswith("__index_level_") and name.endswith("__")


def _plain(table: Any, *, gaps_in_booleans: bool = True) -> Any:
    """The table without dictionaries and decimals; booleans with gaps as numbers where asked."""
    import pyarrow as pa

    def plain(position: int) -> Any:
        column = table.column(position)
        if pa.types.is_dictionary(column.type):
            return column.cast(column.type.value_type)
        if pa.types.is_decimal(column.type):
            return column.cast(pa.float64())
        if gaps_in_booleans and pa.types.is_boolean(column.type) and column.null_count:
            return column.cast(pa.uint8()).cast(pa.float64())
        return column

    return pa.table([plain(i) for i in range(table.num_columns)], names=table.column_names)
