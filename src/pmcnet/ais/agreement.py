"""How far independent estimates of the same predictions agree: their Monte Carlo error.

G islands (or chains) share nothing, so each estimates the prediction m of a row on its own, and
the error of their average m-bar follows from how far they disagree, whatever the reason:

    se(m-bar)^2 = t_G^2 sum_g (m_g - m-bar)^2 / (G (G - 1)),

with t_G the factor by which Student's distribution with G - 1 degrees of freedom widens an
interval of one standard error. The error of a standard deviation is that of the jackknife over
islands. Nested R-hat compares the islands' means with what varies within them (Margossian et al.,
Bayesian Analysis, 2024).
"""

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, Self, TypeVar, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import ndtr, stdtrit  # type: ignore[import-untyped]
from torch import Tensor

from pmcnet.ais.comm import Communicator
from pmcnet.ais.tiling import in_groups
from pmcnet.io.state_checks import check_whole, require

Quantity = Literal["values", "probabilities", "coordinates"]
"""What is predicted: numbers, class probabilities, or the coordinates of a density themselves."""
UPPER = 0.9
"""Share of the rows whose error is below the upper one that is stated."""
Numbers = TypeVar("Numbers", Tensor, "NDArray[np.float64]")
_MEAN_OF_NORMAL = math.sqrt(2 / math.pi)  # E|z| of a standard normal z


class Predictions(NamedTuple):
    """What n points predict for S rows.

    `mean` (n, S, C) are E[y], with C = 1, or class probabilities; `noise` (n, S) is Var[y] about
    E[y], 0 for probabilities and for coordinates. Both are float64.
    """

    mean: Tensor
    noise: Tensor


class IslandMoments(NamedTuple):
    """Averages over each island: of the mean and its square (G, S, C), and of the noise (G, S)."""

    mean: Tensor
    square: Tensor
    noise: Tensor

    @classmethod
    def of(cls, found: Predictions, n_islands: int) -> Self:
        """Those of n points, islands one after another and of equal size."""
        mean = in_groups(found.mean, n_islands)  # (G, n / G, S, C)
        noise = in_groups(found.noise, n_islands).mean(1)
        return cls(mean.mean(1), mean.square().mean(1), noise)

    @classmethod
    def joined(cls, parts: Sequence["IslandMoments"]) -> Self:
        """Those of all islands, from parts of them."""
        return cls(*(torch.cat(each) for each in zip(*parts, strict=True)))

    @property
    def n_islands(self) -> int:
        """G."""
        return len(self.mean)

    @property
    def mean_error(self) -> Tensor:
        """Standard error of the average prediction (S, C); infinite for a single island."""
        return standard_error(self.mean)

    @property
    def variance(self) -> Tensor:
        """Predictive variance of y (S,); of probabilities the sum over the classes."""
        within = self.square.mean(0) - self.mean.mean(0).square()
        return within.clamp(min=0).sum(-1) + self.noise.mean(0)

    @property
    def std_error(self) -> Tensor:
        """Standard error of the predictive standard deviation (S,), by the jackknife."""
        g = self.n_islands
        if g < 2:
            return torch.full_like(self.noise[0], torch.inf)
        others = [(part.sum(0) - part) / (g - 1) for part in self]
        std = IslandMoments(*(part[:, None] for part in others))
        each = (std.square[:, 0] - std.mean[:, 0].square()).clamp(min=0).sum(-1) + std.noise[:, 0]
        each = each.sqrt()  # (G, S)
        spread = (each - each.mean(0)).square().sum(0)
        return student_factor(g) * ((g - 1) / g * spread).sqrt()

    @property
    def relative_error(self) -> Tensor:
        """Standard error of the prediction in units of the predictive standard deviation (S,)."""
        error = self.mean_error.square().sum(-1).sqrt()
        return torch.where(error > 0, error / self.variance.sqrt(), 0.0)

    @property
    def tv_error(self) -> Tensor:
        """Expected total variation between stated and exact probabilities (S,)."""
        return expected_tv(self.mean_error)

    @property
    def nested_rhat(self) -> Tensor:
        """sqrt(1 + B / W), with B the variance of the islands' means, W within them: (S,)."""
        if self.n_islands < 2:
            return torch.full_like(self.noise[0], torch.inf)
        between = self.mean.var(0).sum(-1)
        within = (self.square - self.mean.square()).clamp(min=0).mean(0).sum(-1)
        ratio = torch.where(between > 0, between / within, 0.0)
        return (1 + ratio).sqrt()

    def error(self, quantity: Quantity) -> Tensor:
        """The error of each row in the units of its limit (S,)."""
        return self.tv_error if quantity == "probabilities" else self.relative_error


