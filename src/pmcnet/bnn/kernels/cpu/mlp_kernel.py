"""Populations of multi-layer perceptrons on tiles of rows: outputs, log-likelihoods, gradients.

One network after the other goes through the rows tile by tile, forwards and backwards, so that what
is between stays in the first caches. Sums over a block of tiles are made in the precision of the
parameters, sums over blocks in float64, always in the same order: neither the number of networks
nor that of threads changes a bit.
"""

from typing import Any

import numpy as np
from numba import types

from pmcnet.bnn.kernels.cpu.elementary import inlined
from pmcnet.bnn.kernels.cpu.tile_activations import SILU, activate, differentiate
from pmcnet.bnn.kernels.cpu.tile_likelihoods import log_likelihood
from pmcnet.bnn.kernels.cpu.tile_products import (
    BLOCK,
    ROWS,
    add_outer_products,
    add_row_sums,
    weighted_sums,
)

OUTPUTS, VALUES, GRADIENTS, PULLBACK = range(4)
"""What a pass is for."""


@inlined
def _forward(theta, at, sizes, activation, x, hidden, derivative, out, n):
    """A tile of inputs through all layers; `hidden` keeps what is between."""
    tile, here = x, 0
    for layer in range(len(sizes) - 1):
        n_in, n_out = sizes[layer], sizes[layer + 1]
        bias, last = at + n_out * n_in, layer == len(sizes) - 2
        into = out if last else hidden[here * n :]
        for o in range(0, n_out, BLOCK):
            count = min(BLOCK, n_out - o)
            weighted_sums(into, o, count, theta, at + o * n_in, n_in, 1, bias + o, tile, n_in, n)
            if not last:
                activate(hidden, derivative, activation, here + o, count, n)
        tile, here, at = into, here + n_out, bias + n_out


@inlined
def _backward(theta, at, sizes, activation, x, hidden, derivative, upper, lower, score, n):
    """Add a tile's gradients by all parameters to the score.

    `upper` holds the gradients by the outputs, and is overwritten like `lower`.
    """
    layer = len(sizes) - 2
    n_in, n_out = sizes[layer], sizes[layer + 1]
    start = 0  # parameters of the layers below
    here = 0  # hidden units of the layers below, but for the one that feeds this
    for below in range(layer):
        start += sizes[below + 1] * (sizes[below] + 1)
        here += sizes[below] if below > 0 else 0
    tile = hidden[here * n :] if layer > 0 else x
    for o in range(0, n_out, BLOCK):
        count = min(BLOCK, n_out - o)
        add_outer_products(score, start + o * n_in, upper, o, count, tile, n_in, n)
        add_row_sums(score, start + n_out * n_in + o, upper, o, count, n)
    while layer > 0:
        n_units, n_in = n_in, sizes[layer - 1]
        weights, units = at + start, here
        start -= n_units * (n_in + 1)
        here -= n_in
        tile = hidden[here * n :] if layer > 1 else x
        for o in range(0, n_units, BLOCK):
            count = min(BLOCK, n_units - o)
            to = o if layer > 1 else 0  # nothing below the first layer needs its gradients
            weighted_sums(lower, to, count, theta, weights + o, 1, n_units, -1, upper, n_out, n)
            value = (units + o) * n
            differentiate(lower, to * n, hidden, derivative, activation, value, count * n)
            add_outer_products(score, start + o * n_in, lower, to, count, tile, n_in, n)
            add_row_sums(score, start + n_units * n_in + o, lower, to, count, n)
        upper, lower, n_out, layer = lower, upper, n_units, layer - 1


