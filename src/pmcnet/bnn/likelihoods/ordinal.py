"""Classes in an order: cumulative logits with cuts that are learned.

    P(y <= c) = sigmoid(cut_c - scale * output),  cut_0 < cut_1 < ... < cut_{K-2}

Own parameters are the first cut and the logarithms of the gaps between cuts. With u and l the upper
and lower cut of a class minus scale * output, its probability is sigmoid(u) - sigmoid(l) =
sigmoid(u) sigmoid(-l) (1 - exp(l - u)), in which nothing cancels.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid, pad

from pmcnet.bnn.likelihoods.base import Gradients, Likelihood, column
from pmcnet.bnn.likelihoods.categorical import Classes
from pmcnet.bnn.likelihoods.response import Response, Units
from pmcnet.errors import InputError
from pmcnet.io.schema import Form, number, whole

MOST_ORDERED = 1000
_CUT_STD, _GAP_STD = 1.0, 0.7  # of the prior, the latter of log gaps
_LOG_GAPS = (-80.0, 40.0)  # what is taken of a log gap: its exponential stays in single precision
_SCALES = (1e-6, 1e6)


@dataclass(frozen=True)
class Ordinal(Classes):
    """One of K classes in the order of their codes, from one output.

    Under the prior the medians of first cut and gaps make all classes equally probable for an
    output of 0. The first cut has standard deviation 1, log gaps have .7: for ten classes and fewer
    the probabilities spread about as much as those of a uniform distribution on the simplex.

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
        """Around the first cut and the log gaps of equally probable classes."""
        cuts = [math.log(c / (self.n_classes - c)) for c in range(1, self.n_classes)]
        gaps = (math.log(b - a) for a, b in pairwise(cuts))
        return ((cuts[0], _CUT_STD), *((gap, _GAP_STD) for gap in gaps))

    def usable(self, extra: Tensor) -> Tensor:
        """Whether all cuts are finite."""
        return extra.isfinite().all(-1)

    def log_prob(self, output: Tensor, y: Tensor, extra: Tensor) -> Tensor:
        """log sigmoid(u) + log sigmoid(-l) + log(1 - exp(l - u))."""
        return self._of(output, y, extra).log_prob

    def gradients(self, output: Tensor, y: Tensor, extra: Tensor) -> Gradients:
        """By u sigmoid(-u), by l -sigmoid(l), and by log(u - l) what the last term gives."""
        code, upper, lower, log_prob = self._of(output, y, extra)
        by_upper = torch.where(code < self.n_classes - 1, (-upper).sigmoid(), 0.0)
        by_lower = torch.where(code > 0, -lower.sigmoid(), 0.0)
        by_cuts = by_upper + by_lower  # if all cuts move together (P, N)
        gap, own = _gaps(extra)[:, None], torch.arange(1, self.n_classes - 1, device=y.device)
        code, by_upper, by_lower = (part[..., None] for part in (code, by_upper, by_lower))
        moved = torch.where(own <= code, by_upper, 0.0) + torch.where(own < code, by_lower, 0.0)
        by_gaps = gap * moved + torch.where(own == code, gap / gap.expm1(), 0.0)
        log_gap = extra[:, None, 1:]
        free = (log_gap >= _LOG_GAPS[0]) & (log_gap <= _LOG_GAPS[1])
        by_extra = torch.cat([by_cuts[..., None], torch.where(free, by_gaps, 0.0)], -1)
        return Gradients(log_prob, -self.scale * by_cuts[..., None], by_extra)

    def mean(self, output: Tensor, extra: Tensor) -> Tensor:
        """Probabilities of all classes (P, N, K)."""
        edges = _cuts(extra)[:, None] - self.scale * output  # (P, N, K - 1)
        log_upper, log_lower = pad(logsigmoid(edges), (0, 1)), pad(logsigmoid(-edges), (1, 0))
        return (log_upper + log_lower + _log_within(extra)[:, None]).exp()

    def _of(self, output: Tensor, y: Tensor, extra: Tensor) -> "_Edges":
        """What each row's own class has."""
        code = y.long().expand(output.shape[:-1])
        cuts, shift = _cuts(extra), self.scale * column(output, y)
        upper = cuts.gather(-1, code.clamp(max=self.n_classes - 2)) - shift
        lower = cuts.gather(-1, (code - 1).clamp(min=0)) - shift
        log_upper = torch.where(code < self.n_classes - 1, logsigmoid(upper), 0.0)
        log_lower = torch.where(code > 0, logsigmoid(-lower), 0.0)
        within = _log_within(extra).gather(-1, code)
        return _Edges(code, upper, lower, log_upper + log_lower + within)


class _Edges(NamedTuple):
    """The class of each row, u, l (of no meaning where there is no cut) and log p: (P, N)."""

    code: Tensor
    upper: Tensor
    lower: Tensor
    log_prob: Tensor


def _gaps(extra: Tensor) -> Tensor:
    """From each cut to the next (P, K - 2)."""
    return extra[:, 1:].clamp(*_LOG_GAPS).exp()


def _cuts(extra: Tensor) -> Tensor:
    """All cuts (P, K - 1)."""
    return torch.cat([extra[:, :1], _gaps(extra)], -1).cumsum(-1)


def _log_within(extra: Tensor) -> Tensor:
    """log(1 - exp(-gap)) of each class; 0 of the first and the last, which are open (P, K)."""
    return pad((-(-_gaps(extra)).expm1()).log(), (1, 1))
