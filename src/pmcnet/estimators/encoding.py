"""From a table or images to the network's inputs, in units of the training rows.

Everything learned is plain data.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from pmcnet.errors import InputError
from pmcnet.estimators.columns import COLUMN_KINDS, Column, Columns, LeftOut, Matrix
from pmcnet.estimators.columns.base import FARTHEST
from pmcnet.estimators.columns.log_number import with_tails
from pmcnet.estimators.columns.moments import common_moments, moments, scaled
from pmcnet.estimators.columns.number import NumberColumn

Scaling = Literal["columns", "common", "none"]
SCALINGS = ("columns", "common", "none")


class Encoder(Protocol):
    """What turns rows into inputs."""

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Shape of one row of inputs."""
        ...

    def rows(self, x: Any) -> Matrix:
        """Raw rows as numbers, exact."""
        ...

    def unseen(self, rows: Matrix) -> dict[str, NDArray[np.int64]]:
        """Positions of the rows whose level no training row had, by column."""
        ...

    def encode(self, rows: Matrix) -> Matrix:
        """Numbers as inputs of the network."""
        ...

    def encode_training(self, rows: Matrix, weight: Matrix, y: Matrix) -> Matrix:
        """Inputs of the rows that it has learned from, by their weights and targets too."""
        ...

    def state(self) -> dict[str, Any]:
        """Everything learned, as plain data."""
        ...


