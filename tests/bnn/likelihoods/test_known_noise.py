"""Gaussian noise that is known of each row."""

import math

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats
from sklearn.base import clone

from bnn.likelihoods.family_checks import (
    assert_draws,
    assert_estimator,
    assert_finite_far_away,
    assert_gradients,
    assert_islands,
    assert_quantiles,
    assert_stored,
    constant_network,
    points,
)
from cli.commands import numbers
from pmcnet import PMCNetRegressor
from pmcnet.bnn import Gaussian, KnownGaussian
from pmcnet.bnn.likelihoods import registry
from pmcnet.bnn.likelihoods.response import Response
from pmcnet.errors import InputError

FAMILY = registry.family("gaussian", "regression")
LIKELIHOOD = KnownGaussian(0.6)
SOURCE = np.random.default_rng(0)
SIGMA = SOURCE.uniform(0.1, 2, 40)
RAW = np.column_stack([30 + SIGMA * SOURCE.normal(size=40), SIGMA])
ONES = np.ones(40)
UNITS = FAMILY.units(Response(RAW, ONES))
Y = torch.as_tensor(FAMILY.targets(RAW, UNITS))
SETTINGS = {
    "method": "annealed",
    "device": "cpu",
    "method_options": {"n_islands": 4, "n_particles": 16},
    "prior_std": 1.0,
    "random_state": 0,
}


def cdf(y, output, extra):
    return stats.norm.cdf(y, output[..., 0], 0.6)


def table(n=60):
    """Rows whose noise is large where the second input is."""
    frame = numbers(n)
    x = frame[["x", "z"]].to_numpy()
    sigma = np.exp(x[:, 1])
    return x, 50 + 10 * x[:, 0] + sigma * np.random.default_rng(2).normal(size=n), sigma


def test_density_has_the_noise_of_each_row():
    output, extra = points(LIKELIHOOD, 3, 40)
    found = UNITS.log_density(LIKELIHOOD.log_prob(output, Y, extra).numpy())
    mean = UNITS.values(output[..., 0].numpy())
    np.testing.assert_allclose(found, stats.norm.logpdf(RAW[:, 0], mean, SIGMA), rtol=1e-10)
    typical = Gaussian(0.6)
    torch.testing.assert_close(
        LIKELIHOOD.log_prob(output, Y[:, 0], extra), typical.log_prob(output, Y[:, 0], extra)
    )


def test_gradients_are_derivatives():
    for y in (Y, Y[:, 0]):
        assert_gradients(LIKELIHOOD, y)
        assert_finite_far_away(LIKELIHOOD, y)


def test_predictions_have_the_typical_noise():
    output, extra = points(LIKELIHOOD, 3, 5)
    mean = LIKELIHOOD.mean(output, extra)
    assert torch.equal(mean, output)
    assert (LIKELIHOOD.aleatoric(mean, output, extra) == 0.36).all()
    assert LIKELIHOOD.usable(extra).all()
    assert_draws(LIKELIHOOD, cdf=cdf)
    assert_quantiles(LIKELIHOOD, cdf=cdf, low=-50, high=50, levels=(1e-3, 0.025, 0.9))


def test_member_comes_back_from_its_stored_form():
    assert_stored(LIKELIHOOD)


def test_units_are_those_of_the_first_column():
    weight = SOURCE.integers(1, 4, 40).astype(float)
    response = Response(RAW, weight)
    units = FAMILY.units(response)
    assert units == FAMILY.units(Response(RAW[:, 0], weight))
    found = FAMILY.for_response(response, units)
    typical = math.sqrt(np.average(SIGMA**2, weights=weight))
    assert found == KnownGaussian(found.sigma)
    assert found.sigma * units.scale == pytest.approx(typical)
    targets = FAMILY.targets(RAW, units)
    np.testing.assert_allclose(units.values(targets[:, 0]), RAW[:, 0])
    np.testing.assert_allclose(units.scale * targets[:, 1], SIGMA)


@pytest.mark.parametrize(
    ("sigma", "text"),
    [
        (0.0, r"noise must hold positive finite numbers, .*; got 0 in row 3"),
        (-1.0, r"got -1 in row 3"),
        (math.inf, r"got inf in row 3"),
        (1e-12, r"noise must lie between 1e-08 and 1e\+08 times the scale of y, .* from 1e-12 to"),
    ],
)
def test_noise_that_cannot_be_is_refused(sigma, text):
    response = Response(np.column_stack([RAW[:, 0], np.where(np.arange(40) == 2, sigma, 1)]), ONES)
    with pytest.raises(InputError, match=text):
        FAMILY.for_response(response, FAMILY.units(response))