def evaluate(
    goal,
    theta,
    dim,
    sizes,
    activation,
    form,
    x,
    y,
    weight,
    n_rows,
    stride,
    block,
    networks,
    blocks,
    given,
    value,
    result,
):
    """Evaluate some networks on some blocks of rows.

    Args:
        goal: OUTPUTS writes outputs (P, C, N) to `result`; VALUES writes log-likelihoods (P,) to
            `value`; GRADIENTS also their gradients (P, D) to `result`; PULLBACK writes there the
            gradients by the weights that follow from `given` ones by the outputs.
        theta: all networks, flat (P * D,).
        dim: D, with the likelihood's own parameters.
        sizes: of the layers.
        activation: its code.
        form: the likelihood's, see `tile_likelihoods`.
        x: tiles of inputs (d, rows) one after the other, the last with fewer rows; rows are padded
            with zeros to a multiple of `ROWS`.
        y: responses (n_tiles * stride,), padded.
        weight: of the rows (n_tiles * stride,), padded with zeros.
        n_rows: N.
        stride: rows per tile.
        block: tiles per block.
        networks: the first and the one after the last.
        blocks: the first and the one after the last.
        given: gradients by the outputs (P, C, N) for PULLBACK, else empty.
        value: see `goal`.
        result: see `goal`.
    """
    n_layers = len(sizes) - 1
    n_features, n_outputs = sizes[0], sizes[n_layers]
    n_hidden, widest, n_parameters = 0, n_outputs, n_outputs * (sizes[n_layers - 1] + 1)
    for layer in range(1, n_layers):
        n_hidden += sizes[layer]
        widest = max(widest, sizes[layer])
        n_parameters += sizes[layer] * (sizes[layer - 1] + 1)
    hidden = np.empty(n_hidden * stride, theta.dtype)
    derivative = np.empty(n_hidden * stride if activation == SILU else 0, theta.dtype)
    upper = np.empty(max(widest, BLOCK) * stride, theta.dtype)
    lower = np.empty(max(widest, BLOCK) * stride, theta.dtype)
    score, sums = np.empty(dim, theta.dtype), np.empty(dim, np.float64)
    n_tiles = (n_rows + stride - 1) // stride
    for p in range(networks[0], networks[1]):
        at, log_prob = p * dim, 0.0
        sums[:] = 0.0
        for b in range(blocks[0], blocks[1]):
            score[:] = 0.0
            block_log_prob = 0.0
            for k in range(b * block, min((b + 1) * block, n_tiles)):
                n_real = min(stride, n_rows - k * stride)
                n = (n_real + ROWS - 1) // ROWS * ROWS
                tile = x[k * n_features * stride :]
                _forward(theta, at, sizes, activation, tile, hidden, derivative, upper, n)
                if goal == OUTPUTS:
                    for c in range(n_outputs):
                        into = (p * n_outputs + c) * n_rows + k * stride
                        for t in range(n_real):
                            result[into + t] = upper[c * n + t]
                    continue
                own = at + n_parameters
                if goal == PULLBACK:
                    for c in range(n_outputs):
                        begin = (p * n_outputs + c) * n_rows + k * stride
                        for t in range(n_real):
                            upper[c * n + t] = given[begin + t]
                        for t in range(n_real, n):
                            upper[c * n + t] = 0.0
                else:
                    block_log_prob += log_likelihood(
                        form, upper, n, y, weight, k * stride, theta, own, score
                    )
                if goal in (GRADIENTS, PULLBACK):
                    _backward(
                        theta,
                        at,
                        sizes,
                        activation,
                        tile,
                        hidden,
                        derivative,
                        upper,
                        lower,
                        score,
                        n,
                    )
            log_prob += block_log_prob
            for d in range(dim):
                sums[d] += score[d]
        if goal != OUTPUTS:
            value[p] = log_prob
        if goal in (GRADIENTS, PULLBACK):
            for d in range(dim):
                result[at + d] = sums[d]


def signature(dtype: str) -> Any:
    """The types of the arguments of `evaluate` for networks in "float32" or "float64"."""
    whole, number = types.int64, getattr(types, dtype)
    array, pair = number[::1], types.UniTuple(whole, 2)
    form = types.Tuple((whole, types.float64, types.float64))
    networks = (array, whole, whole[::1], whole, form)
    rows = (array, array, array, whole, whole, whole)
    return types.void(whole, *networks, *rows, pair, pair, array, types.float64[::1], array)
