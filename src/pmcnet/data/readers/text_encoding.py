"""The characters of a text file: UTF-8, checked as they pass, with errors that say where.

A byte order mark at the start is dropped. Line ends stay as they are, since a quoted field may hold
some.
"""

import codecs
import gzip
import io
import os
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import IO, TYPE_CHECKING

from pmcnet.errors import InputError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_BLOCK = 1 << 20
_MOST_RATIO = 100
"""Bytes of text that each byte of a gzip file may unpack to, once it is more than `_SMALL`."""
_SMALL = 1 << 26

_UTF_16 = "looks like UTF-16. Convert it: iconv -f UTF-16 -t UTF-8 '{path}' > converted{suffix}"
# how other formats begin, what they are and what to do
_SIGNATURES: Mapping[bytes, str] = MappingProxyType(
    {
        b"\xff\xfe": _UTF_16,
        b"\xfe\xff": _UTF_16,
        b"\x1f\x8b": "is compressed by gzip. Rename it to {path}.gz",
        b"PK\x03\x04": "is an Excel workbook or a zip file. Export it as CSV, or unzip it",
        b"PAR1": "is a Parquet file. Rename it to end in .parquet",
    }
)


@contextmanager
def open_text(path: Path) -> Iterator[IO[str]]:
    """The text of a file, from its start."""
    with (
        _bytes(path) as checked,
        io.TextIOWrapper(checked, encoding="utf-8-sig", newline="") as text,
    ):
        yield text


def check_unpacked(path: Path) -> None:
    """Look through a gzip file once, so that a trap is noticed before its rows take memory."""
    if _is_gzipped(path):
        with _bytes(path) as checked:
            while checked.read(_BLOCK):
                pass


@contextmanager
def _bytes(path: Path) -> Iterator["io.BufferedReader[_Checked]"]:
    with path.open("rb") as file:
        packed = _is_gzipped(path)
        raw = gzip.GzipFile(fileobj=file) if packed else file
        most = max(_SMALL, _MOST_RATIO * os.fstat(file.fileno()).st_size) if packed else None
        with io.BufferedReader(_Checked(raw, path, most), _BLOCK) as checked:
            yield checked


def _is_gzipped(path: Path) -> bool:
    return path.suffix.lower() == ".gz"


class _Checked(io.RawIOBase):
    """Bytes on their way to the decoder: not too many, none of them NUL or outside UTF-8."""

    def __init__(self, raw: io.BufferedIOBase, path: Path, most: int | None = None) -> None:
        self._raw = raw
        self._path = path
        self._most = most
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._n_bytes = 0
        self._n_lines = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        view = memoryview(buffer)
        block = self._read(len(view))
        self._check(block)
        self._n_bytes += len(block)
        if self._most is not None and self._n_bytes > self._most:
            raise InputError(
                f"{self._path} unpacks to more than {_MOST_RATIO} times its size, as a trap would. "
                "If it is none, unpack it with gunzip and give the file."
            )
        self._n_lines += block.count(b"\n")
        view[: len(block)] = block
        return len(block)

    def _read(self, size: int) -> bytes:
        try:
            return self._raw.read(size)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(
                f"{self._path} is not whole as a gzip file ({error}). Copy or download it again; "
                "if it is plain text, drop .gz from its name."
            ) from error

    def _check(self, block: bytes) -> None:
        if self._n_bytes == 0:
            self._check_signature(block)
        nul = block.find(b"\0")
        if nul >= 0:
            raise InputError(
                f"{self._path} holds a NUL byte at {self._position(block, nul)}, so it is damaged "
                "or not a text file. Save it again as UTF-8 text."
            )
        pending, _ = self._decoder.getstate()  # the start of a character that the last block cut
        if block and block.isascii() and not pending:
            return
        try:
            self._decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            where = self._position(block, error.start - len(pending))
            packed = _is_gzipped(self._path)
            suffix = Path(self._path.stem).suffix if packed else self._path.suffix
            convert = "iconv -f LATIN1 -t UTF-8"
            command = (
                f"gzip -dc '{self._path}' | {convert}" if packed else f"{convert} '{self._path}'"
            )
            raise InputError(
                f"{self._path} is not UTF-8 at {where}. If it is Latin-1 (Excel in Western "
                f"Europe), convert it: {command} > converted{suffix}"
            ) from error

    def _check_signature(self, block: bytes) -> None:
        for beginning, advice in _SIGNATURES.items():
            if block.startswith(beginning):
                advice = advice.format(path=self._path, suffix=self._path.suffix)
                raise InputError(f"{self._path} is not UTF-8 text: it {advice}.")

    def _position(self, block: bytes, offset: int) -> str:
        """Byte and line of an offset in this block, from 1; below 0 it is in the block before."""
        line = self._n_lines + block[: max(offset, 0)].count(b"\n") + 1
        return f"byte {self._n_bytes + offset + 1} (line {line})"
