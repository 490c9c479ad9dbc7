"""What every competitor keeps to, whatever its library: shapes, densities, quantiles, seeds."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from pmcnet.competitors import COMPETITORS, LEVELS, Rows

# What libraries warn of is their own.
pytestmark = pytest.mark.filterwarnings("ignore")

N_TRAIN = 120
HAVE_DENSITY = {
    "linear",
    "random-forest",
    "catboost",
    "ngboost",
    "mlp-ensemble",
    "gaussian-process",
    "bde",
}
CASES = [
    (name, task)
    for name, one in COMPETITORS.items()
    for task in ("regression", "classification")
    if one.model(task) is not None
]
SMALL = {"ngboost": {"n_estimators": 60}}
NUMBERS = [name for name, task in CASES if task == "regression"]
CLASSES = [name for name, task in CASES if task == "classification"]


@cache
def table():
    """Numbers and a column of levels, with gaps; a number and classes that depend on them."""
    source = np.random.default_rng(0)
    x = source.normal(size=(160, 3))
    x[:, 2] = source.integers(0, 3, 160)
    y = 10 + 2 * x[:, 0] + (x[:, 2] == 1) + 0.3 * source.normal(size=160)
    return x, y, np.digitize(y, [9, 11]).astype(float)


def rows_for(name, place):
    """In the form that a competitor takes."""
    x = table()[0][place].copy()
    if COMPETITORS[name].form == "encoded":
        return Rows(x)
    x[1, 0] = x[2, 2] = np.nan
    return Rows(x, (2,))


def model_of(name, task):
    """Ready to be fitted; skips where its library is missing."""
    library = COMPETITORS[name].library
    if library is not None and not library.installed:
        pytest.skip(f"{library.title} is not installed: pip install 'pmcnet[{library.extra}]'")
    model = replace(COMPETITORS[name].model(task), **SMALL.get(name, {}))
    model.load()
    return model


def fitted(name, task, seed=1):
    y = table()[1 if task == "regression" else 2]
    return model_of(name, task).fit(rows_for(name, slice(N_TRAIN)), y[:N_TRAIN], seed)


once = cache(fitted)


def predicted_by(model, name, task):
    """Of the test rows."""
    y = table()[1 if task == "regression" else 2][N_TRAIN:]
    return model.predict(rows_for(name, slice(N_TRAIN, None))).tested(y, LEVELS), y


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_have_a_mean_and_rising_quantiles(name):
    found, y = predicted_by(once(name, "regression"), name, "regression")
    assert found.mean.shape == y.shape
    assert found.quantiles.shape == (len(LEVELS), len(y))
    assert np.isfinite(found.mean).all()
    assert np.isfinite(found.quantiles).all()
    assert (np.diff(found.quantiles, axis=0) >= 0).all()
    assert found.probability is None


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_are_predicted_better_than_by_their_average(name):
    found, y = predicted_by(once(name, "regression"), name, "regression")
    assert np.square(found.mean - y).mean() < 0.6 * y.var()
    low, high = found.quantiles[[0, -1]]
    assert np.mean((low <= y) & (y <= high)) > 0.3  # how well they cover is the library's


@pytest.mark.parametrize("name", NUMBERS)
def test_densities_are_those_that_are_stated_and_integrate_to_one(name):
    model = once(name, "regression")
    found, _ = predicted_by(model, name, "regression")
    assert (found.log_density is not None) == (name in HAVE_DENSITY)
    if found.log_density is None:
        return
    assert np.isfinite(found.log_density).all()
    row = rows_for(name, slice(N_TRAIN, N_TRAIN + 3))
    grid = np.linspace(-30, 50, 4001)
    repeated = Rows(np.repeat(row.values[:1], len(grid), axis=0), row.categories)
    density = np.exp(model.predict(repeated).tested(grid, LEVELS[:1]).log_density)
    assert np.trapezoid(density, grid) == pytest.approx(1, abs=2e-3)


@pytest.mark.parametrize("name", CLASSES)
def test_classes_have_probabilities_that_sum_to_one(name):
    found, y = predicted_by(once(name, "classification"), name, "classification")
    assert found.probability.shape == (len(y), 3)
    assert (found.probability >= 0).all()
    np.testing.assert_allclose(found.probability.sum(1), 1, atol=1e-6)
    assert (found.probability.argmax(1) == y).mean() > 1.2 * np.bincount(y.astype(int)).max() / 40
    assert found.mean is None


@pytest.mark.parametrize(("name", "task"), CASES)
def test_same_seed_gives_the_same_prediction(name, task):
    found = [predicted_by(model, name, task)[0] for model in (once(name, task), fitted(name, task))]
    for one, other in zip(*found, strict=True):
        if one is not None:
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", CLASSES)
def test_rare_class_keeps_its_column(name):
    if name in ("mlp-ensemble", "bde"):
        pytest.skip("its early stopping needs two rows of each class")
    model = model_of(name, "classification")
    y = table()[2][:60].copy()
    y[y == 2] = 1
    y[-1] = 2
    fit = model.fit(rows_for(name, slice(60)), y, 0)
    found = fit.predict(rows_for(name, slice(N_TRAIN, None))).probability
    assert found.shape == (40, 3)


def test_every_competitor_of_an_extra_names_it():
    extras = {one.library.extra for one in COMPETITORS.values() if one.library}
    assert extras == {"bde", "catboost", "conformal", "lightgbm", "ngboost"}
