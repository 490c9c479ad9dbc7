"""Compressed files: unpacked as they are read, and never into more than their size allows."""

import bz2
import gzip
import io
import lzma
import os
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from pmcnet.data.readers.checksums import DAMAGE, Readable
from pmcnet.errors import InputError
from pmcnet.io.files import one_line

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MOST_RATIO = 100
"""Bytes that each byte of a packed file may unpack to, once these are more than `SMALL`."""
SMALL = 1 << 26
_BLOCK = 1 << 16
_MOST_MEMORY = 1 << 27
"""Bytes that unpacking xz may take: the presets up to 9 need half."""
_WORKBOOK = "xl/workbook.xml"


@dataclass(frozen=True)
class Compression:
    """A way of packing one file."""

    name: str
    suffix: str
    signature: bytes
    opened: Callable[[IO[bytes], Path], Readable]


class _Xz(io.RawIOBase):
    """One or more xz streams, unpacked in bounded memory."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._stream = self._next()

    def _next(self) -> lzma.LZMADecompressor:
        return lzma.LZMADecompressor(memlimit=_MOST_MEMORY)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        view = memoryview(buffer)
        while True:
            packed = b""
            if self._stream.eof:
                rest = self._stream.unused_data.lstrip(b"\0")  # zeros may follow a stream
                packed = rest or self._file.read(_BLOCK).lstrip(b"\0")
                if not packed:
                    return 0
                self._stream = self._next()
            elif self._stream.needs_input:
                packed = self._file.read(_BLOCK)
                if not packed:
                    raise EOFError("it ends within its content")
            block = self._stream.decompress(packed, max_length=len(view))
            if block:
                view[: len(block)] = block
                return len(block)


def _open_xz(file: IO[bytes], path: Path) -> Readable:
    return io.BufferedReader(_Xz(file), _BLOCK)


def _open_zip(file: IO[bytes], path: Path) -> Readable:
    archive = zipfile.ZipFile(file)
    members = [
        member
        for member in archive.infolist()
        if not member.is_dir() and not member.filename.startswith("__MACOSX/")
    ]
    if any(member.filename == _WORKBOOK for member in members):
        raise InputError(f"{path} is an Excel workbook. Rename it to end in .xlsx.")
    if len(members) != 1:
        listed = ", ".join(f"{member.filename!r:.60}" for member in members[:5])
        raise InputError(
            f"{path} is a zip file of {len(members)} files{f' ({listed})' if members else ''}; one "
            "is read. Unzip it, and give one of them."
        )
    if members[0].compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise InputError(
            f"{path} is packed by a method of zip other than deflate. Unzip it, and give the file."
        )
    return archive.open(members[0])


COMPRESSIONS = (
    Compression("gzip", ".gz", b"\x1f\x8b", lambda file, path: gzip.GzipFile(fileobj=file)),
    Compression("bzip2", ".bz2", b"BZh", lambda file, path: bz2.BZ2File(file)),
    Compression("xz", ".xz", b"\xfd7zXZ\0", _open_xz),
    Compression("zip", ".zip", b"PK\x03\x04", _open_zip),
)
PACKED_SUFFIXES = ("", *(each.suffix for each in COMPRESSIONS))


def compression_of(path: Path) -> Compression | None:
    """How a file is packed, by its suffix, else by how it begins."""
    suffix = path.suffix.lower()
    by_suffix = next((each for each in COMPRESSIONS if each.suffix == suffix), None)
    if by_suffix is not None:
        return by_suffix
    with path.open("rb") as file:
        head = file.read(8)
    return next((each for each in COMPRESSIONS if head.startswith(each.signature)), None)


def is_workbook(path: Path) -> bool:
    """Whether it is a zip file that holds a workbook."""
    try:
        with zipfile.ZipFile(path) as archive:
            return _WORKBOOK in archive.namelist()
    except DAMAGE:
        return False


@contextmanager
def unpacked(path: Path) -> Iterator[Readable]:
    """The content of a file, unpacked where it is packed."""
    compression = compression_of(path)
    with path.open("rb") as file:
        if compression is None:
            yield file
            return
        most = max(SMALL, MOST_RATIO * os.fstat(file.fileno()).st_size)
        with _explained(path, compression.name):
            content = compression.opened(file, path)
        yield _Bounded(content, path, compression, most)


class _Bounded:
    """Unpacked bytes, not too many, whose damage is an error of this package."""

    def __init__(self, content: Readable, path: Path, compression: Compression, most: int) -> None:
        self._content = content
        self._path = path
        self._compression = compression
        self._left = most

    def read(self, size: int, /) -> bytes:
        with _explained(self._path, self._compression.name):
            block = self._content.read(size)
        self._left -= len(block)
        if self._left < 0:
            raise InputError(
                f"{self._path} unpacks to more than {MOST_RATIO} times its size, as a trap would. "
                "If it is none, unpack it and give the file."
            )
        return block


@contextmanager
def _explained(path: Path, name: str) -> Iterator[None]:
    """What goes wrong while a file is unpacked, as a sentence."""
    try:
        yield
    except InputError:
        raise
    except DAMAGE as error:
        raise InputError(
            f"{path} is not whole as a {name} file ({one_line(error, 200)}). Copy or download it "
            "again; if it is not packed, correct the end of its name."
        ) from error
