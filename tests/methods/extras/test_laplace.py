"""Laplace's approximation where it is exact or its answer is known."""

import pytest
import torch
from torch.distributions import MultivariateNormal

from pmcnet import PMCNetRegressor, requirements
from pmcnet.bnn import (
    MLP,
    BayesianTarget,
    Bernoulli,
    Categorical,
    Gaussian,
    GaussianPrior,
    LaplacePrior,
    LayerGaussianPrior,
    LearnedGaussian,
    ModuleNetwork,
)
from pmcnet.errors import InputError
from pmcnet.methods.extras.laplace import LaplaceMethod

pytestmark = pytest.mark.skipif(
    not LaplaceMethod().library.installed,
    reason="laplace-torch is not installed: pip install 'pmcnet[laplace]'",
)
N, N_DRAWS = 60, 20_000


def rows(seed=0):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(N, 3, generator=generator, dtype=torch.float64)
    x[:, 1] += 0.5 * x[:, 0]
    return x, x @ torch.tensor([1.0, -1.0, 0.5]).double() + 0.3 + 0.5 * torch.randn(
        N, generator=generator
    ).double()


def hidden(likelihood, y, n_outputs=1, activation="tanh"):
    return BayesianTarget(
        MLP((3, 4, n_outputs), activation), likelihood, rows()[0], y, prior=GaussianPrior(0.7)
    )


def assert_moments(theta, mean, covariance):
    """Within five standard errors, rounding of the curvature aside."""
    scale = covariance.diagonal().sqrt()
    assert ((theta.mean(0) - mean).abs() < 5 * scale / N_DRAWS**0.5 + 1e-5).all()
    found = torch.cov(theta.mT)
    error = ((covariance**2 + torch.outer(scale, scale) ** 2) / N_DRAWS).sqrt()
    assert ((found - covariance).abs() < 5 * error + 1e-5).all()


@pytest.mark.parametrize("subset", ["all", "last-layer"])
@pytest.mark.parametrize("prior", [GaussianPrior(0.8), LayerGaussianPrior(1.3)])
def test_linear_gaussian_posterior_is_exact(subset, prior):
    x, y = rows()
    target = BayesianTarget(MLP((3, 1)), Gaussian(0.5), x, y, prior=prior)
    design = torch.cat([x, torch.ones(N, 1).double()], 1)
    precision = design.mT @ design / 0.25 - torch.diag(
        prior.score(torch.ones(1, 4).double(), MLP((3, 1)).layout)[0]
    )
    mean = torch.linalg.solve(precision, design.mT @ y / 0.25)
    fitted = LaplaceMethod(subset=subset, n_kept=N_DRAWS).fit(target, seed=0)
    assert_moments(fitted.posterior.theta, mean, torch.linalg.inv(precision))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_linear_classifier_has_the_hessian_at_its_mode(n_classes):
    x, y = rows()
    labels = torch.bucketize(
        y, torch.tensor([0.0] if n_classes == 2 else [-0.5, 0.7]).double()
    ).double()
    likelihood = Bernoulli() if n_classes == 2 else Categorical(3)
    target = BayesianTarget(
        MLP((3, likelihood.n_outputs)), likelihood, x, labels, prior=GaussianPrior(1.5)
    )
    mode = torch.zeros(1, target.dim).double()
    for _ in range(30):  # Newton's method: log pi is concave
        mode = mode - torch.linalg.solve(
            target.hessian(mode)[0], target.value_and_score(mode).score[0]
        )
    theta = LaplaceMethod(n_kept=N_DRAWS).fit(target, seed=1).posterior.theta
    assert_moments(theta, mode[0], torch.linalg.inv(-target.hessian(mode)[0]))


def test_learned_noise_is_that_of_the_evidence():
    """Of a linear network, whose evidence N(y; 0, sigma^2 I + tau^2 X X^T) is known."""
    x, y = rows()
    likelihood = LearnedGaussian(log_sigma_mean=-1.0, log_sigma_std=1.0)
    target = BayesianTarget(MLP((3, 1)), likelihood, x, y, prior=GaussianPrior(0.8))
    design = torch.cat([x, torch.ones(N, 1).double()], 1)
    grid = torch.linspace(-1.5, 0.5, 401).double()
    spread = 0.64 * design @ design.mT
    evidence = [
        MultivariateNormal(torch.zeros(N).double(), spread + (2 * s).exp() * torch.eye(N)).log_prob(
            y
        )
        for s in grid
    ]
    best = grid[(torch.stack(evidence) + likelihood.log_prior(grid[:, None])).argmax()]
    theta = LaplaceMethod().fit(target, seed=0).posterior.theta
    assert (theta[:, -1] == theta[0, -1]).all()
    assert float(theta[0, -1]) == pytest.approx(float(best), abs=0.01)


