"""The average over networks, and the intervals that hold 80 and 95 % of them."""

from typing import NamedTuple, Self

import numpy as np

from pmcnet.estimators.predictions import Array

LEVELS = (0.025, 0.1, 0.9, 0.975)


class Spread(NamedTuple):
    """The mean over networks and quantiles of them, each of the same shape."""

    mean: Array
    low95: Array
    low80: Array
    high80: Array
    high95: Array

    @classmethod
    def of(cls, each: Array) -> Self:
        """Of numbers by network (R, ...)."""
        return cls(each.mean(0), *np.quantile(each, LEVELS, axis=0))

    def columns(self, name: str) -> dict[str, Array]:
        """Flat columns of a frame, the mean under a name."""
        return {name: self.mean.ravel()} | {
            key: getattr(self, key).ravel() for key in self._fields[1:]
        }
