"""A noise scale that depends on the row: the network's second output moves its logarithm."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from pmcnet.bnn.likelihoods.base import (
    LARGEST_SCALE,
    POSITIVE,
    Gradients,
    LearnedScale,
    Likelihood,
)
from pmcnet.bnn.likelihoods.response import Array
from pmcnet.errors import InputError
from pmcnet.io.schema import Form, number

_COMMON = 1e-9  # sensitivity at which no row differs from another


@dataclass(frozen=True)
class RowScale(LearnedScale):
    """sigma = floor + exp(log sigma_0 + sensitivity * output_1), with log sigma_0 a parameter.

    The second output has mean 0 under the prior, so that sigma_0 is the scale of a typical row.
    Annealing goes first to one scale for all rows. With noise by row from the start, populations
    find networks that explain the response by noise alone before they find the mean.

    The floor keeps the density of a rounded response bounded: without it a network gains without
    limit by predicting some of its few values exactly, with no noise.
    """

    sensitivity: float = 0.5
    floor: float = 0.0

    n_outputs: ClassVar[int] = 2
    stored_form: ClassVar[Mapping[str, Form]] = {
        **LearnedScale.stored_form,
        "sensitivity": number(POSITIVE, LARGEST_SCALE),
        "floor": number(0, LARGEST_SCALE),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, least in (("sensitivity", POSITIVE), ("floor", 0.0)):
            value = getattr(self, name)
            if not least <= value < math.inf:
                raise InputError(f"{name} must be a positive finite number; got {value}.")

    @property
    def simpler(self) -> Likelihood:
        """With (nearly) one scale for all rows."""
        common: Any = replace(self, sensitivity=_COMMON)
        found: Likelihood = common
        return found

    def log_scale(self, output: Tensor, extra: Tensor) -> Tensor:
        """Log sigma of each row (P, N)."""
        above = self._log_above(output, extra)
        return above if self.floor == 0 else torch.logaddexp(above, self._log_floor(above))

    def gradients_by(
        self, output: Tensor, extra: Tensor, log_prob: Tensor, by_mean: Tensor, by_log_scale: Tensor
    ) -> Gradients:
        """From the derivatives of each row by the mean and by log sigma (P, N)."""
        if self.floor:  # d log sigma / d log(sigma - floor)
            above = self._log_above(output, extra)
            by_log_scale = by_log_scale * (above - self._log_floor(above)).sigmoid()
        by_output = torch.stack([by_mean, self.sensitivity * by_log_scale], -1)
        return Gradients(log_prob, by_output, by_log_scale[..., None])

    def _log_above(self, output: Tensor, extra: Tensor) -> Tensor:
        """Log of sigma above the floor."""
        return extra[..., :1] + self.sensitivity * output[..., 1]

    def _log_floor(self, like: Tensor) -> Tensor:
        return like.new_tensor(math.log(self.floor))


def rounding_floor(z: Array) -> float:
    """The standard deviation of rounding, where values (N,) are rounded: their step / sqrt(12).

    The step is the 10 % quantile of the gaps between different values, so that a few values off
    the grid do not hide it. It is next to nothing for values that are not rounded.
    """
    gaps = np.diff(np.unique(z))
    step = float(np.quantile(gaps, 0.1, method="lower")) if len(gaps) else 0.0
    return step / math.sqrt(12)
