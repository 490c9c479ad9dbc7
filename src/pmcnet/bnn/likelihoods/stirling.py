"""What Stirling's formula leaves out of the gamma function.

    log Gamma(x) = (x - 1/2) log x - x + log(2 pi) / 2 + s(x),  s(x) = 1 / (12 x) - ...

Differences of log Gamma at large numbers cancel; those of s do not.
"""

import math

import torch
from torch import Tensor

_FROM = 8.0
"""From here on the series are right to 1e-12."""


def remainder(x: Tensor) -> Tensor:
    """s(x), for x > 0."""
    small, inverse = x.clamp(max=_FROM), 1 / x.clamp(min=_FROM)
    exact = small.lgamma() - (small - 0.5) * small.log() + small - 0.5 * math.log(2 * math.pi)
    square = inverse.square()
    series = 1 / 1188 * square - 1 / 1680
    for coefficient in (1 / 1260, -1 / 360, 1 / 12):
        series = series * square + coefficient
    return torch.where(x < _FROM, exact, series * inverse)


def remainder_gradient(x: Tensor) -> Tensor:
    """s'(x), for x > 0."""
    small, inverse = x.clamp(max=_FROM), 1 / x.clamp(min=_FROM)
    exact = small.digamma() - small.log() + 0.5 / small
    square = inverse.square()
    series = -1 / 132 * square + 1 / 240
    for coefficient in (-1 / 252, 1 / 120, -1 / 12):
        series = series * square + coefficient
    return torch.where(x < _FROM, exact, series * square)


def log_factorial_remainder(x: Tensor) -> Tensor:
    """Log x! - x log x + x = log(2 pi x) / 2 + s(x), for x > 0."""
    return 0.5 * (2 * math.pi * x).log() + remainder(x)
