"""The posterior as a target: against closed forms and quadrature, in chunks and in factors."""

import math
from dataclasses import replace

import pytest
import torch

from pmcnet import ais, rng
from pmcnet.ais.evaluation import Evaluation
from pmcnet.bnn import (
    MLP,
    BayesianTarget,
    Bernoulli,
    Categorical,
    Gaussian,
    GaussianPrior,
    GeneralisedGaussian,
    LearnedGaussian,
)
from pmcnet.errors import InputError

SIGMA, TAU = 0.4, 1.3


def rows(n=25, d=3):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(n, d, generator=generator, dtype=torch.float64)
    y = x @ torch.arange(1.0, d + 1, dtype=torch.float64) - 0.5
    return x, y + 0.4 * torch.randn(n, generator=generator, dtype=torch.float64)


def linear_gaussian():
    """The target of a linear network; posterior mean, covariance and log Z in closed form."""
    x, y = rows()
    design = torch.cat([x, torch.ones(len(x), 1, dtype=torch.float64)], dim=1)  # weights, then bias
    precision = design.mT @ design / SIGMA**2 + torch.eye(4, dtype=torch.float64) / TAU**2
    covariance = torch.linalg.inv(precision)
    mean = covariance @ design.mT @ y / SIGMA**2
    marginal = SIGMA**2 * torch.eye(len(x), dtype=torch.float64) + TAU**2 * design @ design.mT
    log_evidence = torch.distributions.MultivariateNormal(torch.zeros_like(y), marginal).log_prob(y)
    target = BayesianTarget(MLP((3, 1)), Gaussian(SIGMA), x, y, prior=GaussianPrior(TAU))
    return target, mean, covariance, float(log_evidence)


def test_linear_gaussian_log_density_is_the_closed_form():
    target, mean, covariance, log_evidence = linear_gaussian()
    theta = mean + torch.randn(
        50, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64
    )
    expected = (
        torch.distributions.MultivariateNormal(mean, covariance).log_prob(theta) + log_evidence
    )
    torch.testing.assert_close(target.log_density(theta), expected)


