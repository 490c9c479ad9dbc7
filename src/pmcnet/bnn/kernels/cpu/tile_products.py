"""Matrix products on tiles: some units of a layer on a few hundred rows of the data.

A tile of n rows is stored unit by unit, so that vectors run along the rows; n is a multiple of
`ROWS`.
"""

from pmcnet.bnn.kernels.cpu.elementary import inlined
from pmcnet.bnn.kernels.cpu.lanewise import totals
from pmcnet.bnn.kernels.cpu.simd import (
    add_to,
    lane_0,
    lane_1,
    lane_2,
    lanes,
    lanes_narrow,
    load,
    load_narrow,
    spread,
    store,
    total,
    zero,
    zero_narrow,
)

BLOCK = 4
"""Units that are made together, so that each number read serves as many products."""
ROWS = 32
"""Rows of a tile come in multiples of this, on every machine."""


@inlined
def weighted_sums(out, to, count, weights, at, by_out, by_in, bias, tile, n_in, n):
    """out[to + o] = bias_o + sum_i w_oi tile[i] for `count` units o, at most `BLOCK`.

    Args:
        out: the tile that is written, from its unit `to` on.
        to: see `out`.
        count: how many units.
        weights: where w_oi is at `at + o * by_out + i * by_in`.
        at: see `weights`.
        by_out: see `weights`.
        by_in: see `weights`.
        bias: where the first bias is among the weights; negative for none.
        tile: what is multiplied.
        n_in: its units.
        n: rows of both tiles.
    """
    to *= n
    if count == BLOCK:
        for t in range(0, n, lanes(out)):
            s0, s1, s2, s3 = zero(out), zero(out), zero(out), zero(out)
            if bias >= 0:
                s0, s1 = spread(weights, bias), spread(weights, bias + 1)
                s2, s3 = spread(weights, bias + 2), spread(weights, bias + 3)
            k = at
            for i in range(n_in):
                x = load(tile, i * n + t)
                s0 = s0 + x * spread(weights, k)
                s1 = s1 + x * spread(weights, k + by_out)
                s2 = s2 + x * spread(weights, k + 2 * by_out)
                s3 = s3 + x * spread(weights, k + 3 * by_out)
                k += by_in
            store(out, to + t, s0)
            store(out, to + n + t, s1)
            store(out, to + 2 * n + t, s2)
            store(out, to + 3 * n + t, s3)
        return
    for o in range(count):
        for t in range(0, n, lanes(out)):
            s0, s1 = zero(out), zero(out)
            if bias >= 0:
                s0 = spread(weights, bias + o)
            k, i = at + o * by_out, 0
            while i + 1 < n_in:  # two sums, since each must wait for its own last product
                s0 = s0 + load(tile, i * n + t) * spread(weights, k)
                s1 = s1 + load(tile, (i + 1) * n + t) * spread(weights, k + by_in)
                k += 2 * by_in
                i += 2
            if i < n_in:
                s0 = s0 + load(tile, i * n + t) * spread(weights, k)
            store(out, to + o * n + t, s0 + s1)


@inlined
def add_row_sums(sums, at, tile, first, count, n):
    """sums[at + o] += sum_t tile[first + o, t] for `count` units, at most `BLOCK`."""
    start = first * n
    if count == BLOCK:
        s0, s1, s2, s3 = zero(tile), zero(tile), zero(tile), zero(tile)
        for t in range(start, start + n, lanes(tile)):
            s0 = s0 + load(tile, t)
            s1 = s1 + load(tile, t + n)
            s2 = s2 + load(tile, t + 2 * n)
            s3 = s3 + load(tile, t + 3 * n)
        _add(sums, at, BLOCK, s0, s1, s2, s3)
        return
    for o in range(count):
        s = zero(tile)
        for t in range(start + o * n, start + (o + 1) * n, lanes(tile)):
            s = s + load(tile, t)
        add_to(sums, at + o, total(s))


@inlined
def add_outer_products(sums, at, left, first, count, right, n_in, n):
    """sums[at + o n_in + i] += sum_t left[first + o, t] right[i, t] for `count` units."""
    g0 = first * n
    g1, g2, g3 = g0 + n, g0 + 2 * n, g0 + 3 * n
    step = lanes_narrow(right)
    for i in range(0, n_in, 4):
        m = min(4, n_in - i)  # units beyond the last are the last once more, and dropped
        i0, last = i * n, (n_in - 1) * n
        i1, i2, i3 = min(i0 + n, last), min(i0 + 2 * n, last), min(i0 + 3 * n, last)
        if count == BLOCK:
            a0, a1, a2, a3 = _zeros(right)
            b0, b1, b2, b3 = _zeros(right)
            c0, c1, c2, c3 = _zeros(right)
            d0, d1, d2, d3 = _zeros(right)
            for t in range(0, n, step):
                x0, x1 = load_narrow(right, i0 + t), load_narrow(right, i1 + t)
                x2, x3 = load_narrow(right, i2 + t), load_narrow(right, i3 + t)
                g = load_narrow(left, g0 + t)
                a0, a1, a2, a3 = a0 + g * x0, a1 + g * x1, a2 + g * x2, a3 + g * x3
                g = load_narrow(left, g1 + t)
                b0, b1, b2, b3 = b0 + g * x0, b1 + g * x1, b2 + g * x2, b3 + g * x3
                g = load_narrow(left, g2 + t)
                c0, c1, c2, c3 = c0 + g * x0, c1 + g * x1, c2 + g * x2, c3 + g * x3
                g = load_narrow(left, g3 + t)
                d0, d1, d2, d3 = d0 + g * x0, d1 + g * x1, d2 + g * x2, d3 + g * x3
            _add(sums, at + i, m, a0, a1, a2, a3)
            _add(sums, at + n_in + i, m, b0, b1, b2, b3)
            _add(sums, at + 2 * n_in + i, m, c0, c1, c2, c3)
            _add(sums, at + 3 * n_in + i, m, d0, d1, d2, d3)
        else:
            for o in range(count):
                a0, a1, a2, a3 = _zeros(right)
                for t in range(0, n, step):
                    g = load_narrow(left, g0 + o * n + t)
                    a0 = a0 + g * load_narrow(right, i0 + t)
                    a1 = a1 + g * load_narrow(right, i1 + t)
                    a2 = a2 + g * load_narrow(right, i2 + t)
                    a3 = a3 + g * load_narrow(right, i3 + t)
                _add(sums, at + o * n_in + i, m, a0, a1, a2, a3)


@inlined
def _zeros(tile):
    return zero_narrow(tile), zero_narrow(tile), zero_narrow(tile), zero_narrow(tile)


@inlined
def _add(sums, at, count, s0, s1, s2, s3):
    found = totals(s0, s1, s2, s3)
    if count == 4:
        add_to(sums, at, found)
        return
    add_to(sums, at, lane_0(found))
    if count > 1:
        add_to(sums, at + 1, lane_1(found))
    if count > 2:
        add_to(sums, at + 2, lane_2(found))
