"""A noise scale that depends on the row: the network's second output moves its logarithm."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor

from pmcnet.bnn.likelihoods.base import (
    LARGEST_SCALE,
    POSITIVE,
    Gradients,
    LearnedScale,
    Likelihood,
)
from pmcnet.errors import InputError
from pmcnet.io.schema import Form, number

_COMMON = 1e-9  # sensitivity at which no row differs from another


@dataclass(frozen=True)
class RowScale(LearnedScale):
    """log sigma = log sigma_0 + sensitivity * output_1, with log sigma_0 a parameter.

    The second output has mean 0 under the prior, so that sigma_0 is the scale of a typical row.
    Annealing goes first to one scale for all rows. With noise by row from the start, populations
    find networks that explain the response by noise alone before they find the mean.
    """

    sensitivity: float = 0.5

    n_outputs: ClassVar[int] = 2
    stored_form: ClassVar[Mapping[str, Form]] = {
        **LearnedScale.stored_form,
        "sensitivity": number(POSITIVE, LARGEST_SCALE),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.sensitivity < math.inf:
            raise InputError(
                f"sensitivity must be a positive finite number; got {self.sensitivity}."
            )

    @property
    def simpler(self) -> Likelihood:
        """With (nearly) one scale for all rows."""
        common: Any = replace(self, sensitivity=_COMMON)
        found: Likelihood = common
        return found

    def log_scale(self, output: Tensor, extra: Tensor) -> Tensor:
        """Log sigma of each row (P, N)."""
        return extra[..., :1] + self.sensitivity * output[..., 1]

    def gradients_by(self, log_prob: Tensor, by_mean: Tensor, by_log_scale: Tensor) -> Gradients:
        """From the derivatives of each row by the mean and by log sigma (P, N)."""
        by_output = torch.stack([by_mean, self.sensitivity * by_log_scale], -1)
        return Gradients(log_prob, by_output, by_log_scale[..., None])
