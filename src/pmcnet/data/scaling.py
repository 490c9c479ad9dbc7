"""Standardised inputs: (x - mean) / std, column by column, with the training rows' statistics.

The standard deviation is the population's (divided by N, not N - 1), as in scikit-learn's
StandardScaler.
"""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from pmcnet.data.table import Split
from pmcnet.errors import InputError

Values = NDArray[np.float64]


class Scaler(NamedTuple):
    """An affine map of each column. `Scaler.fit(x)` takes features (N, d), or one response (N,)."""

    mean: Values  # (d,)
    std: Values  # (d,), 1 where the column does not vary

    @classmethod
    def fit(cls, x: Values) -> Self:
        """Mean and standard deviation of the rows; a constant column maps to exactly 0."""
        _check_rows(x)
        # Rounding makes the computed deviation of a constant positive: compare the values.
        constant = x.min(0) == x.max(0)  # (d,)
        std = x.std(0)  # (d,)
        return cls(
            mean=np.where(constant, x[0], x.mean(0)), std=np.where(constant | (std == 0), 1.0, std)
        )

    def transform(self, x: Values) -> Values:
        """(x - mean) / std."""
        return (x - self.mean) / self.std

    def inverse(self, z: Values) -> Values:
        """Mean + std * z."""
        return self.mean + self.std * z


def standardise(split: Split) -> Split:
    """The split with inputs in units of its training rows, on which alone the scale depends.

    A column constant over the training rows is shifted by that constant and not stretched. Labels
    are left alone.
    """
    scaler = Scaler.fit(split.x_train)
    return split._replace(
        x_train=scaler.transform(split.x_train),
        x_val=scaler.transform(split.x_val),
        x_test=scaler.transform(split.x_test),
    )


def standardise_each(split: Split) -> Split:
    """The split with every part in units of its own rows; an empty part stays as it is.

    The paper's code scaled Ionosphere and Glass in this way. Use it only to reproduce a published
    row, and `standardise` for everything else: here the inputs of a test row depend on which other
    rows are in the test set, and one measurement means different things in training and test.
    """
    return split._replace(
        x_train=Scaler.fit(split.x_train).transform(split.x_train),
        x_val=_by_its_own(split.x_val),
        x_test=_by_its_own(split.x_test),
    )


def _by_its_own(x: Values) -> Values:
    return Scaler.fit(x).transform(x) if len(x) else x


def _check_rows(x: Values) -> None:
    if len(x) == 0:
        raise InputError(
            f"a scaler needs at least one row; got shape {x.shape}. Fit it on the training rows."
        )
    finite = np.isfinite(x).reshape(len(x), -1).all(0)  # (d,)
    if not finite.all():
        column = int(np.argmin(finite))
        raise InputError(
            f"column {column} holds values that are not finite. Drop or fill in those rows first."
        )
