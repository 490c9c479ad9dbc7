"""The characters of a text file, checked as they pass, with errors that say where.

Text is UTF-8, or UTF-16 where a byte order mark says so; other encodings have to be asked for. A
byte order mark at the start is dropped. Line ends stay as they are, since a quoted field may hold
some.
"""

import codecs
import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import IO, TYPE_CHECKING

from pmcnet.data.readers.checksums import Readable
from pmcnet.data.readers.compression import unpacked
from pmcnet.errors import InputError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

UTF_8 = "utf-8"
_BLOCK = 1 << 20
_MARKS: Mapping[bytes, str] = MappingProxyType(
    {codecs.BOM_UTF8: UTF_8, codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
)
# how other formats begin, what they are and what to do
_SIGNATURES: Mapping[bytes, str] = MappingProxyType(
    {
        b"\x1f\x8b": "is compressed twice. Unpack it",
        b"PK\x03\x04": "is an Excel workbook or a zip file. Unpack it",
        b"PAR1": "is a Parquet file. Rename it to end in .parquet",
        b"ARROW1": "is a Feather file. Rename it to end in .feather",
        b"SQLite format 3\0": "is a SQLite database. Name it by sqlite:///{path}, and give a query "
        "with --sql",
    }
)


@contextmanager
def open_text(path: Path, encoding: str) -> Iterator[IO[str]]:
    """The text of a file, from behind its byte order mark.

    Args:
        path: of the file.
        encoding: as `found_encoding` gives it.
    """
    with (
        unpacked(path) as content,
        io.BufferedReader(_Checked(content, path, encoding), _BLOCK) as checked,
        io.TextIOWrapper(checked, encoding=encoding, newline="") as text,
    ):
        yield text


def found_encoding(path: Path, asked: str) -> str:
    """The encoding that is asked for or that a byte order mark says, else UTF-8."""
    with unpacked(path) as content:
        head = content.read(3)
    marked = next((name for mark, name in _MARKS.items() if head.startswith(mark)), "")
    if asked and marked and not marked.startswith(asked):
        raise InputError(
            f"{path} begins with the byte order mark of {marked.upper()}, and {asked} was asked "
            "for. Leave the encoding out."
        )
    if asked == "utf-16" and not marked:
        raise InputError(
            f"{path} has no byte order mark, so its bytes may be in either order. Ask for the "
            "encoding utf-16-le or utf-16-be."
        )
    return marked or asked or UTF_8


class _Checked(io.RawIOBase):
    """Bytes on their way to the decoder: all of them characters, none of them NUL."""

    def __init__(self, content: Readable, path: Path, encoding: str) -> None:
        self._content = content
        self._path = path
        self._encoding = encoding
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._n_bytes = 0
        self._n_lines = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        view = memoryview(buffer)
        block = self._content.read(len(view))
        if self._n_bytes == 0:
            self._check_signature(block)
            mark = next((m for m, name in _MARKS.items() if name == self._encoding), b"")
            if mark and block.startswith(mark):
                self._n_bytes += len(mark)
                block = block[len(mark) :] or self._content.read(len(view))
        self._check(block)
        self._n_bytes += len(block)
        view[: len(block)] = block
        return len(block)

    def _check(self, block: bytes) -> None:
        pending, _ = self._decoder.getstate()  # the start of a character that the last block cut
        if self._encoding == UTF_8 and block and block.isascii() and not pending:
            self._check_nul(block, "\0" if b"\0" in block else "")
            self._n_lines += block.count(b"\n")
            return
        try:
            text = self._decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            where = self._position(block, error.start - len(pending))
            raise InputError(
                f"{self._path} is not {self._encoding.upper()} at {where}. {self._advice()}"
            ) from error
        self._check_nul(block, text)
        self._n_lines += text.count("\n")

    def _check_nul(self, block: bytes, text: str) -> None:
        if "\0" not in text:
            return
        where = self._position(block, block.find(b"\0"))
        if self._encoding != UTF_8:
            where = f"line {self._n_lines + text[: text.find(chr(0))].count(chr(10)) + 1}"
        raise InputError(
            f"{self._path} holds a NUL byte at {where}, so it is damaged or not a text file. Save "
            "it again as UTF-8 text; if it is UTF-16 without a byte order mark, ask for the "
            "encoding utf-16-le."
        )

    def _advice(self) -> str:
        if self._encoding == UTF_8:
            return (
                "If it is Latin-1 (Excel in Western Europe), ask for the encoding latin-1 "
                "(--encoding latin-1)."
            )
        return "Ask for another encoding, or save it again as UTF-8 text."

    def _check_signature(self, block: bytes) -> None:
        for beginning, advice in _SIGNATURES.items():
            if block.startswith(beginning):
                advice = advice.format(path=self._path)
                raise InputError(f"{self._path} is no text: it {advice}.")

    def _position(self, block: bytes, offset: int) -> str:
        """Byte and line of an offset in this block, from 1; below 0 it is in the block before."""
        line = self._n_lines + block[: max(offset, 0)].count(b"\n") + 1
        return f"byte {self._n_bytes + offset + 1} (line {line})"
