"""Log-normal responses, and the shapes of noise that logarithms may have."""

import math

import numpy as np
import pytest
import torch
from scipy import integrate, stats

from bnn.likelihoods.family_checks import (
    assert_draws,
    assert_estimator,
    assert_finite_far_away,
    assert_gradients,
    assert_posterior,
    assert_quantiles,
    assert_stored,
    points,
)
from cli.commands import numbers
from pmcnet.bnn import Gaussian, LearnedGaussian, LogNormal, RowLogNormal
from pmcnet.bnn.likelihoods import registry
from pmcnet.bnn.likelihoods.log_shapes import Logistic, Normal, SmallestExtreme
from pmcnet.bnn.likelihoods.response import Response, Units
from pmcnet.errors import InputError

FAMILY = registry.family("lognormal", "regression")
MEMBERS = [LogNormal(spread=0.7), RowLogNormal(spread=0.7, sensitivity=0.4)]
RAW = np.random.default_rng(0).lognormal(1.0, 0.8, 40)
UNITS = Units(0.0, 2.5)
Y = torch.as_tensor(FAMILY.targets(RAW, UNITS))
SHAPES = [
    (Normal(), stats.norm),
    (Logistic(), stats.logistic),
    (SmallestExtreme(), stats.gumbel_l),
]


def scale_of(likelihood, output, extra):
    """Of log y."""
    by_row = likelihood.sensitivity * output[..., 1] if likelihood.n_outputs == 2 else 0.0
    return likelihood.spread * np.exp(extra[..., :1] + by_row)


def cdf_of(likelihood):
    """P(Y <= y) in the network's units."""

    def cdf(y, output, extra):
        median = np.exp(likelihood.spread * output[..., 0])
        return stats.lognorm.cdf(y, scale_of(likelihood, output, extra).squeeze(), scale=median)

    return cdf


@pytest.mark.parametrize("likelihood", MEMBERS, ids=repr)
def test_density_is_the_log_normal_one_in_units_of_y(likelihood):
    output, extra = points(likelihood, 3, len(RAW))
    found = UNITS.log_density(likelihood.log_prob(output, Y, extra).numpy())
    median = UNITS.scale * np.exp(likelihood.spread * output[..., 0].numpy())
    scale = scale_of(likelihood, output.numpy(), extra.numpy())
    np.testing.assert_allclose(found, stats.lognorm.logpdf(RAW, scale, scale=median), rtol=1e-12)


@pytest.mark.parametrize("likelihood", MEMBERS, ids=repr)
def test_gradients_are_derivatives(likelihood):
    assert_gradients(likelihood, Y)
    assert_finite_far_away(likelihood, Y)


@pytest.mark.parametrize("likelihood", MEMBERS, ids=repr)
def test_moments_are_those_of_the_log_normal(likelihood):
    output, extra = points(likelihood, 3, 5)
    mean = likelihood.mean(output, extra)
    median = np.exp(likelihood.spread * output[..., 0].numpy())
    exact = stats.lognorm(scale_of(likelihood, output.numpy(), extra.numpy()), scale=median)
    np.testing.assert_allclose(mean[..., 0], exact.mean(), rtol=1e-12)
    np.testing.assert_allclose(likelihood.aleatoric(mean, output, extra), exact.var(), rtol=1e-9)


@pytest.mark.parametrize("likelihood", MEMBERS, ids=repr)
def test_draws_have_the_stated_distribution_and_moments(likelihood):
    assert_draws(likelihood, cdf=cdf_of(likelihood))


@pytest.mark.parametrize("likelihood", MEMBERS, ids=repr)
def test_quantiles_invert_the_mixture(likelihood):
    assert_quantiles(likelihood, cdf=cdf_of(likelihood), low=1e-4, high=1e4)


def test_distribution_function_is_that_of_the_logarithm():
    output, extra = points(MEMBERS[0], 3, len(Y))
    found = MEMBERS[0].cumulative(output, Y, extra)
    cdf = cdf_of(MEMBERS[0])
    networks = zip(output.numpy(), extra.numpy(), strict=True)
    expected = [cdf(Y.exp().numpy(), each, own) for each, own in networks]
    np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize(("shape", "exact"), SHAPES, ids=lambda each: type(each).__name__)
