"""Columns of many levels tell nothing of a target that does not depend on them."""

import numpy as np
from sklearn.linear_model import LinearRegression

from pmcnet.estimators.columns import ColumnsAsked
from pmcnet.estimators.training_rows import encoded_training

N_TRAIN, N_TEST, N_LEVELS, N_SEEDS = 300, 1000, 100, 20


def explained(inputs, y, new, truth):
    """R squared of least squares on training rows and on new ones."""
    fit = LinearRegression().fit(inputs, y)
    return fit.score(inputs, y), fit.score(new, truth)


def scores(effect, *, own):
    """R squared on training rows and new ones, of each seed.

    Args:
        effect: standard deviation of what levels add to noise of 1.
        own: whether training rows see their own target, as they must not.
    """
    found = []
    for seed in range(N_SEEDS):
        source = np.random.default_rng(seed)
        level = np.concatenate(
            [np.arange(N_TRAIN) % N_LEVELS, source.integers(0, N_LEVELS, N_TEST)]
        )
        y = effect * source.normal(size=N_LEVELS)[level] + source.normal(size=len(level))
        x = np.array([f"level {i}" for i in level], dtype=object)[:, None]
        asked = ColumnsAsked({"column 0": "many-levels"})
        weight = np.ones(N_TRAIN)
        train, new = x[:N_TRAIN], x[N_TRAIN:]
        encoder, rows, inputs = encoded_training(
            train, y[:N_TRAIN], weight, seed, "columns", asked, None
        )
        inputs = encoder.encode(rows.x) if own else inputs
        new_inputs = encoder.encode(encoder.rows(new))
        found.append(explained(inputs, rows.y, new_inputs, y[N_TRAIN:]))
    return np.array(found).T


def test_shuffled_target_is_predicted_at_chance():
    training, new = scores(0.0, own=False)
    error = new.std(ddof=1) / np.sqrt(N_SEEDS)
    assert new.mean() <= 3 * error
    assert new.mean() > -0.02  # 1 / N_TRAIN for the slope, and what weighs on the shrunk averages
    assert training.mean() < 0.02


def test_own_target_in_the_average_would_be_seen_by_this():
    training, new = scores(0.0, own=True)
    assert training.mean() > 0.1
    assert new.mean() < -0.02


def test_levels_that_matter_are_used():
    training, new = scores(1.0, own=False)
    assert training.mean() > 0.2
    assert new.mean() > 0.2
