"""Libraries of the extras: what a method or a competitor needs, and whether it is there."""

from importlib.util import find_spec
from typing import NamedTuple

from pmcnet.errors import InputError


class Library(NamedTuple):
    """What a library is called, the module it is imported by, and the package's extra for it."""

    title: str
    module: str
    extra: str

    @property
    def installed(self) -> bool:
        """Whether it can be imported."""
        return find_spec(self.module) is not None

    def require(self, name: str) -> None:
        """Raise where it is missing, and say who needs it and how to get it."""
        if not self.installed:
            raise InputError(
                f"{name} needs {self.title}, which is not installed. Use: pip install "
                f"'pmcnet[{self.extra}]'"
            )


MAPIE = Library("MAPIE", "mapie", "conformal")
