"""From a table or images to the network's inputs, in units of the training rows.

Numbers are standardised, (x - mean) / std; a categorical column becomes one input per level. A
missing value takes the average of the training rows, and a column of which training rows had
missing values has one more input that says so. Everything learned is plain data.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from pmcnet.errors import InputError
from pmcnet.estimators.columns import Column, Columns, Matrix

Scaling = Literal["columns", "common", "none"]
SCALINGS = ("columns", "common", "none")
FARTHEST = 1e15
"""Inputs beyond this are refused: networks in single precision would overflow on them."""


class Encoder(Protocol):
    """What turns rows into inputs."""

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Shape of one row of inputs."""
        ...

    def rows(self, x: Any) -> Matrix:
        """Raw rows as numbers, exact."""
        ...

    def encode(self, rows: Matrix) -> Matrix:
        """Numbers as inputs of the network."""
        ...

    def state(self) -> dict[str, Any]:
        """Everything learned, as plain data."""
        ...


@dataclass(frozen=True)
class TableEncoder:
    """Standardised numbers, one input per level, one input per column with missing values.

    Args:
        columns: of the training table.
        mean: of each column (d,); 0 for categorical ones.
        std: of each column (d,); 1 for categorical ones and those that do not vary.
        shares: for each column the share of each level; empty for numeric ones.
        flagged: whether training rows had missing values, by column (d,).
    """

    columns: Columns
    mean: NDArray[np.float64]
    std: NDArray[np.float64]
    shares: tuple[tuple[float, ...], ...]
    flagged: NDArray[np.bool_]

    @classmethod
    def fit(
        cls, columns: Columns, rows: Matrix, weight: NDArray[np.float64], scaling: Scaling
    ) -> Self:
        """Learn from rows (N, d) that count `weight` times (N,)."""
        present = ~np.isnan(rows)
        empty = np.flatnonzero(~present.any(0))
        if len(empty):
            name = columns.names[empty[0]]
            raise InputError(f"column {name!r} has no values at all. Drop it, or fill it in.")
        numbers = np.array([column.kind == "number" for column in columns.columns])
        counted = present * weight[:, None]  # (N, d)
        mean, std = _moments(rows, counted)
        if scaling == "common" and numbers.any():
            mean[numbers], std[numbers] = _common(rows[:, numbers], counted[:, numbers])
        still = ~numbers | (scaling == "none")
        shares = [
            _shares(rows[:, i], weight, len(column.levels)) if column.kind == "text" else ()
            for i, column in enumerate(columns.columns)
        ]
        flagged = np.asarray(np.isnan(rows).any(axis=0), dtype=np.bool_)
        return cls(
            columns, np.where(still, 0.0, mean), np.where(still, 1.0, std), tuple(shares), flagged
        )

    @property
    def input_shape(self) -> tuple[int, ...]:
        """(number of inputs,)."""
        widths = [max(1, len(share)) for share in self.shares]
        return (sum(widths) + int(self.flagged.sum()),)

    @property
    def input_columns(self) -> NDArray[np.int64]:
        """The position of the column that each input comes from (n_inputs,)."""
        widths = [max(1, len(share)) for share in self.shares]
        own = np.repeat(np.arange(len(widths)), widths)
        return np.concatenate([own, np.flatnonzero(self.flagged)])

    def rows(self, x: Any) -> Matrix:
        """The table as numbers (N, d)."""
        return self.columns.matrix(x)

    def encode(self, rows: Matrix) -> Matrix:
        """Numbers (N, d) -> inputs (N, n_inputs)."""
        missing = np.isnan(rows)
        numbers = [i for i, share in enumerate(self.shares) if not share]
        scaled = np.where(missing, 0.0, _scaled(rows, self.mean, self.std))
        far = np.argwhere(~(np.abs(scaled[:, numbers]) <= FARTHEST))
        if len(far):
            row, column = far[0][0], numbers[far[0][1]]
            raise InputError(
                f"column {self.columns.names[column]!r} has {rows[row, column]:g} in row {row + 1},"
                f" after scaling beyond {FARTHEST:g} and too large for the network. Correct it, "
                "leave it empty, or scale the column."
            )
        parts: list[Matrix] = []
        for i, share in enumerate(self.shares):
            if share:
                # one row per level, and one for a missing value, which takes the average
                table = np.vstack([np.eye(len(share)), np.array(share)])
                level = np.where(missing[:, i], len(share), rows[:, i]).astype(np.int64)  # (N,)
                parts.append(table[level])
            else:
                parts.append(scaled[:, i : i + 1])
        return np.hstack([*parts, missing[:, self.flagged].astype(np.float64)])

    def state(self) -> dict[str, Any]:
        """Everything learned."""
        return {
            "kind": "table",
            "columns": [asdict(column) for column in self.columns.columns],
            "mean": self.mean.tolist(),
            "std": self.std.tolist(),
            "shares": [list(share) for share in self.shares],
            "flagged": self.flagged.tolist(),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """The encoder that gave this state."""
        columns = Columns(
            tuple(Column(c["name"], c["kind"], tuple(c["levels"])) for c in state["columns"])
        )
        shares = tuple(tuple(float(value) for value in share) for share in state["shares"])
        mean, std = _stored_scale(state)
        flagged = np.array(state["flagged"], dtype=bool)
        if not len(columns.columns) == len(mean) == len(std) == len(shares) == len(flagged):
            raise InputError("the encoder's columns do not belong together.")
        for column, share in zip(columns.columns, shares, strict=True):
            categorical = column.kind == "text" and all(isinstance(v, str) for v in column.levels)
            known = column.kind in ("number", "text")
            if not known or len(share) != len(column.levels) or bool(share) != categorical:
                raise InputError(
                    f"the levels of the encoder's column {column.name!r} do not belong together."
                )
        return cls(columns, mean, std, shares, flagged)


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
        mean, std = _moments(flat, counted)
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

    def encode(self, rows: Matrix) -> Matrix:
        """(x - mean) / std, by channel."""
        axes = (len(self.mean), *(1 for _ in self.shape[1:]))
        scaled = _scaled(rows, self.mean.reshape(axes), self.std.reshape(axes))
        if not (np.abs(scaled) <= FARTHEST).all():
            raise InputError(
                f"images must be finite, and after scaling within {FARTHEST:g}. Leave the others "
                "out."
            )
        return scaled

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


def _scaled(rows: Matrix, mean: Matrix, std: Matrix) -> Matrix:
    """(x - mean) / std; what overflows is refused in any case."""
    with np.errstate(over="ignore"):
        scaled: Matrix = (rows - mean) / std
    return scaled


def _moments(rows: Matrix, weight: Matrix) -> tuple[Matrix, Matrix]:
    """Weighted mean and standard deviation of each column (d,), missing values left out.

    The standard deviation of a column that does not vary is 1.
    """
    known = np.where(weight > 0, rows, 0.0)
    # powers of 2, so that squares stay in range
    unit = np.ldexp(1.0, np.frexp(np.abs(known).max(0))[1] - 1)
    known, total = known / unit, weight.sum(0)
    mean = (weight * known).sum(0) / total
    std = unit * np.sqrt((weight * np.square(known - mean)).sum(0) / total)
    mean = unit * mean
    low = np.where(weight > 0, rows, np.inf).min(0)
    # rounding must not make a constant vary
    constant = low == np.where(weight > 0, rows, -np.inf).max(0)
    return np.where(constant, low, mean), np.where(constant | (std == 0), 1.0, std)


def _common(rows: Matrix, weight: Matrix) -> tuple[float, float]:
    """One mean and one standard deviation for all columns."""
    mean, std = _moments(rows.reshape(-1, 1), weight.reshape(-1, 1))
    return float(mean[0]), float(std[0])


def _shares(codes: Matrix, weight: NDArray[np.float64], n_levels: int) -> tuple[float, ...]:
    known = ~np.isnan(codes)
    counts = np.bincount(codes[known].astype(np.int64), weights=weight[known], minlength=n_levels)
    return tuple((counts / counts.sum()).tolist())
