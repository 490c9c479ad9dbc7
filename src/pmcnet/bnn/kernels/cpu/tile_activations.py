"""Activations of a tile in place, and the way back through them."""

from pmcnet.bnn.kernels.cpu.elementary import inlined, logistic, tanh_pair
from pmcnet.bnn.kernels.cpu.lanewise import where_above, where_below
from pmcnet.bnn.kernels.cpu.simd import lanes, load, store

TANH, RELU, SIGMOID, SILU = range(4)
CODES = {"tanh": TANH, "relu": RELU, "sigmoid": SIGMOID, "silu": SILU}
"""Activations by the names that networks give them."""


@inlined
def activate(tile, derivative, code, first, count, n):
    """Apply an activation to `count` units of a tile of n rows; silu also keeps its derivative.

    Vectors of two units at the same rows make a pair, so that no row depends on another.
    """
    step, start = lanes(tile), first * n
    if code == TANH:
        for unit in range(0, count, 2):
            other = n if unit + 1 < count else 0  # the last may be a pair with itself
            for t in range(start + unit * n, start + (unit + 1) * n, step):
                x, y = tanh_pair(load(tile, t), load(tile, t + other))
                store(tile, t + other, y)
                store(tile, t, x)
    elif code == RELU:
        for t in range(start, start + count * n, step):
            x = load(tile, t)
            store(tile, t, where_below(x, 0.0, 0.0, x))
    elif code == SIGMOID:
        for t in range(start, start + count * n, step):
            store(tile, t, logistic(load(tile, t)))
    else:
        for t in range(start, start + count * n, step):
            x = load(tile, t)
            s = logistic(x)
            store(tile, t, x * s)
            store(derivative, t, s + x * s * (1.0 - s))


@inlined
def differentiate(gradient, at, tile, derivative, code, start, n):
    """Multiply n gradients from `at` by the derivatives at n numbers from `start`."""
    step = lanes(tile)
    if code == TANH:
        for t in range(0, n, step):
            a = load(tile, start + t)
            store(gradient, at + t, load(gradient, at + t) * (1.0 - a * a))
    elif code == RELU:
        for t in range(0, n, step):
            a, g = load(tile, start + t), load(gradient, at + t)
            store(gradient, at + t, where_above(a, 0.0, g, 0.0))
    elif code == SIGMOID:
        for t in range(0, n, step):
            a = load(tile, start + t)
            store(gradient, at + t, load(gradient, at + t) * (a * (1.0 - a)))
    else:
        for t in range(0, n, step):
            store(gradient, at + t, load(gradient, at + t) * load(derivative, start + t))
