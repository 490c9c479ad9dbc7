"""A cheap fit, rows whose noise varies, and the rows that a fit holds out."""

import numpy as np
from sklearn.utils import check_random_state

from pmcnet.estimators.conformal.calibration_rows import GivenRows, SplitRows, split

CHEAP = {
    "hidden_layer_sizes": (2,),
    "method": "adam-map",
    "method_options": {"n_epochs": 3},
    "prior_std": 1.0,
    "device": "cpu",
}


def uneven(n, seed=0):
    """Two features and a response whose noise grows with the second."""
    source = np.random.default_rng(seed)
    x = source.normal(size=(n, 2))
    return x, x[:, 0] + source.normal(size=n) * (1 + np.abs(x[:, 1]))


def split_of(x, y, random_state=0, weight=None) -> SplitRows:
    """How a fit to these numbers splits them."""
    seed = int(check_random_state(random_state).randint(2**31 - 1))
    given = GivenRows(x, y, np.ones(len(y)) if weight is None else weight)
    return split(given, x, seed)


def inside(interval, y):
    """Which rows an interval holds."""
    return (interval[:, 0] <= y) & (y <= interval[:, 1])
