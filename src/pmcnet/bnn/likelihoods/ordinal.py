"""Classes in an order: cumulative logits with cuts that are learned.

    P(y <= c) = sigmoid(cut_c - scale * output),  cut_0 < cut_1 < ... < cut_{K-2}

Own parameters are the first cut and the logarithms of the gaps between cuts. With u and l the upper
and lower cut of a class minus scale * output, its probability is sigmoid(u) - sigmoid(l) =
sigmoid(u) sigmoid(-l) (1 - exp(l - u)), in which nothing cancels.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from pmcnet.bnn.likelihoods.base import Gradients, Likelihood, check_scale, column
from pmcnet.bnn.likelihoods.categorical import Classes
from pmcnet.bnn.likelihoods.response import Response, Units
from pmcnet.errors import InputError
from pmcnet.io.schema import Form, number, whole

MOST_ORDERED = 1000
_LOG_GAPS = (-80.0, 40.0)  # what is taken of a log gap: its exponential stays in single precision
_SCALES = (1e-6, 1e6)


@dataclass(frozen=True)
class Ordinal(Classes):
    """One of K classes in the order of their codes, from one output.

    Under the prior the cuts have medians that make all classes equally probable for an output of 0;
    the first cut is normal and the gaps are log-normal, both with standard deviation 1. That
    spreads the probabilities about as much as a uniform distribution on the simplex does.

    Args:
        n_classes: K.
        scale: of the output, in units of the logistic noise.
    """

    n_classes: int
    scale: float = 1.0

    n_outputs = 1
    stored_form: ClassVar[Mapping[str, Form]] = {
        "n_classes": whole(2, MOST_ORDERED),
        "scale": number(*_SCALES),
    }

    def __post_init__(self) -> None:
        if not 2 <= self.n_classes <= MOST_ORDERED:
            raise InputError(
                f"an order is learned of 2 to {MOST_ORDERED} classes; got {self.n_classes}. For "
                "more use PMCNetRegressor."
            )
        if not _SCALES[0] <= self.scale <= _SCALES[1]:
            raise InputError(
                f"scale must lie between {_SCALES[0]:g} and {_SCALES[1]:g}; got {self.scale}."
            )

    @classmethod
    def for_response(cls, response: Response, units: Units) -> Likelihood:
        """With as many classes."""
        return cls(response.n_classes)

    @property
    def extra_names(self) -> tuple[str, ...]:  # type: ignore[override]
        """The first cut, and log gaps."""
        return ("first_cut", *(f"log_gap_{c}" for c in range(1, self.n_classes - 1)))

    @property
    def n_extra(self) -> int:
        """As many as there are cuts."""
        return self.n_classes - 1

    @property
    def extra_prior(self) -> tuple[tuple[float, float], ...]:
        """Of the first cut and of log gaps: those of equally probable classes, give or take 1."""
        cuts = [math.log(c / (self.n_classes - c)) for c in range(1, self.n_classes)]
        gaps = (math.log(b - a) for a, b in zip(cuts, cuts[1:], strict=False))
        return tuple((mean, 1.0) for mean in (cuts[0], *gaps))

    def usable(self, extra: Tensor) -> Tensor:
        """Whether all cuts are finite."""
        return extra.isfinite().all(-1)

    def log_prob(self, output: Tensor, y: Tensor, extra: Tensor) -> Tensor:
        """log sigmoid(u) + log sigmoid(-l) + log(1 - exp(l - u))."""
        index = y.long().expand(output.shape[:-1])  # (P, N)
        upper, lower = self._edges(column(output, y), index, extra)
        inner = _log_within(_gaps(extra))  # (P, K - 2)
        within = torch.nn.functional.pad(inner, (1, 1)).gather(-1, index)
        return self._joined(upper, lower, index) + within
'''