class Agreement(NamedTuple):
    """How far G islands agree on S rows, in a few numbers.

    `median` and `upper` are the error of the prediction at the median row and at the 90th
    percentile, of coordinates at the worst one: in units of the predictive standard deviation, of
    probabilities the total variation. `std_error` is that of the predictive standard deviation as
    a share of it at the median row, not a number for probabilities. `rhat` is the largest nested
    R-hat. `drift` is the largest significant shift of predictions while they were averaged, in
    predictive standard deviations. `ess` is how many independent draws know the median row as well.
    """

    quantity: Quantity
    n_islands: int
    median: float
    upper: float
    std_error: float
    rhat: float
    drift: float
    ess: float

    @classmethod
    def unknown(cls, quantity: Quantity) -> Self:
        """Before there are draws."""
        return cls(quantity, 0, math.inf, math.inf, math.inf, math.inf, 0.0, 0.0)

    @classmethod
    def of(cls, moments: IslandMoments, quantity: Quantity, drift: float = 0.0) -> Self:
        """Summarise."""
        error = moments.error(quantity)
        share = 1.0 if quantity == "coordinates" else UPPER
        upper = error.sort().values[math.ceil(share * (len(error) - 1))]
        std = moments.std_error / moments.variance.sqrt()
        own = (moments.square.mean(0) - moments.mean.mean(0).square()).sum(-1)  # without noise
        square = moments.mean_error.square().sum(-1)
        ess = torch.where(square > 0, own / square, torch.inf)
        return cls(
            quantity,
            moments.n_islands,
            float(error.median()),
            float(upper),
            math.nan if quantity == "probabilities" else float(std.median()),
            float(moments.nested_rhat.max()),
            drift,
            float(ess.median()),
        )

    @classmethod
    def of_plain(cls, stored: Sequence[Any] | None) -> Self | None:
        """From a list of its parts, infinite ones None; None where there is none."""
        if stored is None:
            return None
        quantity, n_islands, *numbers = stored
        return cls(quantity, n_islands, *(math.inf if x is None else float(x) for x in numbers))

    def agreed(self, comm: Communicator) -> Self:
        """That of the first process."""
        numbers = comm.agreed(torch.tensor(self[2:], dtype=torch.float64))
        return type(self)(*self[:2], *numbers.tolist())

    def check(self) -> None:
        """Refuse what no run has."""
        require(self.quantity in get_args(Quantity), "quantity", f"one of {get_args(Quantity)}")
        check_whole(self.n_islands, "n_islands")
        for name in ("median", "upper", "std_error", "rhat", "drift", "ess"):
            value = getattr(self, name)
            require(type(value) is float and not value < 0, name, "a number, 0 or more")


def evidence_shift(
    moments: IslandMoments, log_evidence: Tensor, quantity: Quantity
) -> tuple[float, float]:
    """What predictions change by where islands count by their evidence: median and upper row.

    In units of the limits of the error. Islands that are samples of one posterior differ in the
    evidence of more data by chance alone; those in modes that the data favour have more of it.

    Args:
        moments: of the islands.
        log_evidence: of more data, by each (G,).
        quantity: that is predicted.
    """
    weight = log_evidence.softmax(0).to(moments.mean)  # (G,)
    change = torch.einsum("g,gsc->sc", weight, moments.mean) - moments.mean.mean(0)
    if quantity == "probabilities":
        each = 0.5 * change.abs().sum(-1)
    else:
        size = change.square().sum(-1).sqrt()
        each = torch.where(size > 0, size / moments.variance.sqrt(), 0.0)
    return float(each.median()), float(each.sort().values[math.ceil(UPPER * (len(each) - 1))])


def standard_error(estimates: Tensor) -> Tensor:
    """Of the mean of G independent estimates (G, ...), with Student's correction: (...)."""
    g = len(estimates)
    if g < 2:
        return torch.full_like(estimates[0], torch.inf)
    return student_factor(g) * estimates.std(0) / math.sqrt(g)


def expected_tv(error: Numbers) -> Numbers:
    """Expected total variation of probabilities with standard errors (..., C): (...)."""
    found: Numbers = 0.5 * _MEAN_OF_NORMAL * error.sum(-1)
    return found


def student_factor(n: int) -> float:
    """How much wider one standard error of n estimates is where it is estimated from them."""
    return float(stdtrit(n - 1, ndtr(1.0)))


def drift(early: Tensor, late: Tensor, spread: Tensor, quantile: float) -> float:
    """The largest significant shift from early to late averages of islands (G, S, C), per spread.

    Args:
        early: averages of the islands over the first half of the draws.
        late: over the second half.
        spread: predictive standard deviations (S,).
        quantile: standard errors from which a shift is significant.
    """
    change = late - early
    shift, error = change.mean(0), change.std(0) / math.sqrt(len(change))  # (S, C)
    significant = shift.abs() > quantile * error
    size = torch.where(significant, shift, 0.0).square().sum(-1).sqrt()
    return float(torch.where(size > 0, size / spread, 0.0).max())
