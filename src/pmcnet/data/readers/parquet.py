"""Tables in Parquet files."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pmcnet.data.readers.arrow import ArrowFile, arrow
from pmcnet.data.readers.base import Reader
from pmcnet.data.readers.options import ReadOptions


@dataclass(frozen=True, kw_only=True)
class ParquetFile(ArrowFile):
    """A Parquet file."""

    def table(self) -> Any:
        """All of it."""
        with _opened(self.path) as file:
            return file.read(columns=list(self.names))

    def batches(self, n_rows: int) -> Iterator[Any]:
        """Parts of its row groups."""
        with _opened(self.path) as file:
            yield from file.iter_batches(batch_size=n_rows, columns=list(self.names))


@dataclass(frozen=True, kw_only=True)
class Parquet(Reader):
    """Parquet."""

    def opened(self, path: Path, asked: ReadOptions) -> ParquetFile:
        """Check names, types and size."""
        with _opened(path) as file:
            return ParquetFile.of(path, file.schema_arrow, file.metadata.num_rows, self.name)


PARQUET = Parquet(name="Parquet", suffixes=(".parquet",), signature=b"PAR1")


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    with arrow(path, PARQUET.name):
        import pyarrow.parquet as pq  # type: ignore[import-untyped]

        with pq.ParquetFile(path) as file:
            yield file
