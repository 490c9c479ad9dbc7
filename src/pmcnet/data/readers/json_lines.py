"""Tables in JSON lines: an object in each line, of numbers, strings, booleans and nulls.

The columns are the names in all objects, in the order in which they come up; a name that an object
lacks is missing there.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pmcnet.data.readers.base import Reader, check_names, check_some_rows
from pmcnet.data.readers.cells import shown
from pmcnet.data.readers.compression import PACKED_SUFFIXES, compression_of
from pmcnet.data.readers.options import ReadOptions
from pmcnet.data.readers.text_encoding import UTF_8, found_encoding, open_text
from pmcnet.data.readers.values import ValueTable
from pmcnet.errors import InputError
from pmcnet.io.files import one_line, parse_json


@dataclass(frozen=True, kw_only=True)
class JsonLinesFile(ValueTable):
    """Lines of objects with known names."""

    path: Path
    encoding: str

    def rows(self) -> Iterator[list[Any]]:
        """The objects, each as a row."""
        return (
            [each.get(name) for name in self.names] for each in _objects(self.path, self.encoding)
        )


@dataclass(frozen=True, kw_only=True)
class JsonLines(Reader):
    """JSON lines, packed or not."""

    def opened(self, path: Path, asked: ReadOptions) -> JsonLinesFile:
        """Look through the file for its names."""
        encoding = found_encoding(path, asked.encoding)
        names: dict[str, None] = {}
        n_rows = 0
        for each in _objects(path, encoding):
            n_rows += 1
            names |= dict.fromkeys(each)
            check_names(tuple(names), path)
        check_some_rows(n_rows if names else 0, path)
        compression = compression_of(path)
        understood = (
            encoding.upper() if encoding != UTF_8 else "",
            compression.name if compression else "",
        )
        return JsonLinesFile(
            where=str(path),
            place=str(path.resolve()),
            names=tuple(names),
            understood=("JSON lines", *filter(None, understood)),
            n_bytes=path.stat().st_size,
            path=path,
            encoding=encoding,
        )

    def recognises(self, path: Path) -> bool:
        """Whether it begins with a brace."""
        with open_text(path, found_encoding(path, "")) as text:
            return text.read(1 << 10).lstrip().startswith("{")


JSON_LINES = JsonLines(
    name="JSON lines",
    suffixes=tuple(
        f"{kind}{packed}" for kind in (".jsonl", ".ndjson") for packed in PACKED_SUFFIXES
    ),
    takes=("encoding",),
)


def _objects(path: Path, encoding: str) -> Iterator[dict[str, Any]]:
    """The objects in the lines of a file."""
    with open_text(path, encoding) as text:
        for number, line in enumerate(text, start=1):
            if not line.strip():
                continue
            try:
                found = parse_json(line)
            except ValueError as error:
                raise InputError(
                    f"line {number} of {path} is no JSON ({one_line(error, 100)}). Write one "
                    "object in each line."
                ) from error
            if not isinstance(found, dict):
                raise InputError(
                    f"line {number} of {path} holds {shown(line.strip())}, which is no object. "
                    'Write one in each line, like {"age": 31, "city": "Ulm"}.'
                )
            yield found