def test_last_layer_is_the_only_one_that_varies():
    theta = LaplaceMethod().fit(hidden(Gaussian(0.5), rows()[1]), seed=0).posterior.theta
    assert (theta[:, :16] == theta[0, :16]).all()
    assert (theta.std(0)[16:] > 0.01).all()


@pytest.mark.parametrize("structure", ["full", "kron", "diag"])
@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_structures_have_the_same_mode(structure, activation):
    target = hidden(Bernoulli(), (rows()[1] > 0).double(), activation=activation)
    method = LaplaceMethod(subset="all", structure=structure, n_kept=4000)
    theta = method.fit(target, seed=0).posterior.theta
    mode = LaplaceMethod(n_kept=1).fit(target, seed=0).posterior.theta[0, :16]
    spread = theta.std(0)[:16]
    assert ((theta.mean(0)[:16] - mode).abs() < 5 * spread / 4000**0.5 + 1e-9).all()
    assert (spread <= 0.7 * 1.1).all()


def test_row_that_counts_twice_is_the_row_twice():
    x, y = rows()
    count = torch.ones(N).double()
    count[:10] = 2
    once = BayesianTarget(MLP((3, 2, 1)), Gaussian(0.5), x, y, weight=count)
    twice = BayesianTarget(
        MLP((3, 2, 1)),
        Gaussian(0.5),
        x.repeat_interleave(count.long(), 0),
        y.repeat_interleave(count.long()),
    )
    found = [LaplaceMethod().fit(target, seed=0).posterior.theta for target in (once, twice)]
    assert torch.equal(*found)
    with pytest.raises(InputError, match="counts rows whole"):
        LaplaceMethod().fit(
            BayesianTarget(MLP((3, 1)), Gaussian(0.5), x, y, weight=count / 3), seed=0
        )


def test_any_module_is_approximated():
    x = torch.randn(30, 1, 4, 4, generator=torch.Generator().manual_seed(0))
    module = torch.nn.Sequential(
        torch.nn.Conv2d(1, 2, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8, 3)
    )
    before = [parameter.clone() for parameter in module.parameters()]
    target = BayesianTarget(
        ModuleNetwork(module), Categorical(3), x, torch.arange(30).remainder(3).float()
    )
    for subset in ("last-layer", "all"):
        posterior = LaplaceMethod(subset=subset, n_iterations=40).fit(target, seed=0).posterior
        assert posterior.predict(x).mean.shape == (30, 3)
    assert all(torch.equal(a, b) for a, b in zip(before, module.parameters(), strict=True))
    assert all(parameter.requires_grad for parameter in module.parameters())


def test_global_generator_is_not_touched():
    state = torch.get_rng_state()
    LaplaceMethod(n_iterations=20).fit(hidden(Gaussian(0.5), rows()[1]), seed=0)
    assert torch.equal(torch.get_rng_state(), state)


def test_prior_must_be_gaussian():
    x, y = rows()
    with pytest.raises(InputError, match="needs a Gaussian prior"):
        LaplaceMethod().fit(
            BayesianTarget(MLP((3, 1)), Gaussian(0.5), x, y, prior=LaplacePrior()), seed=0
        )


def test_model_file_is_loaded_without_the_library(tmp_path, monkeypatch):
    x, y = rows()
    model = PMCNetRegressor(
        (2,), method="laplace", prior_std=1.0, random_state=0, device="cpu"
    ).fit(x.numpy(), y.numpy())
    place = model.save(tmp_path / "m")
    monkeypatch.setattr(requirements, "find_spec", lambda module: None)
    assert (
        PMCNetRegressor.load(place, device="cpu").predict(x.numpy()) == model.predict(x.numpy())
    ).all()
