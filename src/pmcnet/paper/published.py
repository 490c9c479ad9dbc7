"""The numbers that the paper reports, to print beside ours; each table's file holds its own."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

Cell = tuple[float, float]
"""Mean and standard deviation over R draws."""
Cells = Mapping[str, Cell]

BINARY = "auc precision recall specificity accuracy f1"
SEVERAL = "auc f1 accuracy"


class Published(NamedTuple):
    """A table of the paper.

    `rows` are its cells by method; `seconds` what a method took on a Tesla V100, seconds of
    training and milliseconds per test row; `prior_variance` is None where the paper gives none.
    """

    rows: Mapping[str, Cells]
    seconds: Mapping[str, tuple[float, float]] = MappingProxyType({})
    prior_variance: float | None = None


def points(names: str, *values: float) -> dict[str, Cell]:
    """Cells of a single network, which does not vary over draws."""
    return {name: (value, 0.0) for name, value in zip(names.split(), values, strict=True)}
