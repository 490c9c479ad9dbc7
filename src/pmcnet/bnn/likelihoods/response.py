"""The response as an estimator sees it, and the units in which a network predicts it."""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pmcnet.errors import InputError

Array = NDArray[np.float64]
Noise = float | Literal["learn", "by-row"]

FARTHEST = 1e15
"""Standard deviations from the mean beyond which a value of y is refused."""
_WIDEST = 1e100


class Response(NamedTuple):
    """All that a likelihood may be built from.

    `y` holds one number per row (N,), a value or the code of a class from 0; for some families a
    second column is known of each row (N, 2): see there. Several targets are (N, T). `weight` is
    how often each row counts (N,). `noise` is "learn", "by-row" or a standard deviation in units of
    y; `n_classes` is the number of classes.
    """

    y: Array
    weight: Array
    noise: Noise = "learn"
    n_classes: int = 0


class Units(NamedTuple):
    """y = offset + scale z, where z is what the network predicts.

    Of several targets, offset and scale are one number for each (T,).
    """

    offset: float = 0.0
    scale: float = 1.0

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the values of one row: (), of several targets (T,)."""
        return np.shape(self.scale)

    def to_network(self, y: Array) -> Array:
        """Values of y in the network's units."""
        return (y - self.offset) / self.scale

    def values(self, z: Array) -> Array:
        """Values in units of y."""
        return self.offset + self.scale * z

    def variances(self, variance: Array) -> Array:
        """Variances in squared units of y."""
        return self.scale**2 * variance

    def log_density(self, log_density: Array) -> Array:
        """Log-densities of z as those of y."""
        return np.asarray(log_density - np.log(self.scale).sum())


def standardised(y: Array, weight: Array) -> Units:
    """Units in which y has mean 0 and standard deviation 1; where y is constant, only mean 0."""
    half_range = float(y.max() / 2 - y.min() / 2)
    if half_range == 0:
        return Units(float(y[0]), 1.0)
    if not 1 / _WIDEST < half_range < _WIDEST:
        raise InputError(
            f"y goes from {y.min():g} to {y.max():g}; the square of that range would leave double "
            "precision. Give y in other units."
        )
    mean = float(np.average(y, weights=weight))
    deviation = float(np.sqrt(np.average(np.square(y - mean), weights=weight)))
    farthest = int(np.abs(y - mean).argmax())
    if not abs(y[farthest] - mean) <= FARTHEST * deviation:
        raise InputError(
            f"y is {y[farthest]:g} in a row of weight {weight[farthest]:g}, beyond {FARTHEST:g} of "
            f"y's weighted standard deviations ({deviation:.3g}). Drop that row, or give it more "
            "weight."
        )
    return Units(mean, deviation)
