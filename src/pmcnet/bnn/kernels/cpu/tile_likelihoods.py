"""Likelihoods of a tile: the sum of log p over its rows, and the outputs turned into gradients.

A new likelihood is a function here, a branch of `log_likelihood` and a line of `FORMS`. Rows of
weight 0, such as those that fill up the last tile, count for nothing whatever their outputs.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pmcnet.bnn.kernels.cpu.elementary import absolute, exp, inlined, log, log1p
from pmcnet.bnn.kernels.cpu.lanewise import where_above, where_below, where_equal
from pmcnet.bnn.kernels.cpu.simd import add_to, lanes, like, load, store, total, zero
from pmcnet.bnn.likelihoods.categorical import Bernoulli, Categorical
from pmcnet.bnn.likelihoods.gaussian import Gaussian, LearnedGaussian, RowGaussian
from pmcnet.bnn.likelihoods.generalised_gaussian import GeneralisedGaussian

GAUSSIAN, LEARNED_GAUSSIAN, GENERALISED_GAUSSIAN, BERNOULLI, CATEGORICAL, ROW_GAUSSIAN = range(6)

Form = tuple[int, float, float]
"""Which likelihood it is, and two constants of it."""

FORMS: dict[type, Callable[[Any], Form]] = {
    Gaussian: lambda given: (GAUSSIAN, given.sigma, 0.0),
    LearnedGaussian: lambda given: (LEARNED_GAUSSIAN, 0.0, 0.0),
    GeneralisedGaussian: lambda given: (GENERALISED_GAUSSIAN, given.alpha, given.rho),
    RowGaussian: lambda given: (ROW_GAUSSIAN, given.sensitivity, given.floor),
    Bernoulli: lambda given: (BERNOULLI, 0.0, 0.0),
    Categorical: lambda given: (CATEGORICAL, float(given.n_classes), 0.0),
}
"""The likelihoods by their exact type: a subclass may have changed anything."""

_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


@inlined
def log_likelihood(form, out, n, y, weight, row, theta, own, score):
    """sum_t w_t log p(y_t | out_t) of a tile; `out` becomes its gradient.

    Args:
        form: the likelihood.
        out: outputs (C, n), overwritten.
        n: rows of the tile.
        y: the responses of all rows.
        weight: their weights.
        row: the first row of the tile.
        theta: all networks.
        own: where this one's parameters of the likelihood are.
        score: where gradients by these parameters are added, from the end.
    """
    code, a, b = form
    if code == GAUSSIAN:
        return _gaussian(a, out, n, y, weight, row)
    if code == LEARNED_GAUSSIAN:
        return _learned_gaussian(out, n, y, weight, row, theta, own, score)
    if code == GENERALISED_GAUSSIAN:
        return _generalised_gaussian(a, b, out, n, y, weight, row)
    if code == ROW_GAUSSIAN:
        return _row_gaussian(a, b, out, n, y, weight, row, theta, own, score)
    if code == BERNOULLI:
        return _bernoulli(out, n, y, weight, row)
    return _categorical(int(a), out, n, y, weight, row)


@inlined
def _gaussian(sigma, out, n, y, weight, row):
    squares, weights, by_output = zero(out), zero(out), 1.0 / (sigma * sigma)
    for t in range(0, n, lanes(out)):
        w, r = load(weight, row + t), load(y, row + t) - load(out, t)
        squares = squares + where_above(w, 0.0, w * r * r, zero(out))
        weights = weights + w
        store(out, t, where_above(w, 0.0, w * r * by_output, zero(out)))
    constant = math.log(sigma) + _HALF_LOG_2PI
    return -0.5 * np.float64(total(squares)) * by_output - np.float64(total(weights)) * constant


@inlined
def _learned_gaussian(out, n, y, weight, row, theta, own, score):
    log_sigma = theta[own]
    inverse = np.exp(-log_sigma)
    squares, weights = zero(out), zero(out)
    for t in range(0, n, lanes(out)):
        w, z = load(weight, row + t), (load(y, row + t) - load(out, t)) * inverse
        squares = squares + where_above(w, 0.0, w * z * z, zero(out))
        weights = weights + w
        store(out, t, where_above(w, 0.0, w * z * inverse, zero(out)))
    square, count = total(squares), total(weights)
    add_to(score, len(score) - 1, square - count)
    return -0.5 * np.float64(square) - np.float64(count) * (log_sigma + _HALF_LOG_2PI)


@inlined
def _row_gaussian(sensitivity, floor, out, n, y, weight, row, theta, own, score):
    typical = theta[own]
    logs, by_typical, weights = zero(out), zero(out), zero(out)
    for t in range(0, n, lanes(out)):
        w, log_above = load(weight, row + t), load(out, n + t) * sensitivity + typical
        above, log_sigma = exp(log_above), log_above
        sigma = above + floor
        if floor > 0.0:
            log_sigma = log(sigma)
        inverse = 1.0 / sigma
        z = (load(y, row + t) - load(out, t)) * inverse
        excess = (z * z - 1.0) * above * inverse
        logs = logs + where_above(w, 0.0, w * (z * z * -0.5 - log_sigma), zero(out))
        weights = weights + w
        by_log_above = where_above(w, 0.0, w * excess, zero(out))
        by_typical = by_typical + by_log_above
        store(out, t, where_above(w, 0.0, w * z * inverse, zero(out)))
        store(out, n + t, by_log_above * sensitivity)
    add_to(score, len(score) - 1, total(by_typical))
    return np.float64(total(logs)) - np.float64(total(weights)) * _HALF_LOG_2PI


@inlined
def _generalised_gaussian(alpha, rho, out, n, y, weight, row):
    powers, weights = zero(out), zero(out)
    for t in range(0, n, lanes(out)):
        w, r = load(weight, row + t), load(y, row + t) - load(out, t)
        size = absolute(r) / alpha
        # a residual too small for its logarithm to exist counts as none
        power = where_above(size, 1e-37, exp(log(size) * rho), size * 0.0)
        powers = powers + where_above(w, 0.0, w * power, zero(out))
        weights = weights + w
        gradient = where_above(size, 1e-37, power * rho / r, r * 0.0)
        store(out, t, where_above(w, 0.0, w * gradient, zero(out)))
    constant = math.log(rho) - math.log(2 * alpha) - math.lgamma(1 / rho)
    return np.float64(total(weights)) * constant - np.float64(total(powers))


@inlined
def _bernoulli(out, n, y, weight, row):
    logs = zero(out)
    for t in range(0, n, lanes(out)):
        w, z, positive = load(weight, row + t), load(out, t), load(y, row + t)
        signed = z * (positive * 2.0 - 1.0)
        e = exp(0.0 - absolute(z))
        logs = logs + where_above(
            w, 0.0, w * (where_below(signed, 0.0, signed, 0.0) - log1p(e)), 0.0
        )
        likely = 1.0 / (1.0 + e)  # the probability of the sign that z has
        probability = where_below(z, 0.0, e * likely, likely)
        store(out, t, where_above(w, 0.0, w * (positive - probability), 0.0))
    return np.float64(total(logs))


@inlined
def _categorical(n_classes, out, n, y, weight, row):
    logs = zero(out)
    for t in range(0, n, lanes(out)):
        w, known, most = load(weight, row + t), load(y, row + t), load(out, t)
        for c in range(1, n_classes):
            z = load(out, c * n + t)
            most = where_above(z, most, z, most)
        sum_, own = zero(out), zero(out)
        for c in range(n_classes):
            z = load(out, c * n + t)
            e = where_equal(z, most, 1.0, exp(z - most))  # also where both are infinite
            own = where_equal(known, float(c), z, own)
            store(out, c * n + t, e)
            sum_ = sum_ + e
        logs = logs + where_above(w, 0.0, w * (own - most - log(sum_)), 0.0)
        for c in range(n_classes):
            observed = where_equal(known, float(c), like(w, 1.0), 0.0)
            gradient = w * (observed - load(out, c * n + t) / sum_)
            store(out, c * n + t, where_above(w, 0.0, gradient, 0.0))
    return np.float64(total(logs))
