"""Small tables and quick settings that the tests of estimators share."""

import numpy as np

QUICK = {
    "hidden_layer_sizes": (3,),
    "method": "annealed",
    "method_options": {"n_islands": 4, "n_particles": 16},
    "prior_std": 1.0,
    "random_state": 0,
    "device": "cpu",
}


def numbers(n=60, d=3, seed=0):
    """Features and a response that depends on the first."""
    source = np.random.default_rng(seed)
    x = source.normal(size=(n, d))
    return x, 3 * x[:, 0] + 0.3 * source.normal(size=n)


def classes(n=60, n_classes=2, seed=0):
    """Features and labels by the first feature's rank."""
    x, _ = numbers(n, seed=seed)
    edges = np.quantile(x[:, 0], np.linspace(0, 1, n_classes + 1)[1:-1])
    return x, np.array(["a", "b", "c", "d"])[np.searchsorted(edges, x[:, 0])]
