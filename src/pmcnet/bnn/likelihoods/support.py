"""The values that a response can have."""

import math
from typing import NamedTuple

import numpy as np

from pmcnet.bnn.likelihoods.response import Array

_ROUNDING = 1e-9


class Support(NamedTuple):
    """Numbers from `least` to `most`, in units of y; only whole ones where `whole` is set."""

    least: float = -math.inf
    most: float = math.inf
    whole: bool = False

    def within(self, intervals: Array) -> Array:
        """The part of each interval (N, 2) that y can be in; an empty one is one value."""
        lower, upper = intervals.clip(self.least, self.most).T
        middle = (lower + upper) / 2
        if self.whole:
            slack = _ROUNDING * (1 + np.abs(intervals.T))
            lower, upper = np.ceil(lower - slack[0]), np.floor(upper + slack[1])
            middle = np.rint(middle)
        empty = lower > upper
        return np.where(empty, middle, np.stack([lower, upper])).T + 0.0  # no -0