def test_shape_is_scipys(shape, exact):
    z, own = torch.linspace(-8, 3.5, 24, dtype=torch.float64), torch.zeros(1, 0).double()
    standard = shape.standard(own)
    np.testing.assert_allclose(shape.log_density(z, own), exact.logpdf(z), rtol=1e-12)
    np.testing.assert_allclose(standard.cdf(z), exact.cdf(z), rtol=1e-10)
    np.testing.assert_allclose(standard.pdf(z), exact.pdf(z), rtol=1e-12)
    np.testing.assert_allclose(shape.variance(own), exact.var())
    for level in (1e-12, 0.3, 1 - 1e-9):
        assert float(standard.quantile(level)) == pytest.approx(exact.ppf(level), rel=1e-9)


@pytest.mark.parametrize("scale", [0.01, 0.3, 0.45])
@pytest.mark.parametrize(("shape", "exact"), SHAPES, ids=lambda each: type(each).__name__)
def test_moments_of_exponentials_are_integrals(shape, exact, scale):
    def moment(power):
        def integrand(z):
            return math.exp(power * scale * z + exact.logpdf(z))

        return integrate.quad(integrand, -200, 0)[0] + integrate.quad(integrand, 0, 400)[0]

    s, mean = torch.tensor(scale, dtype=torch.float64), moment(1)
    assert float(shape.log_mean(s).exp()) == pytest.approx(mean, rel=1e-7)
    assert float(shape.relative_variance(s)) == pytest.approx(moment(2) / mean**2 - 1, rel=1e-4)


@pytest.mark.parametrize(("shape", "_"), SHAPES, ids=lambda each: type(each).__name__)
def test_variances_of_small_scales_keep_their_digits(shape, _):
    """Var[e^(s z)] / E^2 goes to s^2 Var[z], without a jump where the series ends."""
    around = torch.tensor([1e-12, 1e-7, 0.999999e-3, 1.000001e-3], dtype=torch.float64)
    found = shape.relative_variance(around)
    variance = float(shape.variance(torch.zeros(1, 0).double())[0])
    torch.testing.assert_close(found[:2], variance * around[:2].square(), rtol=1e-6, atol=0)
    assert float(found[3] / found[2]) == pytest.approx(1.000002**2, rel=1e-5)


@pytest.mark.parametrize("likelihood", MEMBERS, ids=repr)
def test_member_comes_back_from_its_stored_form(likelihood):
    assert_stored(likelihood)


@pytest.mark.parametrize("likelihood", MEMBERS, ids=repr)
def test_scales_without_a_finite_variance_cannot_be_used(likelihood):
    extra = torch.tensor([[0.0], [-1000.0], [5.0], [1000.0]])
    assert likelihood.usable(extra).tolist() == [True, False, False, False]


def test_family_measures_the_logarithm():
    weight = np.random.default_rng(1).integers(1, 4, len(RAW)).astype(float)
    log_y = np.log(RAW)
    mean = np.average(log_y, weights=weight)
    response = Response(RAW, weight)
    units = FAMILY.units(response)
    assert units == (0.0, pytest.approx(math.exp(mean)))
    found = FAMILY.for_response(response, units)
    spread = math.sqrt(np.average((log_y - mean) ** 2, weights=weight))
    assert found == LogNormal(spread=found.spread)
    assert found.spread == pytest.approx(spread)
    targets = FAMILY.targets(RAW, units)
    assert np.average(targets, weights=weight) == pytest.approx(0, abs=1e-12)
    by_row = FAMILY.for_response(response._replace(noise="by-row"), units)
    assert by_row == RowLogNormal(spread=found.spread, floor=by_row.floor)
    assert by_row.floor < 0.05


