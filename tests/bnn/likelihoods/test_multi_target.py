"""Several targets per row, independent given the network."""

import math

import numpy as np
import pytest
import torch

from bnn.likelihoods.family_checks import (
    FIVE,
    assert_finite_far_away,
    assert_gradients,
    assert_stored,
    points,
)
from pmcnet import ais
from pmcnet.bnn import MLP, BayesianTarget, Gaussian, LearnedGaussian, RowGaussian
from pmcnet.bnn.likelihoods import registry
from pmcnet.bnn.likelihoods.multi_target import MultiGaussian, MultiStudentT
from pmcnet.bnn.likelihoods.response import Response
from pmcnet.bnn.likelihoods.shaped_noise import RowStudentT, StudentT
from pmcnet.errors import InputError
from pmcnet.rng import stream

MEMBERS = [
    MultiGaussian((LearnedGaussian(), LearnedGaussian(-1.0, 0.5))),
    MultiGaussian((RowGaussian(floor=0.1), RowGaussian(), RowGaussian(sensitivity=0.8))),
    MultiGaussian((Gaussian(0.3), Gaussian(2.0))),
    MultiStudentT((StudentT(), StudentT())),
    MultiStudentT((RowStudentT(floor=0.1), RowStudentT())),
]


def data(likelihood, n_rows=30, seed=0):
    source = np.random.default_rng(seed)
    return torch.as_tensor(source.standard_normal((n_rows, likelihood.n_targets)))


def apart(likelihood, output, extra):
    """Each target's likelihood with its own outputs and own parameters."""
    c = e = 0
    for part in likelihood.parts:
        yield part, output[..., c : c + part.n_outputs], extra[:, e : e + part.n_extra]
        c, e = c + part.n_outputs, e + part.n_extra


@pytest.mark.parametrize("likelihood", MEMBERS, ids=repr)
def test_density_and_moments_are_those_of_the_targets(likelihood):
    y = data(likelihood)
    output, extra = points(likelihood, 3, len(y))
    mean = likelihood.mean(output, extra)
    noise = likelihood.aleatoric(mean, output, extra)
    noise = noise.expand(mean.shape)
    log_prob = torch.zeros(3, len(y), dtype=torch.float64)
    for t, (part, own, own_extra) in enumerate(apart(likelihood, output, extra)):
        log_prob += part.log_prob(own, y[:, t], own_extra)
        assert torch.equal(mean[..., t], own[..., 0])
        expected = part.aleatoric(mean[..., t : t + 1], own, own_extra).expand(3, len(y))
        assert torch.equal(noise[..., t], expected)
    torch.testing.assert_close(likelihood.log_prob(output, y, extra), log_prob)


@pytest.mark.parametrize("likelihood", MEMBERS, ids=repr)
def test_gradients_are_derivatives(likelihood):
    assert_gradients(likelihood, data(likelihood))
    assert_finite_far_away(likelihood, data(likelihood), farthest=1e3)


@pytest.mark.parametrize("likelihood", MEMBERS, ids=repr)
def test_quantiles_are_those_of_each_targets_mixture(likelihood):
    output, extra = points(likelihood, 7, 4)
    weight = torch.rand(7, generator=torch.Generator().manual_seed(0)).double()
    weight /= weight.sum()
    levels = (0.05, 0.5, 0.9)
    found = likelihood.quantiles(output, extra, weight, levels)
    assert found.shape == (4, 3, likelihood.n_targets)
    for t, (part, own, own_extra) in enumerate(apart(likelihood, output, extra)):
        assert torch.equal(found[..., t], part.quantiles(own, own_extra, weight, levels))


@pytest.mark.parametrize("likelihood", MEMBERS, ids=repr)
def test_draws_have_the_moments_of_each_target_and_independent_noise(likelihood):
    n = 40_000
    output, extra = points(likelihood, 2, 1)
    extra = likelihood.from_normal(torch.full_like(extra, 0.5))  # moments of t noise converge
    output = output.expand(2, n, likelihood.n_outputs)
    draws = likelihood.sample(output, extra, stream(0, 0, 0))  # (2, n, T)
    assert draws.shape == (2, n, likelihood.n_targets)
    mean = likelihood.mean(output[:, :1], extra)
    variance = likelihood.aleatoric(mean, output[:, :1], extra)
    z = (draws - mean) / variance.sqrt()
    assert (z.mean(1).abs() < 5 / math.sqrt(n)).all()
    assert ((z.square().mean(1) - 1).abs() < 5 * z.square().std(1) / math.sqrt(n)).all()
    product = z[..., 0] * z[..., 1]
    assert (product.mean(1).abs() < 5 * product.std(1) / math.sqrt(n)).all()


