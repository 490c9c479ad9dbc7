"""Log-densities of counts and their gradients, without large terms that cancel.

They are written around a = max(y, 1), with d = log(mu / a). Of `stirling` come s and k(a) =
log a! - a log a + a, the latter computed in float64.
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from pmcnet.bnn.likelihoods.stirling import log_factorial_remainder, remainder, remainder_gradient
from pmcnet.errors import InputError

_FARTHEST = 45.0  # of log a from log mu under an output of 0: e^d stays in single precision


class CountRows(NamedTuple):
    """Counts y (N,), a (N,), d (P, N), and z = e^d - 1 (P, N)."""

    y: Tensor
    a: Tensor
    d: Tensor
    z: Tensor

    @classmethod
    def of(cls, moved: Tensor, centre: float | Tensor, y: Tensor) -> "CountRows":
        """With log mu = centre + moved + log exposure. Constants are computed in float64."""
        count, log_exposure = columns(y)
        a = count.clamp(min=1)
        typical = (centre + log_exposure - a.double().log()).clamp(-_FARTHEST, _FARTHEST)
        d = moved + typical.to(a)
        return cls(count, a, d, d.expm1())


def columns(y: Tensor) -> tuple[Tensor, Tensor]:
    """Counts (N,) and the logarithms of exposures (N,) or (), float64."""
    if y.ndim == 1:
        return y, y.new_zeros((), dtype=torch.float64)
    if y.ndim > 2 or y.shape[-1] != 2:
        raise InputError(
            "y must be one count per row, (n_rows,), or counts and exposures, (n_rows, 2); got "
            f"{tuple(y.shape)}."
        )
    return y[:, 0], y[:, 1].double().log()


class OverdispersedRows(NamedTuple):
    """What depends on log r (P, 1) as well, for w = (r + mu) / (r + a); each is (P, N).

    Shares of r + a are `share` = a / (r + a) and `rest`. With the smaller one, log1p loses nothing:

        w = 1 + share (e^d - 1),  or  w = e^d (1 + rest (e^-d - 1))  where r < a
    """

    log_r: Tensor
    share: Tensor
    rest: Tensor
    log_w: Tensor
    shrunk: Tensor  # 1 / w
    by_w: Tensor  # (mu - a) / (r + mu)
    value: Tensor  # y d - (r + y) log w

    @classmethod
    def of(cls, rows: CountRows, log_r: Tensor) -> "OverdispersedRows":
        """For these rows and the networks' log r."""
        y, a, d, _ = rows
        r, log_ratio = log_r.exp(), log_r - a.log()
        share, rest, less = (-log_ratio).sigmoid(), log_ratio.sigmoid(), log_ratio < 0
        z = torch.where(less, -d, d).expm1()
        u, moved = torch.where(less, rest, share) * z, torch.where(less, d, 0.0)
        log_w, shrunk = moved + u.log1p(), (-moved).exp() / (1 + u)
        by_w = share * torch.where(less, -z, z) / (1 + u)
        value = torch.where(less, -r, y) * d - (r + y) * u.log1p()
        return cls(log_r, share, rest, log_w, shrunk, by_w, value)


def log_poisson(rows: CountRows) -> Tensor:
    """log p = y d - a z - k(a): (P, N)."""
    return rows.y * rows.d - rows.a * rows.z - _log_factorial_remainder(rows.a)


def residual(rows: CountRows) -> Tensor:
    """y - mu (P, N), the gradient of `log_poisson` by log mu."""
    return (rows.y - rows.a) - rows.a * rows.z


def log_negative_binomial(rows: CountRows, over: OverdispersedRows) -> Tensor:
    """log p = y d - (r + y) log w + log(r / (r + a)) / 2 + s(r + a) - s(r) - k(a): (P, N).

    Where y = 0, and hence a = 1, there is log(1 + 1 / r) to add.
    """
    y, a, _, _ = rows
    r = over.log_r.exp()
    own = remainder(over.log_r.double().exp()).to(r)  # (P, 1), large where r is small
    half_log_rest = 0.5 * logsigmoid(over.log_r - a.log())
    constant = half_log_rest + remainder(r + a) - own - _log_factorial_remainder(a)
    return over.value + constant + (a - y) * (1 / r).log1p()


def negative_binomial_gradients(rows: CountRows, over: OverdispersedRows) -> tuple[Tensor, Tensor]:
    """(y - mu) r / (r + mu) by log mu, and the gradient by log r: (P, N) each."""
    r, exact = over.log_r.exp(), over.log_r.double().exp()
    own = (exact * remainder_gradient(exact)).to(r)
    none = (rows.a - rows.y) * over.share  # where y = 0
    by_w = over.by_w * (1 - none) - over.log_w
    by_remainder = 0.5 * over.share - none + r * remainder_gradient(r + rows.a) - own
    return residual(rows) * (over.rest * over.shrunk), r * by_w + by_remainder


def _log_factorial_remainder(a: Tensor) -> Tensor:
    return log_factorial_remainder(a.double()).to(a)
