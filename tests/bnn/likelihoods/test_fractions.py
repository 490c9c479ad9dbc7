"""Fractions under the beta distribution, and the search for its quantiles."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from scipy import stats

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
from pmcnet.bnn import Beta
from pmcnet.bnn.likelihoods import registry
from pmcnet.bnn.likelihoods.mixture_inversion import inverted
from pmcnet.bnn.likelihoods.response import Response, Units
from pmcnet.errors import InputError

FAMILY = registry.family("beta", "regression")
LIKELIHOOD = Beta(-0.4, 0.7, 3.0, 1.0)
RAW = np.random.default_rng(0).beta(2, 5, 40)
Y = torch.as_tensor(FAMILY.targets(RAW, Units()))


def shapes(output, extra):
    """a and b, of arrays that broadcast."""
    mean = 1 / (1 + np.exp(0.4 - 0.7 * output))
    return mean * np.exp(extra), (1 - mean) * np.exp(extra)


def cdf(y, output, extra):
    return stats.beta.cdf(y, *shapes(output[..., 0], extra[..., 0]))


def test_density_is_the_beta_one():
    output, extra = points(LIKELIHOOD, 3, 40)
    expected = stats.beta.logpdf(RAW, *shapes(output[..., 0].numpy(), extra.numpy()))
    np.testing.assert_allclose(LIKELIHOOD.log_prob(output, Y, extra), expected, rtol=1e-10)


def test_gradients_are_derivatives():
    assert_gradients(LIKELIHOOD, Y)
    assert_finite_far_away(LIKELIHOOD, Y)
    ends = torch.as_tensor(FAMILY.targets(np.array([1e-300, 1e-12, 1 - 1e-15]), Units()))
    assert_gradients(LIKELIHOOD, ends)
    assert_finite_far_away(LIKELIHOOD, ends)


def test_density_keeps_its_digits_where_the_precision_is_large():
    """In single precision the log-gamma functions alone would be off by 100."""
    output, extra = torch.zeros(1, 40, 1), torch.full((1, 1), 16.0)
    y = torch.as_tensor(FAMILY.targets(0.4013 + 1e-4 * RAW, Units())).float()
    found = LIKELIHOOD.log_prob(output, y, extra)
    exact = LIKELIHOOD.log_prob(output.double(), y.double(), extra.double())
    torch.testing.assert_close(found.double(), exact, rtol=1e-6, atol=1e-6)


def test_density_of_a_mean_near_the_end_is_no_infinity():
    """mu underflows; lgamma(a) is about -log a."""
    output, extra = torch.full((1, 1, 1), -400.0).double(), torch.full((1, 1), 2.0).double()
    found = Beta(0.0, 1.0).log_prob(output, torch.zeros(1).double(), extra)
    phi = math.exp(2)
    expected = -400 + 2 - phi * math.log(2) + 2 * math.log(2)  # a -> 0: a (1 - y)^(phi - 1) / y
    assert float(found) == pytest.approx(expected, rel=1e-12)


def test_moments_are_those_of_the_beta_distribution():
    output, extra = points(LIKELIHOOD, 3, 5)
    exact = stats.beta(*shapes(output[..., 0].numpy(), extra.numpy()))
    mean = LIKELIHOOD.mean(output, extra)
    np.testing.assert_allclose(mean[..., 0], exact.mean(), rtol=1e-12)
    np.testing.assert_allclose(LIKELIHOOD.aleatoric(mean, output, extra), exact.var(), rtol=1e-10)
    total = LIKELIHOOD.total(mean[0], torch.ones(5), mean[0])
    torch.testing.assert_close(total, 1 + mean[0, :, 0])


def test_draws_have_the_stated_distribution_and_moments():
    assert_draws(LIKELIHOOD, cdf=cdf)


def test_quantiles_invert_the_mixture():
    assert_quantiles(LIKELIHOOD, cdf=cdf, low=1e-300, high=1 - 1e-16)


def test_quantiles_of_u_shaped_distributions_are_found_at_either_end():
    """With a = b = .01 nearly all mass lies within 1e-10 of 0 or 1."""
    output, extra = (
        torch.zeros(2, 3, 1).double(),
        torch.full((2, 1), math.log(0.02), dtype=torch.float64),
    )
    levels = [0.3, 0.45, 0.5, 0.7]
    found = Beta(0.0, 1.0).quantiles(output, extra, torch.tensor([0.5, 0.5]).double(), levels)
    expected = stats.beta.ppf(levels, 0.01, 0.01)
    np.testing.assert_allclose(found, np.tile(expected, (3, 1)), rtol=1e-6)


def test_distribution_function_keeps_both_ends():
    likelihood, logit = Beta(0.0, 1.0), torch.tensor([-40.0, -1.0, 0.0, 2.0, 40.0]).double()
    output, extra = (
        torch.zeros(1, 5, 1).double(),
        torch.full((1, 1), math.log(0.02), dtype=torch.float64),
    )
    found = likelihood.cumulative(output, logit, extra)[0]
    lower = stats.beta.cdf(np.exp(-40.0), 0.01, 0.01)
    assert float(found[0]) == pytest.approx(lower)
    assert float(found[4]) == pytest.approx(1 - lower)
    np.testing.assert_allclose(found[1:4], stats.beta.cdf(logit[1:4].sigmoid(), 0.01, 0.01))


def test_member_comes_back_from_its_stored_form():
    assert_stored(LIKELIHOOD)


def test_prior_of_the_precision_is_wide():
    ((mean, std),) = Beta().extra_prior
    assert math.exp(mean - 2 * std) == pytest.approx(1)
    assert math.exp(mean + 2 * std) == pytest.approx(2981, rel=1e-3)
    assert Beta().extra_names == ("log_precision",)
    assert Beta().usable(torch.tensor([[4.0], [1000.0], [-1000.0]])).tolist() == [
        True,
        False,
        False,
    ]


def test_family_centres_the_mean():
    """An output of 0 is the mean of all rows; 1 is about a standard deviation from it."""
    weight = np.random.default_rng(1).integers(1, 4, 40).astype(float)
    response = Response(RAW, weight)
    assert FAMILY.units(response) == Units()
    found = FAMILY.for_response(response, Units())
    mean = np.average(RAW, weights=weight)
    std = math.sqrt(np.average((RAW - mean) ** 2, weights=weight))
    step = torch.tensor([[[0.0], [1e-3]]]).double()
    means = found.mean(step, torch.zeros(1, 1).double())[0, :, 0]
    assert float(means[0]) == pytest.approx(mean)
    assert float(means[1] - means[0]) == pytest.approx(1e-3 * std, rel=1e-2)
    constant = FAMILY.for_response(Response(np.full(4, 0.2), np.ones(4)), Units())
    assert constant == Beta(constant.centre, 1.0)
    assert constant.centre == pytest.approx(math.log(0.25))


@pytest.mark.parametrize(
    ("y", "noise", "text"),
    [
        ([0.5, 0.0], "learn", r"strictly between 0 and 1 for likelihood beta; got 0 in row 2\."),
        ([1.0, 0.5], "learn", r"got 1 in row 1\. .* \(y \* \(n - 1\) \+ 0\.5\) / n, with n rows"),
        ([0.1, 0.2], 0.3, r"beta learns its precision: noise must be learn; got 0\.3"),
    ],
)
def test_responses_that_are_no_fractions_are_refused(y, noise, text):
    response = Response(np.array(y), np.ones(len(y)), noise=noise)
    with pytest.raises(InputError, match=text):
        FAMILY.for_response(response, FAMILY.units(response))


@pytest.mark.parametrize("setting", [{"spread": 0.0}, {"log_precision_std": -1.0}])
def test_bad_settings_are_refused(setting):
    with pytest.raises(InputError, match="must be a positive finite number"):
        Beta(**setting)


def test_posterior_and_evidence_are_exact():
    def log_density(bias, own):
        return np.sum([stats.beta.logpdf(y, *shapes(bias, own)) for y in RAW[:12]], 0)

    assert_posterior(LIKELIHOOD, Y[:12], log_density, spans=[(-6, 4), (-2.5, 6.5)])


def test_estimator_fits_fractions(tmp_path):
    source, x = np.random.default_rng(5), numbers(60)["x"].to_numpy()
    mean = 1 / (1 + np.exp(-x))
    y = source.beta(20 * mean, 20 * (1 - mean))
    model, rows = assert_estimator(tmp_path, y, "beta", Beta)
    interval = model.predict_interval(rows, 0.999)
    assert interval.min() > 0
    assert interval.max() < 1
    assert np.corrcoef(model.predict(rows), mean)[0, 1] > 0.9
    with pytest.raises(InputError, match="got 1 in row 5"):
        model.fit(rows, np.where(np.arange(60) == 4, 1.0, y))


@dataclass
class Logistics:
    """Mixtures of logistic distributions (J, N), with the same scale."""

    location: torch.Tensor
    weight: torch.Tensor
    scale: float

    def cumulative_and_density(self, t, rows):
        z = (t - self.location[:, rows]) / self.scale
        density = z.sigmoid() * (-z).sigmoid() / self.scale
        return self.weight @ z.sigmoid(), self.weight @ density


@pytest.mark.parametrize("scale", [1e-3, 1.0, 20.0])
@pytest.mark.parametrize("level", [1e-9, 0.2, 0.3, 0.5, 1 - 1e-9])
def test_inversion_finds_the_level_from_any_start(scale, level):
    """With components far apart, between which the distribution function is flat."""
    location = torch.tensor([[-90.0, 0.0, 5.0, 5.0], [90.0, 0.1, 5.0, 6.0]], dtype=torch.float64)
    mixture = Logistics(location, torch.tensor([0.3, 0.7], dtype=torch.float64), scale)
    for start in (-1e9, -3.0, 0.0, 200.0):
        t = inverted(mixture, level, torch.full((4,), start).double())
        found, _ = mixture.cumulative_and_density(t, torch.arange(4))
        tail = min(level, 1 - level)
        flat = torch.tensor([level == 0.3 and scale < 5, False, False, False])
        assert ((found - level).abs() <= 1e-5 * tail)[~flat].all()
        assert (found - level).abs().max() < 1e-2
