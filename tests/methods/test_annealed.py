"""The annealed sampler on networks: exact on a linear-Gaussian one, honest in its posterior."""

import math

import pytest
import torch

from pmcnet import ais, rng
from pmcnet.bnn import (
    MLP,
    BayesianTarget,
    Bernoulli,
    Gaussian,
    GaussianPrior,
    LearnedGaussian,
    ModuleNetwork,
)
from pmcnet.methods import AnnealedMethod

GENERATOR = torch.Generator().manual_seed(0)
X = torch.randn(30, 4, generator=GENERATOR, dtype=torch.float64)
Y = X @ torch.tensor([1.0, -2.0, 0.5, 0.0]).double() + 0.3 * torch.randn(
    30, generator=GENERATOR, dtype=torch.float64
)
SIGMA, PRIOR = 0.5, 1.5


def linear_target(**settings):
    return BayesianTarget(
        MLP((4, 1)), Gaussian(SIGMA), X, Y, prior=GaussianPrior(PRIOR), **settings
    )


def closed_form():
    """Mean, covariance and log Z of the linear network: y ~ N(A theta, sigma^2 I), A = (x, 1)."""
    a = torch.cat([X, torch.ones(30, 1).double()], dim=1)
    covariance = torch.linalg.inv(a.mT @ a / SIGMA**2 + torch.eye(5).double() / PRIOR**2)
    marginal = PRIOR**2 * a @ a.mT + SIGMA**2 * torch.eye(30).double()
    log_z = torch.distributions.MultivariateNormal(torch.zeros(30).double(), marginal).log_prob(Y)
    return covariance @ a.mT @ Y / SIGMA**2, covariance, float(log_z)


def test_annealed_is_exact_on_a_linear_gaussian_network():
    mean, covariance, log_z = closed_form()
    result = ais.AnnealedPMC(n_particles=1000).run(linear_target(), seed=0)
    square = (result.samples.theta - mean).square()
    assert abs(result.log_evidence - log_z) < 5 * result.log_evidence_error
    assert ((result.samples.mean() - mean).abs() < 5 * result.mean_error()).all()
    spread = result.samples.weight @ square
    assert ((spread - covariance.diagonal()).abs() < 5 * result.mean_error(square)).all()
    assert result.verdict.status == "trustworthy"


def test_posterior_carries_the_evidence_and_the_verdict_of_the_run():
    fit = AnnealedMethod(sampler=ais.AnnealedPMC(n_particles=400)).fit(linear_target(), seed=0)
    posterior, last = fit.posterior, fit.history[-1]
    assert posterior.log_evidence == pytest.approx(last.log_evidence)
    assert posterior.log_evidence_error == last.log_evidence_error
    assert posterior.verdict.status == "trustworthy"
    assert "log Z is known" in posterior.verdict.reason


def test_starved_network_is_not_trusted():
    sampler = ais.AnnealedPMC(tempering=ais.FixedTempering((0.5, 1.0)), n_moves=0)
    assert (
        AnnealedMethod(sampler=sampler).fit(linear_target(), seed=0).posterior.verdict.status
        != "trustworthy"
    )


def test_observers_see_every_temperature():
    seen = []
    sampler = ais.AnnealedPMC(n_particles=100)
    fit = AnnealedMethod(sampler=sampler).fit(
        linear_target(), seed=0, observers=[lambda s, r: seen.append(r)]
    )
    assert tuple(seen) == fit.history


def test_module_and_mlp_give_the_same_run():
    labels = (Y > 0).double()
    network = MLP((4, 3, 1))
    sampler = ais.AnnealedPMC(n_particles=104)
    first = sampler.run(BayesianTarget(network, Bernoulli(), X, labels), seed=0, n_steps=3)
    module = ModuleNetwork(network.module().double())
    second = sampler.run(BayesianTarget(module, Bernoulli(), X, labels), seed=0, n_steps=3)
    assert torch.allclose(first.samples.theta, second.samples.theta, atol=1e-8)


def test_learned_noise_is_found():
    target = BayesianTarget(MLP((4, 1)), LearnedGaussian(), X, Y, prior=GaussianPrior(PRIOR))
    result = ais.AnnealedPMC(n_particles=600).run(target, seed=0)
    log_sigma = result.samples.mean()[-1]
    assert abs(float(log_sigma) - math.log(0.3)) < 0.4


def test_population_on_a_gpu_agrees_with_the_host(device):
    target = BayesianTarget(
        MLP((4, 3, 1)), LearnedGaussian(), X.to(device), Y.to(device), prior=GaussianPrior(PRIOR)
    )
    result = ais.AnnealedPMC(n_particles=400).run(target, seed=0)
    host = ais.AnnealedPMC(n_particles=400).run(
        BayesianTarget(MLP((4, 3, 1)), LearnedGaussian(), X, Y, GaussianPrior(PRIOR)), seed=1
    )
    noise = math.hypot(result.log_evidence_error, host.log_evidence_error)
    assert result.samples.theta.device.type == device.type
    assert abs(result.log_evidence - host.log_evidence) < 5 * noise


def test_recorded_evaluation_equals_the_plain_one(device):
    if device.type == "cpu":
        pytest.skip("recording is for GPUs")
    from pmcnet.ais.path import Path

    target = BayesianTarget(MLP((4, 3, 1)), LearnedGaussian(), X.to(device), Y.to(device))
    path = Path(target)
    for seed in range(3):
        theta = path.draw(rng.streams(seed, 0, 8, device), 64)
        for recorded, plain in zip(path.at(theta), path.start(theta), strict=True):
            assert torch.equal(recorded, plain)
