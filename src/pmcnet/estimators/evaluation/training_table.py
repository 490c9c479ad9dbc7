"""The training rows as they were given, and those of them that are nearest to a row."""

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from pmcnet.errors import UnseenLevelsWarning
from pmcnet.estimators.evaluation.scores import Model, Record
from pmcnet.estimators.neighbours import nearest

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]

N_NEAREST = 5


class TrainingTable(NamedTuple):
    """The rows of a fit (N): cells, targets, numbers in the run's table from 1, and inputs."""

    x: "DataFrame"
    y: NDArray[Any]
    numbers: NDArray[np.int64]
    inputs: Tensor

    @classmethod
    def of(cls, model: Model, x: "DataFrame", y: NDArray[Any], numbers: NDArray[np.int64]) -> Self:
        """Encode the rows; what rows held out had alone is no news."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnseenLevelsWarning)
            return cls(x, y, numbers, model.encoded(x).inputs)


def nearest_rows(
    model: Model,
    inputs: Tensor,
    known: TrainingTable | None,
    columns: Sequence[str],
    own: int | None,
) -> list[Record]:
    """The training rows that are nearest to one row, the nearest first.

    Args:
        model: fitted.
        inputs: of the row (1, n_inputs).
        known: all training rows; without them those that the model keeps, without their cells.
        columns: whose cells are wanted.
        own: number of the row in the table of the training rows, if it is there.
    """
    if known is None:
        return _nearest_kept(model, inputs)
    position, distance = nearest(inputs, known.inputs, N_NEAREST + 1)
    return [
        {
            "row": int(known.numbers[p]),
            "distance": d,
            "target": plain_cell(known.y[p]),
            "values": {name: plain_cell(known.x[name].iloc[p]) for name in columns},
        }
        for p, d in zip(position[0], distance[0].tolist(), strict=True)
        if known.numbers[p] != own
    ][:N_NEAREST]


def _nearest_kept(model: Model, inputs: Tensor) -> list[Record]:
    """Among the reference rows, of which numbers are known and no cells."""
    reference = model.reference_rows_
    if reference is None:
        return []
    position, distance = nearest(inputs, reference.inputs, N_NEAREST)
    return [
        {"row": int(reference.numbers[p]), "update": int(reference.updates[p]), "distance": d}
        for p, d in zip(position[0], distance[0].tolist(), strict=True)
    ]


def plain_cell(cell: Any) -> Any:
    """A cell as JSON has it: missing ones are null, dates are words."""
    from pandas import isna  # slow to import

    if isinstance(cell, np.generic):
        cell = cell.item()
    if isna(cell):
        return None
    return cell if isinstance(cell, str | int | float | bool) else str(cell)
