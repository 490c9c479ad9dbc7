"""Coverage of rows never seen, over many splits, whatever the posterior and whatever leaks."""

import numpy as np
import pytest

from estimators.conformal.tables import CHEAP, inside, uneven
from pmcnet import PMCNetClassifier, PMCNetRegressor

N_TRAIN, N_TEST = 120, 200
N_HELD_OUT = 24


def covered(n_splits, coverage, **settings):
    """The share of new rows inside, of each split, and the same of plain intervals."""
    found = []
    for seed in range(n_splits):
        x, y = uneven(N_TRAIN + N_TEST, seed)
        model = PMCNetRegressor(**CHEAP, **settings, conformal=True, random_state=seed)
        model.fit(x[:N_TRAIN], y[:N_TRAIN])
        new, truth = x[N_TRAIN:], y[N_TRAIN:]
        plain = model.predict_quantiles(new, [(1 - coverage) / 2, (1 + coverage) / 2])
        calibrated = model.predict_interval(new, coverage)
        found.append([inside(calibrated, truth).mean(), inside(plain, truth).mean()])
    return np.array(found).T


def test_posterior_that_is_far_too_narrow_is_covered():
    calibrated, plain = covered(100, 0.9, likelihood="gaussian", noise=0.02)
    error = calibrated.std(ddof=1) / 10
    assert plain.mean() < 0.1
    assert calibrated.mean() >= 0.9 - 3 * error
    assert calibrated.mean() <= 0.9 + 1 / (N_HELD_OUT + 1) + 3 * error


def test_posterior_that_is_far_too_wide_is_narrowed():
    calibrated, plain = covered(100, 0.8, likelihood="gaussian", noise=20.0)
    error = calibrated.std(ddof=1) / 10
    assert plain.mean() > 0.99
    assert calibrated.mean() >= 0.8 - 3 * error
    assert calibrated.mean() <= 0.8 + 1 / (N_HELD_OUT + 1) + 3 * error


def test_coverage_between_the_kept_ones_is_reached():
    calibrated, _ = covered(100, 0.7, likelihood="gaussian", noise=0.5)
    error = calibrated.std(ddof=1) / 10
    assert 0.7 - 3 * error <= calibrated.mean() <= 0.7 + 1 / (N_HELD_OUT + 1) + 3 * error


def many_levels(n, seed):
    """Rows of a column of many levels, of which each has few rows, and noise as the response."""
    source = np.random.default_rng(seed)
    level = source.integers(0, 60, n)
    city = np.array([f"city-{i}" for i in level], dtype=object)
    x = np.column_stack([city, source.normal(size=n)])
    return x, source.normal(size=n)


@pytest.mark.filterwarnings("ignore::pmcnet.errors.UnseenLevelsWarning")
def test_shuffled_target_is_covered_though_levels_are_averages_of_it():
    share = []
    for seed in range(20):
        x, y = many_levels(500, seed)
        model = PMCNetRegressor(**CHEAP, conformal=True, random_state=seed, likelihood="gaussian")
        model.fit(x[:250], y[:250])
        share.append(inside(model.predict_interval(x[250:], 0.9), y[250:]).mean())
    error = np.std(share, ddof=1) / np.sqrt(20)
    assert np.mean(share) >= 0.9 - 3 * error
    assert np.mean(share) <= 0.9 + 1 / 51 + 3 * error


@pytest.mark.filterwarnings("ignore::pmcnet.errors.UnseenLevelsWarning")
def test_sets_cover_shuffled_classes_and_are_as_large_as_chance():
    share, size = [], []
    for seed in range(20):
        x, noise = many_levels(500, seed)
        y = np.digitize(noise, [-0.4307, 0.4307])  # three classes alike frequent
        model = PMCNetClassifier(**CHEAP, conformal=True, random_state=seed)
        sets = model.fit(x[:250], y[:250]).predict_set(x[250:], 0.9)
        share.append(sets[np.arange(250), y[250:]].mean())
        size.append(sets.sum(1).mean())
    error = np.std(share, ddof=1) / np.sqrt(20)
    assert np.mean(share) >= 0.9 - 3 * error
    assert np.mean(size) > 2.6  # chance needs 2.7 of the three
