"""The data folder, and the forms in which a dataset may lie in it.

The folder is the one given, else that of the environment variable PMCNET_DATA, else
$XDG_CACHE_HOME/pmcnet, else ~/.cache/pmcnet. Nothing is ever fetched into it unasked.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from pmcnet.errors import InputError
from pmcnet.io.user_cache import user_cache

Read = TypeVar("Read", covariant=True)

VARIABLE = "PMCNET_DATA"


class Form(NamedTuple, Generic[Read]):
    """One way in which a dataset may be stored: the files it takes and what reads them.

    `needs` has for each file its possible places below the data folder, best first, and is empty
    for what comes with a package. `read` gets the files, in that order, and whether to verify their
    sums.
    """

    needs: tuple[tuple[str, ...], ...]
    read: Callable[[Sequence[Path], bool], Read]

    def found(self, folder: Path) -> list[Path | None]:
        """The place of each file, None for those that are missing."""
        return [
            next((folder / place for place in places if os.path.isfile(folder / place)), None)
            for places in self.needs
        ]


def data_folder(folder: str | Path | None = None) -> Path:
    """Where data files are looked for and fetched to; it need not exist.

    Args:
        folder: Taken if given.
    """
    chosen = Path(folder or os.environ.get(VARIABLE) or user_cache()).expanduser().absolute()
    if chosen.exists() and not chosen.is_dir():
        raise InputError(
            f"the data folder {chosen} is a file. Give a folder, as argument or in {VARIABLE}."
        )
    return chosen


def at_hand(forms: Sequence[Form[object]], folder: Path) -> bool:
    """Whether all files of one form exist; none is opened."""
    return any(None not in form.found(folder) for form in forms)


def read_first(name: str, forms: Sequence[Form[Read]], folder: Path, verify: bool) -> Read:
    """What is read from the first form whose files are all there."""
    for form in forms:
        paths = [path for path in form.found(folder) if path is not None]
        if len(paths) == len(form.needs):
            return form.read(paths, verify)
    nearest = max(forms, key=lambda form: sum(path is not None for path in form.found(folder)))
    places = zip(nearest.needs, nearest.found(folder), strict=True)
    missing = ", ".join(needed[0] for needed, path in places if path is None)
    raise InputError(
        f"{name} is not at hand: the data folder {folder} has no {missing}. Put the official file "
        f"there, fetch it with `pmcnet datasets --fetch {name}`, or name another folder in "
        f"{VARIABLE}."
    )