@pytest.mark.parametrize("likelihood", MEMBERS, ids=repr)
def test_stored_form_comes_back(likelihood):
    assert_stored(likelihood)


@pytest.mark.parametrize("likelihood", MEMBERS, ids=repr)
def test_linear_network_has_the_density_of_separate_regressions(likelihood):
    """Prior included: what no target shares factorises, so posteriors and log Z do as well."""
    source = torch.Generator().manual_seed(1)
    x, y = torch.randn(30, 3, generator=source).double(), data(likelihood)
    joint = BayesianTarget(MLP((3, likelihood.n_outputs)), likelihood, x, y)
    theta = torch.randn(6, joint.dim, generator=source).double()
    weights, extra = joint.parts(theta)
    matrix, bias = weights[:, : 3 * likelihood.n_outputs], weights[:, 3 * likelihood.n_outputs :]
    matrix = matrix.reshape(6, likelihood.n_outputs, 3)
    expected, first = torch.zeros(6, dtype=torch.float64), 0
    for t, part in enumerate(likelihood.parts):
        own = slice(first, first + part.n_outputs)
        first += part.n_outputs
        own_extra = [e for p, _, e in apart(likelihood, bias[:, None], extra)][t]
        single = BayesianTarget(MLP((3, part.n_outputs)), part, x, y[:, t])
        point = torch.cat([matrix[:, own].flatten(1), bias[:, own], own_extra], 1)
        expected += single.log_density(point)
    torch.testing.assert_close(joint.log_density(theta), expected)


def test_posterior_of_a_linear_network_is_that_of_separate_conjugate_regressions():
    source, sigmas = np.random.default_rng(3), (0.5, 1.0)
    design = np.column_stack([source.standard_normal(25), np.ones(25)])
    y = design @ source.standard_normal((2, 2)) + source.standard_normal((25, 2)) * sigmas
    x = torch.as_tensor(design[:, :1])
    likelihood = MultiGaussian(tuple(map(Gaussian, sigmas)))
    target = BayesianTarget(MLP((1, 2)), likelihood, x, torch.as_tensor(y))
    result = ais.Islands().run(target, seed=0)
    log_z, means, variances = 0.0, [], []
    for values, sigma in zip(y.T, sigmas, strict=True):
        covariance = np.linalg.inv(np.eye(2) + design.T @ design / sigma**2)
        means.append(covariance @ design.T @ values / sigma**2)
        variances.append(np.diag(covariance))
        marginal = np.eye(25) * sigma**2 + design @ design.T
        _, log_det = np.linalg.slogdet(2 * math.pi * marginal)
        log_z += -0.5 * (values @ np.linalg.solve(marginal, values) + log_det)
    mean, variance = (torch.as_tensor(np.array(part).T.ravel()) for part in (means, variances))
    draws = result.islands  # weights of both targets, then biases
    for value, exact in ((draws, mean), ((draws - mean).square(), variance)):
        each = value.mean(1)
        error = each.std(0) / math.sqrt(len(each))
        assert ((each.mean(0) - exact).abs() < FIVE * error).all()
        assert (error < 0.1 * variance.sqrt()).all()
    assert abs(result.log_evidence - log_z) < 5 * result.log_evidence_error
    assert result.log_evidence_error < 0.2


def test_family_builds_a_member_for_each_target_in_its_own_units():
    y = np.array([[1.0, 100.0], [2.5, 300.0], [3.0, 250.0], [4.5, 900.0]])
    response = Response(y, np.ones(4), noise="by-row")
    family = registry.family("multi-gaussian", "regression")
    units = family.units(response)
    assert units.shape == (2,)
    assert np.allclose(units.to_network(y).std(0), 1)
    found = family.for_response(response, units)
    one = registry.family("gaussian", "regression")
    for t, part in enumerate(found.parts):
        alone = response._replace(y=y[:, t])
        assert part == one.for_response(alone, one.units(alone))
    assert found.simpler == MultiGaussian(tuple(part.simpler for part in found.parts))
    known = family.for_response(response._replace(noise=2.0), units)
    assert [part.sigma for part in known.parts] == list(2.0 / units.scale)
    log_density = units.log_density(np.zeros(3))
    assert np.allclose(log_density, -np.log(y.std(0)).sum())


def test_one_target_is_refused():
    family = registry.family("multi-student-t", "regression")
    with pytest.raises(InputError, match=r"several targets per row.*\(4,\)"):
        family.units(Response(np.arange(4.0), np.ones(4)))
    likelihood = MEMBERS[0]
    output, extra = points(likelihood, 2, 5)
    with pytest.raises(InputError, match="must be 2 numbers per row"):
        likelihood.log_prob(output, torch.zeros(5, 3).double(), extra)
