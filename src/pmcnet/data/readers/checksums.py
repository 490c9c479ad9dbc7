"""Files that may be damaged or false: read within bounds and compared with a published sum."""

import hashlib
import lzma
import struct
import tarfile
import tokenize
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from pmcnet.errors import InputError
from pmcnet.io.files import one_line

_BLOCK = 1 << 20

DAMAGE = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    lzma.LZMAError,
    struct.error,
    tarfile.TarError,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What the standard library raises for a damaged file."""


class Readable(Protocol):
    """A stream of bytes."""

    def read(self, n_bytes: int, /) -> bytes:
        """At most that many; fewer only at the end."""
        ...


class Published(NamedTuple):
    """What a file of a dataset is known by."""

    dataset: str
    digest: str
    algorithm: Literal["md5", "sha256"] = "md5"

    def check(self, content: Iterable[bytes], path: Path) -> None:
        """Refuse content of another sum.

        Args:
            content: In pieces.
            path: Named in the error.
        """
        found = self.of(content)
        if found != self.digest:
            raise InputError(
                f"{path} is not the published file of {self.dataset}: its {self.algorithm} is "
                f"{found} instead of {self.digest}. Remove it and run `pmcnet datasets --fetch "
                f"{self.dataset}`, or read it with verify=False if it was changed on purpose."
            )

    def of(self, content: Iterable[bytes]) -> str:
        """The sum of some content, by the algorithm of the published one."""
        digest = hashlib.new(self.algorithm, usedforsecurity=False)
        for piece in content:
            digest.update(piece)
        return digest.hexdigest()


def pieces(path: Path) -> Iterator[bytes]:
    """A file's content, a megabyte at a time."""
    with reading(path), path.open("rb") as file:
        while piece := file.read(_BLOCK):
            yield piece


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn whatever goes wrong with a file into a sentence."""
    try:
        yield
    except InputError:
        raise
    except PermissionError as error:
        raise InputError(
            f"{path} may not be read by you. Ask its owner, or: chmod u+r '{path}'."
        ) from error
    except DAMAGE as error:
        raise InputError(
            f"{path} is damaged or of another kind: {one_line(error)}. Replace it by the official "
            "file."
        ) from error


def exactly(file: Readable, n_bytes: int, path: Path) -> bytes:
    """That many bytes, no fewer."""
    content = file.read(n_bytes)
    if len(content) < n_bytes:
        raise InputError(
            f"{path} is cut short: {n_bytes} bytes were announced where {len(content)} are left. "
            "Replace it by the official file."
        )
    return content


def check_end(file: Readable, path: Path) -> None:
    """Refuse a file that goes on."""
    if file.read(1):
        raise InputError(
            f"{path} goes on after the data it announced. Replace it by the official file."
        )


def check_shape(found: tuple[int, ...], largest: tuple[int, ...], what: str) -> None:
    """Refuse shapes, before anything is allocated, that are not up to N rows of the known form.

    Args:
        found: As announced in the file.
        largest: Of the official file: the first number may be smaller, the others are to agree.
        what: Named in the error.
    """
    if len(found) != len(largest) or found[1:] != largest[1:] or not 1 <= found[0] <= largest[0]:
        each = " x ".join(map(str, largest[1:])) or "1"
        raise InputError(
            f"{what} announces the shape {found}; 1 to {largest[0]} entries of {each} are "
            "possible. Replace it by the official file."
        )
