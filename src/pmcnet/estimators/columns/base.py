"""What every kind of column keeps to.

A column takes two steps. `numbers` writes its cells as one number each, or a few, exactly: equal
cells are equal numbers, and a missing one is not-a-number. `inputs` turns those numbers into inputs
of the network by what was `learned` from the training rows.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from pmcnet.data import Kind
from pmcnet.errors import InputError
from pmcnet.estimators.columns.given import Given
from pmcnet.estimators.columns.missing_words import without_missing_words
from pmcnet.io.schema import Form

Matrix = NDArray[np.float64]

UNSEEN = -np.inf
"""The number of a cell that training had nothing like: a new level, a word among numbers."""
FARTHEST = 1e15
"""Inputs beyond this are refused: networks in single precision would overflow on them."""


@dataclass(frozen=True, kw_only=True)
class Column(ABC):
    """A column of the training table.

    Args:
        name: of the column.
        why: what made it this kind, for the report; empty where that is plain.
    """

    name: str
    why: str = ""

    kind: ClassVar[str]
    forms: ClassVar[Mapping[str, Form]]
    """The forms of the fields, but for `name` and `why`, in files."""
    read_as: ClassVar[Kind] = "text"
    """How a file's reader is to give the cells of later tables."""
    of_levels: ClassVar[bool] = False
    """Whether the numbers are places of levels."""

    @property
    def n_numbers(self) -> int:
        """How many numbers a cell is written as."""
        return 1

    @property
    @abstractmethod
    def n_inputs(self) -> int:
        """How many inputs of the network it is."""

    @abstractmethod
    def numbers(self, given: Given, first_row: int) -> Matrix:
        """Its cells as numbers (N, n_numbers).

        Args:
            given: the cells.
            first_row: number of the first of them in the table, for errors.
        """

    @abstractmethod
    def learned(self, numbers: Matrix, weight: Matrix, y: Matrix) -> Self:
        """The column after it has seen the training rows.

        Args:
            numbers: of the training rows (N, n_numbers).
            weight: how often each counts (N,).
            y: the targets (N, C): one number per row, or an indicator of each class.
        """

    @abstractmethod
    def inputs(self, numbers: Matrix) -> Matrix:
        """Inputs of the network (N, n_inputs)."""

    def training_inputs(self, numbers: Matrix, weight: Matrix, y: Matrix) -> Matrix:
        """Inputs of the rows that `learned` has seen; other than `inputs` where y was used."""
        return self.inputs(numbers)

    def missing(self, numbers: Matrix) -> NDArray[np.bool_]:
        """Whether a cell counts as missing (N, 1)."""
        return ~np.isfinite(numbers[:, :1])

    def read(
        self, strings: NDArray[Any], parse: Callable[[NDArray[Any]], Matrix], first_row: int
    ) -> Matrix:
        """Strings as numbers (N, 1): not-a-number where missing, `UNSEEN` where they are none.

        A table in which none can be read is refused: it is written another way than training was.

        Args:
            strings: (N,), None where missing.
            parse: their numbers (N,), not-a-number where there is none.
            first_row: number of the first of them in the table, for errors.
        """
        present = without_missing_words(strings)
        given = present != None  # noqa: E711, by element
        numbers = parse(present)
        if given.any() and np.isnan(numbers).all():
            row = int(np.flatnonzero(given)[0])
            raise InputError(
                f"column {self.name!r} is a {self.kind} in training, and none of its cells can be "
                f"read like those: row {row + first_row} has {present[row]!r:.60}. Write it like "
                "in training, or leave it empty."
            )
        return np.where(np.isnan(numbers) & given, UNSEEN, numbers)[:, None]

    @property
    def described(self) -> str:
        """What became of it, in a few words."""
        return f"{self.n_inputs} input{'s'[: self.n_inputs != 1]}"

    @abstractmethod
    def check(self) -> None:
        """Raise `ValueError` where stored parts do not belong together."""

    def state(self) -> dict[str, Any]:
        """Everything learned, as plain data."""
        return {"kind": self.kind, **asdict(self)}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """The column that gave this state."""
        parts = {key: _tuples(value) for key, value in state.items() if key != "kind"}
        column = cls(**parts)
        column.check()
        return column


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list | tuple) else value


def check_near(inputs: Matrix, numbers: Matrix, name: str) -> None:
    """Refuse numbers that are too large for the network after scaling."""
    far = np.flatnonzero(~(np.abs(inputs) <= FARTHEST))
    if len(far):
        raise InputError(
            f"column {name!r} has {numbers[far[0]]:g} in row {far[0] + 1}, after scaling beyond "
            f"{FARTHEST:g} and too large for the network. Correct it, leave it empty, or scale the "
            "column."
        )
