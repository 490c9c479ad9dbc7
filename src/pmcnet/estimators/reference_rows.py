"""Some of the training rows, which a fitted model keeps to compare other rows with.

They are the background of contributions, the neighbours that a row is shown with, and what its
distance from the training data is measured by.
"""

import math
from collections.abc import Mapping
from typing import NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pmcnet.estimators.encoding import Encoder, TableEncoder
from pmcnet.estimators.predictions import Array
from pmcnet.estimators.training_rows import TrainingRows
from pmcnet.rng import stream

MOST = 200
REFERENCE_NAMES = ("reference.inputs", "reference.origin")
"""Of the tensors in a model file."""

_MOST_NUMBERS = 1 << 19  # in a model file
_DRAW_STEP = (1 << 62) + 3  # far from the steps of any sampler with the same seed
_PLACE, _NUMBER, _UPDATE = range(3)


class ReferenceRows(NamedTuple):
    """Inputs of the network (n, n_inputs), float32, and where they come from (n, 3), int64.

    `origin` holds the place among all different training rows; the number of the row, from 1, in
    the table that the model was given; and which update brought that table, 0 for the fit.
    """

    inputs: Tensor
    origin: Tensor

    @property
    def places(self) -> NDArray[np.int64]:
        """Among all different training rows, those of updates after those of the fit (n,)."""
        return np.asarray(self.origin[:, _PLACE].numpy())

    @property
    def numbers(self) -> NDArray[np.int64]:
        """Of the rows in the table that brought them, from 1 (n,)."""
        return np.asarray(self.origin[:, _NUMBER].numpy())

    @property
    def updates(self) -> NDArray[np.int64]:
        """Which update brought each, 0 for the fit (n,)."""
        return np.asarray(self.origin[:, _UPDATE].numpy())

    @classmethod
    def of(cls, encoder: Encoder, rows: TrainingRows, seed: int) -> Self | None:
        """A sample of different training rows, by their weights; None of images.

        Args:
            encoder: that has learned from them.
            rows: all of them.
            seed: of the draw.
        """
        if not isinstance(encoder, TableEncoder):
            return None
        places = drawn(rows.weight, _most(encoder), seed)
        return cls._at(encoder, rows, places, update=0)

    @classmethod
    def _at(
        cls, encoder: Encoder, rows: TrainingRows, places: NDArray[np.int64], update: int
    ) -> Self:
        inputs = torch.as_tensor(encoder.encode(rows.x[places])).to(torch.float32)
        origin = np.column_stack([places, rows.number[places], np.full(len(places), update)])
        return cls(inputs, torch.as_tensor(origin.astype(np.int64)))

    def joined(
        self, encoder: Encoder, rows: TrainingRows, weight: Array, update: int, seed: int
    ) -> "ReferenceRows":
        """A sample of these rows and of new ones.

        Args:
            encoder: of both.
            rows: the different new ones.
            weight: of all rows, the new ones last.
            update: which brings them, from 1.
            seed: of the draw.
        """
        n_before = len(weight) - len(rows.weight)
        chosen = drawn(weight, _most(encoder), seed)
        new = chosen[chosen >= n_before] - n_before
        n_old = min(len(chosen) - len(new), len(self.inputs))
        kept = torch.as_tensor(drawn(np.ones(len(self.inputs)), n_old, seed))
        more = self._at(encoder, rows, new, update)
        more.origin[:, _PLACE] += n_before
        parts = zip((part[kept] for part in self), more, strict=True)
        return ReferenceRows(*(torch.cat(pair) for pair in parts))

    def numbered(self, numbers: NDArray[np.int64]) -> "ReferenceRows":
        """The same, where the table of the fit was a part of another.

        Args:
            numbers: of its rows in that other table, from 1.
        """
        origin = self.origin.clone()
        fitted = origin[:, _UPDATE] == 0
        known = torch.as_tensor(np.asarray(numbers, dtype=np.int64))
        origin[fitted, _NUMBER] = known[origin[fitted, _NUMBER] - 1]
        return self._replace(origin=origin)

    def tensors(self) -> dict[str, Tensor]:
        """As a model file holds them."""
        pairs = zip(REFERENCE_NAMES, self, strict=True)
        return {name: part.cpu().contiguous() for name, part in pairs}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor], shape: tuple[int, ...]) -> Self | None:
        """Those of a model file, if it holds any.

        Args:
            tensors: of the file.
            shape: of one row of inputs.
        """
        if not all(name in tensors for name in REFERENCE_NAMES):
            return None
        inputs, origin = (tensors[name] for name in REFERENCE_NAMES)
        fine = (
            inputs.dtype == torch.float32
            and inputs.shape[1:] == shape
            and 0 < len(inputs) <= MOST
            and bool(inputs.isfinite().all())
            and origin.dtype == torch.int64
            and origin.shape == (len(inputs), 3)
            and bool((origin >= torch.tensor([0, 1, 0])).all())
        )
        if not fine:
            raise ValueError("its reference rows are not those of its network")
        return cls(inputs, origin)


def drawn(weight: Array, n: int, seed: int) -> NDArray[np.int64]:
    """Different positions, by their weights one after another, in increasing order.

    The largest of log w + Gumbel noise are those.
    """
    noise = stream(seed, _DRAW_STEP, 0).host.gumbel(size=len(weight))
    return np.sort(np.argsort(-(np.log(weight) + noise), kind="stable")[:n])


def _most(encoder: Encoder) -> int:
    """Rows that are kept."""
    return min(MOST, max(2, _MOST_NUMBERS // math.prod(encoder.input_shape)))
