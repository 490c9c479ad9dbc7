"""Quantiles of mixtures of normal distributions, one mixture for each row, by inversion.

The search is that of `likelihoods.mixture_quantiles`, with a row in each lane of a vector: Newton's
method within a bracket, bisection where a step would leave it.
"""

import math
from typing import Any

from numba import types

from pmcnet.bnn.kernels.cpu.elementary import absolute, exp, inlined
from pmcnet.bnn.kernels.cpu.lanewise import (
    polynomial,
    root,
    where_above,
    where_below,
)
from pmcnet.bnn.kernels.cpu.simd import lanes, like, load, spread, store, total, zero

# P(Z > z) = exp(-z^2 / 2) t p(t) with t = 1 / (1 + z SHAPE) for z from 0 to 13: the polynomial of
# this degree with the least relative error, 3.2e-8.
_SHAPE = 0.35
_tail = polynomial(
    [
        0.139621827655519,
        0.13985475853196355,
        0.11988268692886354,
        0.10531723651236088,
        -0.022671596991738627,
        0.15855352207152545,
        -0.2551833176078355,
        0.14372007312500615,
        -0.02909520600621367,
    ]
)
_DENSITY = 1 / math.sqrt(2 * math.pi)


@inlined
def _inverse(inverse, j, row, n_rows, n_components):
    """1 / standard deviation of a component on the rows of a vector."""
    if len(inverse) == n_components:  # the same on every row
        return spread(inverse, j)
    return load(inverse, j * n_rows + row)


@inlined
def _distribution(q, mean, inverse, weight, row, n_rows, n_components):
    """The mixture's distribution function at q and its density there."""
    below, density = like(q, 0.0), like(q, 0.0)
    for j in range(n_components):
        scale, w = _inverse(inverse, j, row, n_rows, n_components), spread(weight, j)
        z = (q - load(mean, j * n_rows + row)) * scale
        size = absolute(z)
        e = exp(size * size * -0.5)
        t = 1.0 / (1.0 + size * _SHAPE)
        tail = e * t * _tail(t)
        below = below + w * where_below(z, 0.0, tail, 1.0 - tail)
        density = density + w * scale * e
    return below, density * _DENSITY


def quantiles(mean, inverse, weight, levels, standard, rows, n_rows, settings, result):
    """Quantiles of some rows.

    Args:
        mean: of the components on all rows (J * N,).
        inverse: 1 / standard deviation of each component (J,), or of each on all rows (J * N,).
        weight: of each component (J,), with sum 1.
        levels: probabilities (Q,).
        standard: the normal distribution's own quantiles (Q,).
        rows: the first and the one after the last; the last vector of rows may begin earlier.
        n_rows: N, at least the lanes of a vector.
        settings: steps at most, their tolerance in standard deviations of the mixture, the share of
            min(level, 1 - level) by which the level may be missed.
        result: (Q * N,).
    """
    n_components, step = len(weight), lanes(mean)
    most, tolerance, share = settings
    for start in range(rows[0], rows[1], step):
        row = min(start, n_rows - step)
        centre, square = zero(mean), zero(mean)
        for j in range(n_components):
            centre = centre + load(mean, j * n_rows + row) * spread(weight, j)
        for j in range(n_components):
            apart = load(mean, j * n_rows + row) - centre
            deviation = 1.0 / _inverse(inverse, j, row, n_rows, n_components)
            square = square + spread(weight, j) * (apart * apart + deviation * deviation)
        width = root(square)
        small = width * tolerance
        for k in range(len(levels)):
            level, z = levels[k], standard[k]
            slack = share * min(level, 1 - level)
            low, high = like(centre, math.inf), like(centre, -math.inf)
            narrowest = zero(mean)  # 1 / the smallest standard deviation
            for j in range(n_components):
                scale = _inverse(inverse, j, row, n_rows, n_components)
                narrowest = where_above(scale, narrowest, scale, narrowest)
                own = load(mean, j * n_rows + row) + z / scale
                low, high = where_below(own, low, own, low), where_above(own, high, own, high)
            low, high = low - small, high + small
            near = 0.1 / narrowest
            q = centre + width * z
            q = where_below(q, low, low, where_above(q, high, high, q))
            found, left = q, like(q, 1.0)
            for _ in range(most):
                below, density = _distribution(q, mean, inverse, weight, row, n_rows, n_components)
                excess = below - level
                low, high = where_below(excess, 0.0, q, low), where_below(excess, 0.0, high, q)
                newton = q - excess / density
                inside = where_above(newton, low, where_below(newton, high, left, 0.0), 0.0)
                following = where_above(inside, 0.0, newton, (low + high) * 0.5)
                moved = absolute(following - q)
                between = where_above(following, low, where_below(following, high, left, 0.0), 0.0)
                closer = where_above(inside, 0.0, where_below(moved, near, following, q), q)
                met = where_above(
                    moved, small, 0.0, where_above(absolute(excess), slack, 0.0, left)
                )
                # no number lies between, or the step is small and the level met
                done = where_above(between, 0.0, met, left)
                found = where_above(done, 0.0, where_above(between, 0.0, closer, high), found)
                left = where_above(done, 0.0, 0.0, left)
                q = following
                if total(left) == 0.0:
                    break
            store(result, k * n_rows + row, where_above(left, 0.0, q, found))


def signature() -> Any:
    """The types of the arguments of `quantiles`."""
    array, pair = types.float32[::1], types.UniTuple(types.int64, 2)
    settings = types.Tuple((types.int64, types.float64, types.float64))
    numbers = types.float64[::1]
    return types.void(array, array, array, numbers, numbers, pair, types.int64, settings, array)
