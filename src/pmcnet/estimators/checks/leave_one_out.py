"""How probable each row is to a model that has not seen it, from one fit (PSIS-LOO).

Without row i the posterior weighs draw j by w_j / p(y_i | theta_j). These ratios are smoothed by a
Pareto distribution (Vehtari, Gelman and Gabry, 2017; Vehtari et al., 2024), whose index k-hat says
of each row whether the answer can be trusted:

    elpd_i = log sum_j r_ij p(y_i | theta_j),  r_ij smoothed and normalised.
"""

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import logsumexp  # type: ignore[import-untyped]
from torch import Tensor

from pmcnet.ais.islands.draws import evenly
from pmcnet.ais.verdict import khat_limit
from pmcnet.bnn import ParticlePosterior
from pmcnet.bnn.pointwise import log_likelihoods
from pmcnet.errors import InputError
from pmcnet.estimators.checks.check_rows import CheckRows
from pmcnet.estimators.exposure import predicting
from pmcnet.estimators.predictions import Array

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]

    from pmcnet.estimators.base import PMCNetEstimator

MOST_WEIGHTED = 4000
"""Draws with weights of their own; of more, so many are taken."""


class Smoothed(NamedTuple):
    """Of each row (N,): log p(y_i | the other rows), k-hat, and log p(y_i | all rows)."""

    elpd: Array
    khat: Array
    seen: Array


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """The expected log predictive density of N rows, from some of them, left out one at a time.

    Args:
        elpd: the sum of log p(y_i | the other rows) over all rows; larger is better.
        se: its standard error: how it varies with the rows, and with those that were left out here.
        p_loo: effective number of parameters: how far that sum is below the one of rows seen.
        limit: the k-hat beyond which a row is influential.
        row: positions of the rows that were left out (n,), from 0.
        pointwise: log p(y_i | the other rows) of each (n,).
        seen: log p(y_i | all rows) of each (n,).
        khat: of each (n,).
        n_rows: N.
        n_draws: networks that were weighed anew.
    """

    elpd: float
    se: float
    p_loo: float
    limit: float
    row: NDArray[np.int64]
    pointwise: Array
    seen: Array
    khat: Array
    n_rows: int
    n_draws: int

    @property
    def influential(self) -> NDArray[np.int64]:
        """Positions of the rows whose k-hat is beyond the limit, the most surprising first."""
        order = np.argsort(self.pointwise - self.seen, kind="stable")
        return self.row[order[self.khat[order] > self.limit]]

    @property
    def frame(self) -> "DataFrame":
        """One line for each row left out: row, elpd, p_loo, khat, influential."""
        from pandas import DataFrame

        return DataFrame(
            {
                "row": self.row,
                "elpd": self.pointwise,
                "p_loo": self.seen - self.pointwise,
                "khat": self.khat,
                "influential": self.khat > self.limit,
            }
        )

    @property
    def described(self) -> str:
        """All that in two sentences."""
        n, n_bad = len(self.row), int((self.khat > self.limit).sum())
        some = f", estimated from {n} of {self.n_rows} rows drawn at random" * (n < self.n_rows)
        trust = (
            f"{n_bad} of {n} rows are influential, with a k-hat above {self.limit:.2f}: without "
            "them the posterior would be another, and their own numbers are not to be trusted."
            if n_bad
            else f"k-hat is at most {self.limit:.2f} in every row, so the number can be trusted."
        )
        return (
            f"Expected log predictive density {self.elpd:.1f} with standard error {self.se:.1f}, "
            f"{self.p_loo:.1f} effective parameters{some}. {trust}"
        )

    def __repr__(self) -> str:
        return f"LeaveOneOut({self.described})"


def leave_one_out(
    model: "PMCNetEstimator", rows: CheckRows, *, n_rows: int, n_draws: int, seed: int
) -> LeaveOneOut:
    """Leave out one training row after the other.

    A row of weight k is k equal rows, of which one is left out; one of weight below 1 is left out
    as a whole.

    Args:
        model: fitted to all these rows, and to no others.
        rows: they.
        n_rows: how many of them to leave out at most, drawn at random.
        n_draws: networks at most.
        seed: of that choice.
    """
    posterior = _of_posterior(model)
    some = rows.sampled(n_rows, seed)
    theta, weights = _draws(posterior, n_draws)
    whole, x = predicting(posterior, some.rows)
    found = log_likelihoods(whole, theta, x, some.targets).cpu().numpy()  # (J, n)
    efficiency = min(1.0, posterior.ess / len(theta)) if posterior.n_islands else 1.0
    smoothed = psis(found, weights.cpu().numpy(), np.minimum(some.weight, 1.0), efficiency)
    offset = float(model._units().log_density(np.zeros(())))
    return _summed(smoothed, some, offset, float(rows.weight.sum()), len(theta))