@dataclass(frozen=True)
class TableEncoder:
    """The inputs of each column, then one for every column with missing values.

    Args:
        columns: of the training table, as they have learned from it.
        flagged: whether training rows had missing values, for each column of the model.
    """

    columns: Columns
    flagged: tuple[bool, ...]

    @classmethod
    def fit(
        cls,
        columns: Columns,
        rows: Matrix,
        weight: Matrix,
        y: Matrix,
        scaling: Scaling,
        asked: Collection[str] = (),
    ) -> Self:
        """Learn from training rows.

        Args:
            columns: of the training table.
            rows: the table as numbers (N, R).
            weight: how often each row counts (N,).
            y: the targets (N, C).
            scaling: of numbers.
            asked: names of columns whose kind the caller has given.
        """
        parts = [rows[:, part] for part in columns.slices]
        fixed = asked if scaling == "columns" else columns.names
        shaped = with_tails(columns.columns, parts, weight, y, fixed)
        columns = replace(columns, columns=shaped)
        flagged = tuple(bool(np.isnan(part[:, 0]).any()) for part in parts)
        scales = _scales(columns, parts, weight, scaling)
        learned = tuple(
            column.with_scale(*scales[column.name])
            if isinstance(column, NumberColumn)
            else column.learned(part, weight, y)
            for column, part in zip(columns.columns, parts, strict=True)
        )
        return cls(replace(columns, columns=learned), flagged)

    @property
    def input_shape(self) -> tuple[int, ...]:
        """(number of inputs,)."""
        return (sum(column.n_inputs for column in self.columns.columns) + sum(self.flagged),)

    @property
    def input_columns(self) -> NDArray[np.int64]:
        """The position, among those of the model, of the column of each input (n_inputs,)."""
        widths = [column.n_inputs for column in self.columns.columns]
        own = np.repeat(np.arange(len(widths)), widths)
        return np.concatenate([own, np.flatnonzero(self.flagged)])

    def rows(self, x: Any) -> Matrix:
        """The table as numbers (N, R)."""
        return self.columns.matrix(x)

    def unseen(self, rows: Matrix) -> dict[str, NDArray[np.int64]]:
        """Positions of the rows whose level no training row had, by column."""
        return self.columns.unseen(rows)

    def encode(self, rows: Matrix) -> Matrix:
        """Numbers (N, R) -> inputs (N, n_inputs)."""
        return self._joined(rows, [c.inputs(part) for c, part in self._parts(rows)])

    def encode_training(self, rows: Matrix, weight: Matrix, y: Matrix) -> Matrix:
        """Inputs of the rows that `fit` has seen, which do not tell a row its own target."""
        each = [c.training_inputs(part, weight, y) for c, part in self._parts(rows)]
        return self._joined(rows, each)

    def _parts(self, rows: Matrix) -> list[tuple[Column, Matrix]]:
        """The columns with their numbers."""
        slices = self.columns.slices
        return [(c, rows[:, part]) for c, part in zip(self.columns.columns, slices, strict=True)]

    def _joined(self, rows: Matrix, inputs: list[Matrix]) -> Matrix:
        """All inputs, then the flags (N, n_inputs)."""
        parts = zip(self._parts(rows), self.flagged, strict=True)
        flags = [column.missing(part).astype(np.float64) for (column, part), on in parts if on]
        return np.hstack([*inputs, *flags])

    def state(self) -> dict[str, Any]:
        """Everything learned."""
        return {
            "kind": "table",
            "names": list(self.columns.names),
            "columns": [column.state() for column in self.columns.columns],
            "left_out": [list(one) for one in self.columns.left_out],
            "flagged": list(self.flagged),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """The encoder that gave this state."""
        try:
            columns = tuple(COLUMN_KINDS[c["kind"]].from_state(c) for c in state["columns"])
        except ValueError as error:
            raise InputError(f"{error}.") from error
        left_out = tuple(LeftOut(*one) for one in state["left_out"])
        names, flagged = tuple(state["names"]), tuple(map(bool, state["flagged"]))
        own = [column.name for column in columns] + [one.name for one in left_out]
        if sorted(own) != sorted(names) or len(flagged) != len(columns) or not columns:
            raise InputError("the encoder's columns do not belong together.")
        return cls(Columns(names, columns, left_out), flagged)


def _scales(
    columns: Columns, parts: list[Matrix], weight: Matrix, scaling: Scaling
) -> dict[str, tuple[float, float]]:
    """Average and standard deviation of the columns of numbers, by name."""
    chosen = [
        (column.name, column.shaped(part))
        for column, part in zip(columns.columns, parts, strict=True)
        if isinstance(column, NumberColumn)
    ]
    names = [name for name, _ in chosen]
    if scaling == "none" or not chosen:
        return dict.fromkeys(names, (0.0, 1.0))
    numbers = np.hstack([part for _, part in chosen])
    counted = ~np.isnan(numbers) * weight[:, None]
    if scaling == "common":
        return dict.fromkeys(names, common_moments(numbers, counted))
    mean, std = moments(numbers, counted)
    return dict(zip(names, zip(mean.tolist(), std.tolist(), strict=True), strict=True))


@dataclass(frozen=True)
class ImageEncoder:
    """Rows of more than one axis, (N, C, ...): each channel standardised."""

    shape: tuple[int, ...]
    mean: NDArray[np.float64]
    std: NDArray[np.float64]

    @classmethod
    def fit(cls, rows: Matrix, weight: NDArray[np.float64], scaling: Scaling) -> Self:
        """Learn from images (N, C, ...)."""
        if not np.isfinite(rows).all():
            raise InputError(
                "images must be finite; NaN or infinity was given. Leave those images out."
            )
        n_channels = 1 if scaling == "common" else rows.shape[1]
        by_channel = np.moveaxis(rows, 1, -1).reshape(len(rows), -1, n_channels)
        flat = by_channel.reshape(-1, n_channels)  # (N * pixels, channels)
        counted = np.repeat(weight, by_channel.shape[1])[:, None] * np.ones(n_channels)
        mean, std = moments(flat, counted)
        if scaling == "none":
            mean, std = np.zeros_like(mean), np.ones_like(std)
        return cls(rows.shape[1:], mean, std)

    @property
    def input_shape(self) -> tuple[int, ...]:
        """(C, ...)."""
        return self.shape

    def rows(self, x: Any) -> Matrix:
        """Images as float64, after checking their shape."""
        array = np.asarray(x, dtype=np.float64)
        if array.shape[1:] != self.shape:
            raise InputError(
                f"rows must have shape {self.shape} as in training; got {array.shape[1:]}."
            )
        return array

    def unseen(self, rows: Matrix) -> dict[str, NDArray[np.int64]]:
        """None: images have no levels."""
        return {}

    def encode(self, rows: Matrix) -> Matrix:
        """(x - mean) / std, by channel."""
        axes = (len(self.mean), *(1 for _ in self.shape[1:]))
        inputs = scaled(rows, self.mean.reshape(axes), self.std.reshape(axes))
        if not (np.abs(inputs) <= FARTHEST).all():
            raise InputError(
                f"images must be finite, and after scaling within {FARTHEST:g}. Leave the others "
                "out."
            )
        return inputs

    def encode_training(self, rows: Matrix, weight: Matrix, y: Matrix) -> Matrix:
        """Those of any rows."""
        return self.encode(rows)

    def state(self) -> dict[str, Any]:
        """Everything learned."""
        return {
            "kind": "images",
            "shape": list(self.shape),
            "mean": self.mean.tolist(),
            "std": self.std.tolist(),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """The encoder that gave this state."""
        return cls(tuple(state["shape"]), *_stored_scale(state))


def described_columns(encoder: Encoder) -> list[dict[str, str]]:
    """How each column of a table was read, in the order of the table; none of images."""
    if not isinstance(encoder, TableEncoder):
        return []
    found = {
        column.name: {"kind": column.kind, "became": column.described, "why": column.why}
        for column in encoder.columns.columns
    }
    for name, why in encoder.columns.left_out:
        found[name] = {"kind": "left out", "became": "", "why": why}
    return [{"column": name, **found[name]} for name in encoder.columns.names]


def encoder_from(state: Mapping[str, Any]) -> Encoder:
    """The encoder that gave a state."""
    kinds: dict[str, type[TableEncoder] | type[ImageEncoder]] = {
        "table": TableEncoder,
        "images": ImageEncoder,
    }
    if state.get("kind") not in kinds:
        raise InputError(
            f"no encoder is called {state.get('kind')!r}; there are {', '.join(kinds)}."
        )
    return kinds[state["kind"]].from_state(state)


def _stored_scale(state: Mapping[str, Any]) -> tuple[Matrix, Matrix]:
    """Mean and standard deviation of a state, after checking that one can divide by it."""
    mean, std = (np.array(state[name], dtype=np.float64) for name in ("mean", "std"))
    if not (np.isfinite(mean).all() and np.isfinite(std).all() and (std > 0).all()):
        raise InputError(
            "the encoder's averages must be finite and its standard deviations positive."
        )
    return mean, std
