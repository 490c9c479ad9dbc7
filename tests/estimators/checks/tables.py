"""Rows of a line with noise of standard deviation 0.6, and quick settings."""

import numpy as np

from estimators import tables

QUICK = tables.QUICK | {
    "hidden_layer_sizes": (2,),
    "method_options": {"n_islands": 4, "n_particles": 32},
}


def rows(n, seed=0):
    source = np.random.default_rng(seed)
    x = source.normal(size=(n, 2))
    return x, x[:, 0] + 0.6 * source.normal(size=n)