def test_bad_settings_are_refused():
    with pytest.raises(InputError, match="sigma must be a positive finite number"):
        KnownGaussian(0.0)


def test_posterior_and_evidence_are_those_of_a_normal_mean():
    """Bias ~ N(0, 1): precision 1 + sum 1 / sigma^2; y ~ N(0, 1 1^T + diag(sigma^2))."""
    y, sigma = Y[:9].numpy().T
    variance = 1 / (1 + (1 / sigma**2).sum())
    mean = variance * (y / sigma**2).sum()
    covariance = np.ones((9, 9)) + np.diag(sigma**2)
    log_z = stats.multivariate_normal.logpdf(y, np.zeros(9), covariance)
    assert_islands(constant_network(LIKELIHOOD, Y[:9]), [mean], [variance], float(log_z))


def test_estimator_takes_the_noise_of_each_row(tmp_path):
    x, y, sigma = table()
    model, _ = assert_estimator(tmp_path, y, "gaussian", KnownGaussian, noise=sigma)
    found = model.uncertainty(x).aleatoric
    np.testing.assert_allclose(found, np.mean(sigma**2), rtol=1e-5)
    both = np.column_stack([y, sigma])
    mean, std = model.predict(x), model.uncertainty(x).epistemic ** 0.5
    exact = stats.norm.logpdf(y, mean, np.hypot(sigma, std))  # one normal for the mixture
    assert np.median(np.abs(model.log_predictive(x, both) - exact)) < 0.1


def test_rows_with_little_noise_count_more():
    """Two groups of rows contradict each other; the precise one decides."""
    x, high = np.tile(numbers(20)[["x"]].to_numpy(), (2, 1)), np.arange(40) < 20
    y = np.where(high, 10.0, 0.0) + np.tile(numbers(20)["z"], 2)
    for precise in (high, ~high):
        noise = np.where(precise, 0.5, 50.0)
        found = PMCNetRegressor((2,), noise=noise, **SETTINGS).fit(x, y).predict(x).mean()
        assert abs(found - y[precise].mean()) < 2


def test_model_with_noise_of_each_row_is_stored_cloned_and_fitted_again(tmp_path):
    x, y, sigma = table(30)
    model = PMCNetRegressor((2,), noise=sigma, **SETTINGS).fit(x, y)
    expected = model.predict(x)
    loaded = PMCNetRegressor.load(model.save(tmp_path / "m"))
    assert np.allclose(loaded.noise, sigma)
    for other in (clone(model), clone(loaded)):
        assert (other.fit(x, y).predict(x) == expected).all()
    for given in (sigma.tolist(), pd.Series(sigma)):
        other = PMCNetRegressor((2,), noise=given, **SETTINGS).fit(x, y)
        assert (other.predict(x) == expected).all()
        assert np.allclose(PMCNetRegressor.load(other.save(tmp_path / "n")).noise, sigma)


def test_rows_are_weighted_and_merged_with_their_noise():
    x, y, sigma = table(30)
    weight = np.arange(30) % 3
    weighted = PMCNetRegressor((2,), noise=sigma, **SETTINGS).fit(x, y, weight).predict(x)
    many = PMCNetRegressor((2,), noise=sigma.repeat(weight), **SETTINGS)
    repeated = many.fit(x.repeat(weight, 0), y.repeat(weight)).predict(x)
    assert (weighted == repeated).all()
    order = np.random.default_rng(0).permutation(30)
    one = PMCNetRegressor((2,), noise=sigma, **SETTINGS).fit(x, y)
    other = PMCNetRegressor((2,), noise=sigma[order], **SETTINGS).fit(x[order], y[order])
    assert (one.predict(x) == other.predict(x)).all()


@pytest.mark.parametrize(
    ("setting", "text"),
    [
        ({"noise": np.ones(29)}, r"one for each of the 30 rows; got shape \(29,\)"),
        ({"noise": np.ones((30, 2))}, r"one for each of the 30 rows; got shape \(30, 2\)"),
        ({"noise": np.linspace(1, -1, 30)}, "noise must hold positive .*; got -0.0344828 in row"),
        ({"noise": np.full(30, np.nan)}, "noise must hold positive .*; got nan in row 1"),
        ({"noise": ["a"] * 30}, "noise must be numbers, the standard deviation of each y"),
        ({"noise": np.ones(30), "likelihood": "laplace"}, "noise of each row is for .* gaussian"),
    ],
)
def test_noise_that_does_not_fit_the_rows_is_refused(setting, text):
    x, y, _ = table(30)
    with pytest.raises(InputError, match=text):
        PMCNetRegressor(**setting).fit(x, y)
