"""Tables in Feather files of version 2, which are files of Arrow."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pmcnet.data.readers.arrow import ArrowFile, arrow
from pmcnet.data.readers.base import Reader
from pmcnet.data.readers.options import ReadOptions


@dataclass(frozen=True, kw_only=True)
class FeatherFile(ArrowFile):
    """A Feather file."""

    def table(self) -> Any:
        """All of it."""
        with _opened(self.path) as file:
            return file.read_all().select(self.names)

    def batches(self, n_rows: int) -> Iterator[Any]:
        """Parts of its batches."""
        with _opened(self.path) as file:
            for batch in map(file.get_batch, range(file.num_record_batches)):
                for start in range(0, batch.num_rows, n_rows):
                    yield batch.select(self.names).slice(start, n_rows)


@dataclass(frozen=True, kw_only=True)
class Feather(Reader):
    """Feather."""

    def opened(self, path: Path, asked: ReadOptions) -> FeatherFile:
        """Check the content of every column, names, types and size."""
        n_rows = 0
        with _opened(path) as file:
            for batch in map(file.get_batch, range(file.num_record_batches)):
                batch.validate(full=True)
                n_rows += batch.num_rows
            return FeatherFile.of(path, file.schema, n_rows, self.name)


FEATHER = Feather(name="Feather", suffixes=(".feather", ".arrow"), signature=b"ARROW1")


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    with arrow(path, FEATHER.name):
        import pyarrow as pa  # type: ignore[import-untyped]

        with pa.OSFile(str(path)) as source, pa.ipc.open_file(source) as file:
            yield file
