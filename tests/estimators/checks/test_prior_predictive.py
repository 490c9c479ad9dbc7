"""Draws from the prior are those of the prior, also of a model that was loaded."""

import numpy as np
import pytest

from estimators.checks.tables import QUICK, rows
from pmcnet import PMCNetRegressor
from pmcnet.estimators.checks.check_rows import CheckRows
from pmcnet.estimators.checks.prior_functions import prior_functions


def test_draws_of_a_network_without_hidden_layers_have_the_variance_of_the_prior():
    x, y = rows(80)
    settings = QUICK | {"hidden_layer_sizes": ()}
    model = PMCNetRegressor(likelihood="gaussian", noise=0.6, **settings).fit(x, y)
    found = model.prior_predictive(x, y, n_draws=4000)
    z = (x - x.mean(0)) / x.std(0)
    expected = y.std() ** 2 * (1 + np.square(z).sum(1)) + 0.6**2
    variance = found.drawn.var(0)
    assert (np.abs(variance / expected - 1) < 5 * (2 / 4000) ** 0.5).all()


def test_loaded_model_has_the_same_prior(right, tmp_path):
    loaded = PMCNetRegressor.load(right.save(tmp_path / "m"), device="cpu")
    x, y = rows(30)
    ours, theirs = right.prior_predictive(x, y), loaded.prior_predictive(x, y)
    assert np.array_equal(ours.drawn, theirs.drawn)


def test_prior_is_wider_than_the_data_it_holds(right):
    found = right.prior_predictive(*rows(80))
    assert found.interval[0] < found.interval[1]
    assert found.share_inside > 0.9
    assert 1 < found.ratio < 10


def test_functions_of_the_prior_go_along_the_column_that_tells_most(right):
    x, y = rows(80)
    name, grid, means = prior_functions(right, CheckRows.of(right, x, y), x, 0)
    assert name == "column 0"
    assert means.shape == (10, len(grid))
    assert (np.diff(grid) > 0).all()
    assert means.std(0).min() > 0
    assert means.std(0).max() == pytest.approx(y.std() * 1.5, rel=1)
