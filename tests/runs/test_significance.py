"""Which methods are best, and which do not differ significantly from the best."""

import numpy as np
import torch

from pmcnet.competitors import RowPredictions
from pmcnet.runs.class_truth import ClassTruth
from pmcnet.runs.number_truth import NumberTruth
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


def test_methods_are_marked_by_what_they_predict():
    source = np.random.default_rng(0)
    y = source.normal(size=200)
    truth = NumberTruth(y, np.ones(200, dtype=bool))
    quantiles = y + np.linspace(-1, 1, 10)[:, None]
    good = RowPredictions(y + 0.1 * source.normal(size=200), np.zeros(200), quantiles)
    bad = RowPredictions(source.permutation(y), np.full(200, -2.0), quantiles + 3)
    marks = best_in([bad, good], truth, 200, seed=0)
    assert marks == [[], ["mse", "rmse", "mae", "r2", "nll", "crps", "pinball"]]


def test_method_without_a_density_is_never_marked_for_it():
    y = np.random.default_rng(0).normal(size=50)
    truth = NumberTruth(y, np.ones(50, dtype=bool))
    whole = RowPredictions(mean=y, log_density=np.full(50, -9.0))
    marks = best_in([whole._replace(log_density=None), whole], truth, 50, seed=0)
    assert ["nll" in names for names in marks] == [False, True]


def test_equal_probabilities_are_tied_in_every_metric():
    source = np.random.default_rng(0)
    p = source.random(60)
    found = RowPredictions(probability=np.column_stack([1 - p, p]))
    truth = ClassTruth(torch.as_tensor((p > source.random(60)).astype(np.int64)))
    marks = best_in([found, found], truth, 60, seed=0)
    assert marks[0] == marks[1]
    assert set(marks[0]) == {"accuracy", "nll", "brier", "ece", "auc"}
