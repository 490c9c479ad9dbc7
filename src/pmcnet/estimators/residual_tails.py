"""Whether errors have heavy tails, judged by residuals of two quick fits before any network."""

import numpy as np
from sklearn.ensemble import RandomForestRegressor  # type: ignore[import-untyped]
from sklearn.linear_model import RidgeCV  # type: ignore[import-untyped]
from sklearn.model_selection import cross_val_predict  # type: ignore[import-untyped]

from pmcnet.estimators.predictions import Array

HEAVY = 1.5
"""Excess kurtosis of residuals from which errors may have heavy tails; that of a normal is 0."""
_N_TREES = 60
_LEAF = 3  # rows of a leaf at least
_N_FOLDS = 5
_FEWEST = 20  # rows: fewer say nothing of tails


def are_heavy(x: Array, y: Array, seed: int) -> bool:
    """Whether the excess kurtosis of residuals is large.

    Residuals are of rows that a fit has not seen: those of a random forest, or of a ridge
    regression where it predicts better. Noise that differs between rows looks heavy too.

    Args:
        x: inputs (N, d).
        y: the response (N,).
        seed: of the forest.
    """
    y = (y - y.mean()) / (np.abs(y).max() or 1.0)  # in units that no power of it leaves
    if len(y) < _FEWEST or y.min() == y.max() or not np.isfinite(y).all():
        return False
    forest = RandomForestRegressor(
        _N_TREES, min_samples_leaf=_LEAF, oob_score=True, random_state=seed
    ).fit(x, y)
    predictions = (forest.oob_prediction_, cross_val_predict(RidgeCV(), x, y, cv=_N_FOLDS))
    residual = min((y - each for each in predictions), key=lambda each: float(each.var()))
    return excess_kurtosis(residual) > HEAVY


def excess_kurtosis(residual: Array) -> float:
    """The fourth moment over the squared variance, minus 3."""
    square = np.square(residual - residual.mean())
    squared = float(square.mean()) ** 2
    return float(np.square(square).mean()) / squared - 3 if squared > 0 else 0.0