def psis(log_likelihood: Array, log_weight: Array, power: Array, efficiency: float) -> Smoothed:
    """Smoothed importance sampling from the posterior of all rows to that of all but one.

    Args:
        log_likelihood: log p(y_i | theta_j) (J, N).
        log_weight: of the draws (J,), unnormalised.
        power: how often each row is taken out (N,), 1 or less.
        efficiency: independent draws per draw.
    """
    if not np.isfinite(log_likelihood).all():
        row = int(np.flatnonzero(~np.isfinite(log_likelihood).all(0))[0]) + 1
        raise InputError(
            f"some networks of the posterior hold row {row} of those to leave out for impossible, "
            "so it is none of the fit. Give the rows of the fit."
        )
    ratio = (log_weight[:, None] - power * log_likelihood).T  # (N, J)
    each = [_smoothed(row, efficiency) for row in ratio]
    smoothed, khat = np.stack([own for own, _ in each]), np.array([k for _, k in each])
    smoothed -= logsumexp(smoothed, -1, keepdims=True)
    normal = log_weight - logsumexp(log_weight)
    return Smoothed(
        np.asarray(logsumexp(smoothed + log_likelihood.T, -1)),
        khat,
        np.asarray(logsumexp(normal[:, None] + log_likelihood, 0)),
    )


def _smoothed(log_ratio: Array, efficiency: float) -> tuple[Array, float]:
    """Log ratios of one row with a smoothed tail (J,), and k-hat; 0 where the tail is flat."""
    from arviz_stats.base import array_stats  # slow to import

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            found, khat = array_stats.psislw(-log_ratio, r_eff=efficiency)  # of minus the ratios
        except ValueError:  # it refuses a tail of equal values
            return log_ratio, 0.0
    if not (np.isfinite(found).all() and np.isfinite(khat)):
        return log_ratio, math.inf
    return found, float(khat)


def _summed(
    found: Smoothed, some: CheckRows, offset: float, n_counted: float, n_draws: int
) -> LeaveOneOut:
    """Sums over all rows, estimated from some of them.

    Args:
        found: of these rows, in the network's units.
        some: these rows.
        offset: what turns log-densities into those in units of y.
        n_counted: weights of all rows together.
        n_draws: behind them.
    """
    weight, n = some.weight, len(some.y)
    share = n_counted / weight.sum()
    each, seen = found.elpd + offset, found.seen + offset
    spread = float(np.var(weight * each, ddof=1)) if n > 1 else 0.0
    missing = 1 - n / some.n_given
    variance = some.n_given * spread * (1 + missing * some.n_given / n)
    return LeaveOneOut(
        elpd=float(share * (weight @ each)),
        se=math.sqrt(variance),
        p_loo=float(share * (weight @ (seen - each))),
        limit=khat_limit(n_draws),
        row=some.place,
        pointwise=each,
        seen=seen,
        khat=found.khat,
        n_rows=some.n_given,
        n_draws=n_draws,
    )


def _of_posterior(model: Any) -> ParticlePosterior:
    """The posterior, where its networks are draws of one."""
    posterior: ParticlePosterior = model.posterior_
    if not posterior.is_posterior:
        raise InputError(
            "leave-one-out weighs draws of the posterior anew, and the networks of method "
            f"{model.method_} are none that can be weighed. Fit with method='annealed' or 'hmc'."
        )
    if model.calibration_ is not None:
        raise InputError(
            "a conformal model was fitted to a part of its rows only, so the others cannot be left "
            "out. Fit with conformal=False."
        )
    return posterior


def _draws(posterior: ParticlePosterior, n: int) -> tuple[Tensor, Tensor]:
    """Networks (J, D) and their log-weights (J,)."""
    if n < 1:
        raise InputError(f"n_draws must be at least 1; got {n}.")
    if posterior.n_islands:
        theta = posterior.chains(n).flatten(0, 1)
        return theta, theta.new_zeros(len(theta), dtype=torch.float64)
    alive = torch.nonzero(posterior.log_weight > -math.inf)[:, 0]
    chosen = alive[evenly(len(alive), max(n, MOST_WEIGHTED)).to(alive.device)]
    return posterior.theta[chosen], posterior.log_weight[chosen]