def test_evidence_is_that_of_a_gaussian_for_the_logarithm():
    """Up to the Jacobian, so that log-normal and Gaussian models of y can be compared."""
    response = Response(RAW, np.ones(len(RAW)))
    units = FAMILY.units(response)
    likelihood = FAMILY.for_response(response, units)
    output, extra = points(likelihood, 3, len(RAW))
    y = torch.as_tensor(FAMILY.targets(RAW, units))
    found = units.log_density(likelihood.log_prob(output, y, extra).numpy())
    gaussian = registry.family("gaussian", "regression")
    of_log = gaussian.units(Response(np.log(RAW), response.weight))
    z = torch.as_tensor(gaussian.targets(np.log(RAW), of_log))
    expected = of_log.log_density(LearnedGaussian().log_prob(output, z, extra).numpy())
    np.testing.assert_allclose(found, expected - np.log(RAW))


def test_constant_response_has_spread_1():
    response = Response(np.full(5, 3.0), np.ones(5))
    units = FAMILY.units(response)
    assert units.scale == pytest.approx(3.0)
    assert FAMILY.for_response(response, units) == LogNormal(spread=1.0)


@pytest.mark.parametrize(
    ("y", "noise", "text"),
    [
        ([1.0, 0.0, 2.0], "learn", r"y must be positive; got 0 in row 2\. .* add a small amount"),
        ([1.0, 2.0, -4.0], "learn", r"y must be positive; got -4 in row 3\. Use .* gaussian"),
        ([1.0, 1e150], "learn", r"y must lie between 1e-100 and 1e\+100; it goes from 1 to 1e"),
        ([1e-20, 1e20], "learn", r"standard deviation 46\.1; .* at most 10\. Fit log\(y\)"),
        ([1.0, 2.0], 0.5, r"LogNormal learns its scale: noise must be learn or by-row; got 0\.5"),
    ],
)
def test_responses_that_are_not_log_normal_are_refused(y, noise, text):
    response = Response(np.array(y), np.ones(len(y)), noise=noise)
    with pytest.raises(InputError, match=text):
        FAMILY.for_response(response, FAMILY.units(response))


def test_bad_settings_and_data_are_refused():
    with pytest.raises(InputError, match="spread must be a positive finite number"):
        LogNormal(spread=0.0)
    output, extra = points(MEMBERS[0], 2, 3)
    with pytest.raises(InputError, match="y must be one number per row"):
        MEMBERS[0].log_prob(output, torch.ones(3, 2), extra)
    assert Gaussian(1.0) != LogNormal()


def test_posterior_and_evidence_are_exact():
    raw = np.random.default_rng(3).lognormal(0.5, 0.6, 12)
    likelihood = LogNormal(-1.0, 0.8, spread=0.7)

    def log_density(bias, own):
        scale = likelihood.spread * np.exp(own)
        each = [stats.lognorm.logpdf(y, scale, scale=np.exp(likelihood.spread * bias)) for y in raw]
        return np.sum(each, 0)

    y = torch.as_tensor(FAMILY.targets(raw, Units()))
    assert_posterior(likelihood, y, log_density, spans=[(-4, 5), (-2.5, 3)])


def test_estimator_fits_positive_numbers(tmp_path):
    frame = numbers(60)
    y = np.exp(frame["y"].to_numpy() / 20)
    model, x = assert_estimator(tmp_path, y, "lognormal", LogNormal)
    assert model.predict_interval(x, 0.999).min() > 0
    assert np.corrcoef(np.log(model.predict(x)), np.log(y))[0, 1] > 0.9
    with pytest.raises(InputError, match="got 0 in row 2"):
        model.log_predictive(x[:2], [1.0, 0.0])
    with pytest.raises(InputError, match="got -1 in row 5"):
        model.fit(x, np.where(np.arange(60) == 4, -1.0, y))


def test_units_of_y_do_not_matter(tmp_path):
    y = np.exp(numbers(40)["y"].to_numpy() / 20)
    one, x = assert_estimator(tmp_path, y, "lognormal", LogNormal)
    other, _ = assert_estimator(tmp_path, 1e6 * y, "lognormal", LogNormal)
    np.testing.assert_allclose(other.predict(x), 1e6 * one.predict(x), rtol=1e-3)
