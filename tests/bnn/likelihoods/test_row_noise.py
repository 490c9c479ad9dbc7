"""Noise by row, and noise with the tails of Student's and Laplace's distributions."""

import math

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
from pmcnet.bnn.likelihoods import registry
from pmcnet.bnn.likelihoods.gaussian import LearnedGaussian, RowGaussian
from pmcnet.bnn.likelihoods.response import Response
from pmcnet.bnn.likelihoods.row_scale import rounding_floor
from pmcnet.bnn.likelihoods.shaped_noise import (
    LaplaceNoise,
    RowLaplaceNoise,
    RowStudentT,
    StudentT,
)
from pmcnet.errors import InputError

MEMBERS = [
    RowGaussian(),
    RowGaussian(sensitivity=0.8, floor=0.2),
    StudentT(),
    RowStudentT(floor=0.1),
    LaplaceNoise(),
    RowLaplaceNoise(sensitivity=0.3),
]
Y = torch.as_tensor(np.random.default_rng(0).standard_normal(30))
RESPONSE = Response(np.array([1.0, 2.5, 3.0, 4.5]), np.ones(4))


def exact(likelihood, output, extra):
    """SciPy's distribution of y given one network's outputs (..., C) and own parameters (E,)."""
    scale = np.exp(extra[0])
    if likelihood.n_outputs == 2:
        scale = likelihood.floor + np.exp(extra[0] + likelihood.sensitivity * output[..., 1])
    if isinstance(likelihood, StudentT):
        return stats.t(2 + np.exp(extra[1]), output[..., 0], scale)
    kind = stats.laplace if isinstance(likelihood, LaplaceNoise) else stats.norm
    return kind(output[..., 0], scale)


def cdf_of(likelihood):
    return lambda y, output, extra: exact(likelihood, output, extra).cdf(y)


@pytest.mark.parametrize("likelihood", MEMBERS, ids=repr)
def test_density_and_moments_are_those_of_scipy(likelihood):
    output, extra = points(likelihood, 3, len(Y))
    found = likelihood.log_prob(output, Y, extra)
    mean = likelihood.mean(output, extra)
    variance = likelihood.aleatoric(mean, output, extra).expand(3, len(Y))
    below = likelihood.cumulative(output, Y, extra)
    for j in range(3):
        known = exact(likelihood, output[j].numpy(), extra[j].numpy())
        np.testing.assert_allclose(found[j], known.logpdf(Y.numpy()), rtol=1e-10)
        np.testing.assert_allclose(below[j], known.cdf(Y.numpy()), rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(variance[j], known.var(), rtol=1e-10)
    assert torch.equal(mean, output[..., :1])


@pytest.mark.parametrize("likelihood", MEMBERS, ids=repr)
def test_gradients_are_derivatives(likelihood):
    assert_gradients(likelihood, Y)
    assert_finite_far_away(likelihood, Y, farthest=1e3)


@pytest.mark.parametrize("likelihood", MEMBERS, ids=repr)
def test_draws_follow_the_distribution(likelihood):

    assert_draws(likelihood, cdf=cdf_of(likelihood))


@pytest.mark.parametrize("likelihood", MEMBERS, ids=repr)
def test_quantiles_are_those_of_the_mixture(likelihood):
    levels = (0.01, 0.3, 0.9)
    assert_quantiles(likelihood, cdf=cdf_of(likelihood), low=-500.0, high=500.0, levels=levels)


@pytest.mark.parametrize("likelihood", MEMBERS, ids=repr)
def test_stored_form_comes_back(likelihood):
    assert_stored(likelihood)


def test_posterior_of_laplace_noise_is_that_of_a_grid():
    y = np.random.default_rng(1).laplace(0.4, 0.3, 25)

    def log_density(bias, own):
        z = np.abs(y - bias[..., None]) / np.exp(own)[..., None]
        return (-z - own[..., None] - math.log(2)).sum(-1)

    spans = ((-0.5, 1.3), (-2.6, 0.2))
    assert_posterior(LaplaceNoise(), torch.as_tensor(y), log_density, spans=spans)


@pytest.mark.parametrize(
    ("name", "common", "by_row"),
    [
        ("gaussian", LearnedGaussian, RowGaussian),
        ("student-t", StudentT, RowStudentT),
        ("laplace", LaplaceNoise, RowLaplaceNoise),
    ],
)
def test_family_builds_what_is_asked_for(name, common, by_row):
    family = registry.family(name, "regression")
    assert family.by_row
    units = family.units(RESPONSE)
    assert type(family.for_response(RESPONSE, units)) is common
    found = family.for_response(RESPONSE._replace(noise="by-row"), units)
    assert type(found) is by_row
    assert found.floor == pytest.approx(0.5 / units.scale / math.sqrt(12), rel=0.3)
    assert type(found.simpler) is by_row
    assert found.simpler.sensitivity < 1e-6


@pytest.mark.parametrize("name", ["student-t", "laplace"])
def test_given_noise_is_for_the_gaussian(name):
    family = registry.family(name, "regression")
    with pytest.raises(InputError, match="Give noise with likelihood gaussian"):
        family.for_response(RESPONSE._replace(noise=0.3), family.units(RESPONSE))


def test_floor_is_the_noise_of_rounding():
    source = np.random.default_rng(0)
    rounded = np.round(source.normal(5, 3, 500))
    assert rounding_floor(rounded) == pytest.approx(1 / math.sqrt(12))
    assert rounding_floor(np.append(rounded, 5.25)) == pytest.approx(1 / math.sqrt(12))
    assert rounding_floor(source.normal(5, 3, 500)) < 1e-3
    assert rounding_floor(np.ones(3)) == 0


def test_rounded_response_does_not_reward_spikes():
    """With a floor, no density exceeds that of one step of the grid by much."""
    y = np.round(np.random.default_rng(0).normal(5.6, 0.8, 200))
    family = registry.family("gaussian", "regression")
    response = Response(y, np.ones(200), noise="by-row")
    units = family.units(response)
    likelihood = family.for_response(response, units)
    z = torch.as_tensor(units.to_network(y))
    output = torch.stack([z, torch.full_like(z, -100.0)], -1)[None]  # predicts y, with no noise
    log_prob = likelihood.log_prob(output, z, torch.zeros(1, 1).double())
    highest = units.log_density(log_prob.numpy()).max()
    assert highest == pytest.approx(math.log(math.sqrt(12 / (2 * math.pi))), abs=1e-6)
    bare = RowGaussian().log_prob(output, z, torch.zeros(1, 1).double())
    assert units.log_density(bare.numpy()).max() > 40


@pytest.mark.parametrize(
    ("name", "member"), [("gaussian", RowGaussian), ("laplace", RowLaplaceNoise)]
)
def test_estimator_fits_noise_by_row(tmp_path, name, member):
    frame = numbers(60)
    assert_estimator(tmp_path, frame["y"].to_numpy(), name, member, noise="by-row")