@pytest.mark.parametrize("variant", ["pmcnet", "covfree", "sl-pmc"])
def test_linear_gaussian_posterior_and_evidence(variant):
    target, mean, covariance, log_evidence = linear_gaussian()
    algorithm = ais.VARIANTS[variant]
    loc = torch.randn(20, 4, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    result = ais.run(algorithm, target, algorithm.init(loc, sigma=0.2, seed=0), n_steps=20)
    assert result.verdict.status == "trustworthy"
    assert abs(result.log_evidence - log_evidence) < 5 * result.log_evidence_error + 1e-10
    assert ((result.samples.mean() - mean).abs() < 5 * result.samples.mean_error()).all()
    spread = covariance.diagonal().sqrt()
    error = 5 * torch.outer(spread, spread) * (2 / result.ess) ** 0.5
    assert ((result.samples.covariance() - covariance).abs() < error).all()


@pytest.mark.parametrize("n_inputs", [0, 1])
def test_logistic_regression_equals_quadrature(n_inputs):
    """One logit that is a bias alone, or a slope and a bias: the integral by a fine grid."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(30, 1, generator=generator, dtype=torch.float64) * n_inputs
    y = (2 * x[:, 0] + torch.randn(30, generator=generator, dtype=torch.float64) > 0.3).double()
    target = BayesianTarget(MLP((1, 1)), Bernoulli(), x, y, prior=GaussianPrior(2.0))
    axis = torch.linspace(-14, 14, 701, dtype=torch.float64)
    grid = torch.cartesian_prod(axis, axis)
    log_density = target.log_density(grid)
    log_evidence = float(log_density.logsumexp(0) + 2 * math.log(axis[1] - axis[0]))
    mean = (log_density.softmax(0)[:, None] * grid).sum(0)
    loc = torch.randn(20, 2, generator=generator, dtype=torch.float64)
    result = ais.run(ais.pmcnet, target, ais.pmcnet.init(loc, sigma=1.0, seed=0), n_steps=20)
    assert abs(result.log_evidence - log_evidence) < 5 * result.log_evidence_error
    assert ((result.samples.mean() - mean).abs() < 5 * result.samples.mean_error()).all()


CASES = {
    "gaussian": (MLP((3, 4, 1)), Gaussian(0.5), False),
    "learned": (MLP((3, 4, 1)), LearnedGaussian(), False),
    "robust": (MLP((3, 4, 1)), GeneralisedGaussian(0.5, 1.5), False),
    "bernoulli": (MLP((3, 4, 1)), Bernoulli(), True),
    "categorical": (MLP((3, 4, 3)), Categorical(3), True),
}


@pytest.fixture(params=CASES)
def target(request):
    network, likelihood, classes = CASES[request.param]
    x, y = rows()
    if classes:
        y = (y > 0).double() + (y > 2).double() * (likelihood.n_outputs == 3)
    return BayesianTarget(network, likelihood, x, y, prior=GaussianPrior(TAU), n_batches=4)


def points(target, n=6):
    return target.sample_prior(rng.streams(0, 0, n), 1)[:, 0]


def test_density_is_prior_times_likelihood_row_by_row(target):
    theta = points(target)
    weights, extra = target.parts(theta)
    by_row = torch.zeros(len(theta), dtype=torch.float64)
    for n in range(len(target.x)):
        output = target.network(weights, target.x[n : n + 1])
        by_row += target.likelihood.log_prob(output, target.y[n : n + 1], extra)[:, 0]
    torch.testing.assert_close(target.log_likelihood(theta), by_row)
    torch.testing.assert_close(target.log_density(theta), target.log_prior(theta) + by_row)


def test_factors_sum_to_the_posterior(target):
    theta = points(target)
    value, score = target.value_and_score(theta)
    answers = [factor.value_and_score(theta) for factor in target.factors()]
    assert len(answers) == 4
    torch.testing.assert_close(sum(a.value for a in answers), value)
    torch.testing.assert_close(sum(a.score for a in answers), score)


def test_score_is_the_gradient(target):
    theta = points(target, 2)
    score = target.value_and_score(theta).score
    for d in range(0, target.dim, 5):
        step = torch.zeros(target.dim, dtype=torch.float64)
        step[d] = 1e-6
        slope = (target.log_density(theta + step) - target.log_density(theta - step)) / 2e-6
        torch.testing.assert_close(score[:, d], slope, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("memory", [1, 10_000, 200_000])
def test_chunks_of_rows_and_networks_change_nothing(target, memory):
    theta = points(target, 40)
    small = Evaluation(replace(target, memory=memory))
    whole = Evaluation(target)
    torch.testing.assert_close(small.log_density(theta), whole.log_density(theta))
    torch.testing.assert_close(small.value_and_score(theta), whole.value_and_score(theta))


def test_hessian_is_the_second_derivative():
    target, _, covariance, _ = linear_gaussian()
    theta = torch.zeros(2, 4, dtype=torch.float64)
    torch.testing.assert_close(target.hessian(theta), -torch.linalg.inv(covariance).expand(2, 4, 4))


def test_prior_samples_have_the_prior_density(target):
    draws = target.sample_prior(rng.streams(0, 0, 3), 1000)
    assert draws.shape == (3, 1000, target.dim)
    flat = draws.flatten(0, 1)[:, : target.n_parameters]
    assert abs(float(flat.std()) - TAU) < 5 * TAU / (2 * flat.numel()) ** 0.5


def test_float32_rows_give_float64_sums():
    network, likelihood, _ = CASES["gaussian"]
    x, y = rows()
    target = BayesianTarget(network, likelihood, x.float(), y.float())
    assert target.log_density(torch.zeros(2, target.dim)).dtype == torch.float64


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"y": torch.zeros(3)}, "same number of rows"),
        ({"x": torch.zeros(0, 3), "y": torch.zeros(0)}, "at least one"),
        ({"x": torch.full((25, 3), torch.nan)}, "missing values"),
        ({"x": torch.zeros(25, 3).long()}, "floating-point"),
        ({"n_batches": 0}, "n_batches must lie between 1 and the 25 rows"),
        ({"n_batches": 26}, "n_batches must lie between"),
    ],
)
def test_bad_data_is_refused(change, text):
    target, *_ = linear_gaussian()
    with pytest.raises(InputError, match=text):
        replace(target, **change)


@pytest.mark.parametrize(
    "likelihood", [Gaussian(0.5), LearnedGaussian(), GeneralisedGaussian(0.5, 1.0)]
)
def test_row_weights_count_rows_as_often(likelihood):
    x, y = rows(6)
    weight = torch.tensor([1.0, 2.0, 0.0, 3.0, 1.0, 1.0], dtype=torch.float64)
    repeated = torch.repeat_interleave(torch.arange(6), weight.long())
    target = BayesianTarget(MLP((3, 2, 1)), likelihood, x, y, weight=weight, memory=1)
    plain = BayesianTarget(MLP((3, 2, 1)), likelihood, x[repeated], y[repeated])
    theta = torch.randn(
        4, target.dim, generator=torch.Generator().manual_seed(1), dtype=torch.float64
    )
    weighted, counted = target.value_and_score(theta), plain.value_and_score(theta)
    assert torch.allclose(weighted.value, counted.value)
    assert torch.allclose(weighted.score, counted.score)
    assert torch.allclose(target.log_density(theta), weighted.value)
    factors = replace(target, n_batches=3).factors()
    assert torch.allclose(sum(f.log_density(theta) for f in factors), weighted.value)


def test_weight_of_another_length_is_refused():
    x, y = rows(6)
    with pytest.raises(InputError, match="weight must hold one finite number"):
        BayesianTarget(MLP((3, 2, 1)), Gaussian(0.5), x, y, weight=torch.ones(5))


def test_rows_kept_elsewhere_go_to_the_device_in_chunks():
    x = torch.randn(30, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    y = (x[:, 0] > 0).double()
    here = BayesianTarget(MLP((3, 4, 1)), Bernoulli(), x, y)
    there = BayesianTarget(
        MLP((3, 4, 1)), Bernoulli(), x, y, where=torch.device("cpu"), memory=20000
    )
    theta = torch.randn(
        5, here.dim, generator=torch.Generator().manual_seed(1), dtype=torch.float64
    )
    torch.testing.assert_close(there.log_density(theta), here.log_density(theta))
    torch.testing.assert_close(
        there.value_and_score(theta).score, here.value_and_score(theta).score
    )
    assert there.device == torch.device("cpu")


def test_batch_holds_the_rows_at_its_positions():
    x = torch.arange(12.0).reshape(6, 2)
    target = BayesianTarget(MLP((2, 1)), Bernoulli(), x, torch.zeros(6), weight=torch.arange(6.0))
    batch = target.batch(torch.tensor([4, 1]))
    assert batch.n_rows == 2
    assert torch.equal(batch.x, x[[4, 1]])
    assert torch.equal(batch.weight, torch.tensor([4.0, 1.0]))
