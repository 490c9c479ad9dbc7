"""The columns of a table as players of a game: encoded rows mixed column by column.

Each column is encoded by itself, so the inputs of a mixed row are the mixed inputs: a column takes
all of its own along, the one that says that it is missing too.
"""

from typing import NamedTuple, Self

import torch
from torch import Tensor

from pmcnet.errors import InputError
from pmcnet.estimators.encoding import Encoder, TableEncoder
from pmcnet.estimators.predictions import EncodedRows


class Players(NamedTuple):
    """Names of the columns that the model has (p), and whose each input is (n_inputs,)."""

    names: tuple[str, ...]
    owner: Tensor

    @classmethod
    def of(cls, encoder: Encoder, question: str) -> Self:
        """Those of a table.

        Args:
            encoder: of the model.
            question: what is asked of it, for the error of images.
        """
        if not isinstance(encoder, TableEncoder):
            raise InputError(
                f"{question} is for tables, whose columns have a meaning each; this model has "
                f"images {encoder.input_shape}."
            )
        names = tuple(column.name for column in encoder.columns.columns)
        return cls(names, torch.as_tensor(encoder.input_columns))

    def mixed(self, row: Tensor, others: Tensor, own: Tensor) -> Tensor:
        """Rows that have some columns of one row and the rest of another.

        Args:
            row: inputs (n_inputs,).
            others: inputs (..., n_inputs), that broadcast with `own`.
            own: which columns are those of `row` (..., p).
        """
        return torch.where(own[..., self.owner], row, others)

    def position(self, name: str) -> int:
        """The place of a column."""
        if name not in self.names:
            shown = ", ".join(map(repr, self.names[:10])) + (", ..." * (len(self.names) > 10))
            raise InputError(
                f"the model has no column {name!r:.60}; it has {shown}. A column that was left out "
                "of the model has no effect on it."
            )
        return self.names.index(name)


def plain_inputs(rows: EncodedRows, question: str) -> Tensor:
    """The inputs of rows (N, n_inputs), refused where they have an exposure."""
    if rows.log_exposure is not None:
        raise InputError(f"{question} is of the mean for an exposure of 1. Leave exposure out.")
    return rows.inputs
