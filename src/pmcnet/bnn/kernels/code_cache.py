"""Compiled kernels on disk, so that a machine compiles them once.

The folder is `kernels-<digest>` in the user's cache, the digest that of the kernels' source and of
the versions of Python and numba: another version has another folder. Each kernel has a folder of
its own there, since processes that compile different kernels at once would overwrite each other's
index; those that compile the same one write the same. numba itself distinguishes processors.
"""

import hashlib
import logging
import platform
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba

from pmcnet.io.user_cache import user_cache

_LOG = logging.getLogger("pmcnet.kernels")
_lock = threading.Lock()


def compiled(function: Callable[..., Any], signature: Any, name: str) -> Callable[..., Any]:
    """The function compiled for a signature, from disk where it is there.

    Args:
        function: to compile; it runs without Python's lock.
        signature: of its arguments.
        name: of its folder.
    """
    options = {"nogil": True, "error_model": "numpy"}
    folder = _writable(_folder() / name)
    if folder is not None:
        try:
            with _lock, _numba_folder(folder):
                found: Callable[..., Any] = numba.njit(signature, cache=True, **options)(function)
            return found
        except Exception as error:  # a damaged file may raise anything
            _LOG.warning("the compiled kernels in %s cannot be used: %s", folder, error)
    else:
        _LOG.warning("compiled kernels are not kept: no folder at %s can be written", _folder())
    found = numba.njit(signature, **options)(function)
    return found


class _numba_folder:
    """numba's cache folder, while functions are decorated in the block."""

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)

    def __enter__(self) -> None:
        self._before = numba.config.CACHE_DIR
        numba.config.CACHE_DIR = self._folder

    def __exit__(self, *error: object) -> None:
        numba.config.CACHE_DIR = self._before


def _folder() -> Path:
    digest = hashlib.sha256(f"{platform.python_version()} {numba.__version__}".encode())
    for source in sorted((Path(__file__).parent / "cpu").glob("*.py")):
        digest.update(source.read_bytes())
    return user_cache() / f"kernels-{digest.hexdigest()[:16]}"


def _writable(folder: Path) -> Path | None:
    """The folder, made where it was missing; None where it cannot be written to."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        return None
