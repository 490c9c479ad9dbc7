"""Which methods are best, and which do not differ significantly from the best."""

import numpy as np

from pmcnet import PMCNetClassifier, PMCNetRegressor
from pmcnet.runs.significance import best_in, tied


def test_clear_winner_is_alone_and_noise_is_a_tie():
    source = np.random.default_rng(0)
    base = source.normal(size=400)
    resampled = np.stack(
        [base, base + 5 + 0.1 * source.normal(size=400), base + 0.01 * source.normal(size=400)], 1
    )
    assert tied(np.array([0.0, 5.0, 0.001]), resampled, lower=True) == [0, 2]
    assert tied(np.array([0.0, 5.0, 0.001]), resampled, lower=False) == [1]


def test_infinite_losses_never_win():
    resampled = np.tile([np.inf, 1.0], (50, 1))
    assert tied(np.array([np.inf, 1.0]), resampled, lower=True) == [1]


def test_models_are_marked_by_what_they_predict():
    source = np.random.default_rng(0)
    x = source.normal(size=(120, 2))
    quick = {"hidden_layer_sizes": (2,), "prior_std": 1.0, "random_state": 0, "device": "cpu"}
    options = {"method": "annealed", "method_options": {"n_islands": 4, "n_particles": 8}}
    y = x[:, 0] + 0.1 * source.normal(size=120)
    good = PMCNetRegressor(**quick, **options).fit(x[:60], y[:60])
    bad = PMCNetRegressor(**quick, **options).fit(x[:60], source.permutation(y[:60]))
    marks = best_in([bad, good], x[60:], y[60:], seed=0)
    assert marks[0] == []
    assert {"mse", "rmse", "r2", "mae", "nll"} == set(marks[1])
    labels = np.where(y > 0, "up", "down")
    one = PMCNetClassifier(**quick, **options).fit(x[:60], labels[:60])
    marks = best_in([one, one], x[60:], labels[60:], seed=0)
    assert marks[0] == marks[1]
    assert {"accuracy", "nll", "brier", "ece", "auc"} == set(marks[0])
