"""The libraries of the extras: which method needs which, and whether it is there."""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import NamedTuple

from pmcnet.errors import InputError


class Library(NamedTuple):
    """What a library is called, and the module that it is imported by."""

    title: str
    module: str


LIBRARIES: Mapping[str, Library] = {
    "laplace": Library("laplace-torch", "laplace"),
    "nuts": Library("NumPyro", "numpyro"),
}
"""By the method's name, which is that of the package's extra too."""


def installed(method: str) -> bool:
    """Whether the library that a method needs can be imported; a method that needs none always can."""
    library = LIBRARIES.get(method)
    return library is None or find_spec(library.module) is not None


def require(method: str) -> None:
    """Refuse a method whose library is missing, and say how to get it."""
    if not installed(method):
        raise InputError(
            f"{method} needs {LIBRARIES[method].title}, which is not installed. Use: pip install "
            f"'pmcnet[{method}]'"
        )
