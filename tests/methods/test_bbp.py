"""The two estimators of Bayes by Backprop's loss: the same expectation, different noise."""

import pytest
import torch
from torch import distributions

from pmcnet.bnn import (
    MLP,
    BayesianTarget,
    Categorical,
    Gaussian,
    GaussianPrior,
    LaplacePrior,
    LayerGaussianPrior,
    LearnedGaussian,
    ModuleNetwork,
    ScaleMixturePrior,
)
from pmcnet.errors import InputError
from pmcnet.methods.bbp import BBP, moments, weight_gradients
from pmcnet.methods.local_reparametrisation import drawn_outputs, local_gradients
from pmcnet.methods.registry import options
from pmcnet.rng import standard_normal, stream

N = 12
LEARNED = LearnedGaussian(-1.0, 0.5)
TWO_LAYERS = MLP((3, 4, 1))


def problem(network=TWO_LAYERS, likelihood=LEARNED, **settings):
    """A target, and the parameters of some Gaussian."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(N, 3, generator=generator, dtype=torch.float64)
    target = BayesianTarget(network, likelihood, x, x[:, 0].sign().clamp(min=0), **settings)
    unit = torch.rand(2, target.dim, generator=generator, dtype=torch.float64)
    return target, torch.stack([2 * unit[0] - 1, unit[1] - 1.5])


def repeated(slopes_of, target, parameters, batch, n=400):
    """The estimate of each slope, and its variance: (2, D) each."""
    q = moments(parameters)
    found = torch.stack(
        [
            slopes_of(target, q, batch, 20, stream(1, repeat, 0), batch.n_rows / N)
            for repeat in range(n)
        ]
    )
    return found.mean(0), found.var(0) / n


@pytest.mark.parametrize(
    "prior",
    [GaussianPrior(0.7), LayerGaussianPrior(0.7), LaplacePrior(0.7), ScaleMixturePrior(0.7)],
    ids=repr,
)
@pytest.mark.parametrize(
    ("network", "likelihood"),
    [(TWO_LAYERS, LEARNED), (MLP((3, 4, 3, 2), "relu"), Categorical(2))],
    ids=repr,
)
def test_estimators_have_the_same_expectation(prior, network, likelihood):
    target, parameters = problem(
        network, likelihood, prior=prior, weight=torch.arange(N).double() / 6
    )
    batch = target.batch(torch.arange(2, 9))
    local, local_error = repeated(local_gradients, target, parameters, batch)
    drawn, drawn_error = repeated(weight_gradients, target, parameters, batch)
    assert ((local - drawn).abs() < 5 * (local_error + drawn_error).sqrt()).all()


def test_local_estimator_has_less_noise():
    target, parameters = problem(likelihood=Gaussian(0.5))
    batch = target.batch(torch.arange(N))
    local, drawn = (
        repeated(f, target, parameters, batch)[1].sum(-1)
        for f in (local_gradients, weight_gradients)
    )
    assert (local < 0.5 * drawn).all()


def test_drawn_outputs_are_those_of_drawn_networks():
    """Row by row: mean and variance of the output, within the draws' own error."""
    target, parameters = problem(likelihood=Gaussian(0.5))
    n, q = 20000, moments(parameters)
    pieces = [
        list(target.network.layout.unflatten(moment).values()) for moment in (q[0], q[1].square())
    ]
    drawn = drawn_outputs(target.network, *pieces, target.x, n, stream(0, 0, 0))[..., 0]  # (S, N)
    theta = q[0] + q[1] * standard_normal([stream(0, 1, 0)], (n, target.dim), like=q)[0]
    expected = target.network(theta, target.x)[..., 0]
    error = ((drawn.var(0) + expected.var(0)) / n).sqrt()
    assert ((drawn.mean(0) - expected.mean(0)).abs() < 5 * error).all()
    squares = [(outputs - outputs.mean(0)).square() for outputs in (drawn, expected)]
    error = sum(square.var(0) / n for square in squares).sqrt()
    assert ((squares[0].mean(0) - squares[1].mean(0)).abs() < 5 * error).all()
    correlation = torch.corrcoef(drawn.mT)  # each row has noise of its own
    assert ((correlation - torch.eye(N)).abs() < 5 / n**0.5 + 1e-12).all()


@pytest.mark.parametrize("prior", [GaussianPrior(0.7), LayerGaussianPrior(0.7)], ids=repr)
def test_divergence_from_a_gaussian_prior_is_exact(prior):
    """With rows that do not count the gradient is that of KL(q || p)."""
    target, parameters = problem(
        likelihood=Gaussian(0.5), prior=prior, weight=torch.zeros(N).double()
    )
    found = BBP(estimator="local", n_draws=1)._gradient(
        target, parameters, target.batch(torch.arange(3)), stream(0, 0, 0)
    )
    free = parameters.clone().requires_grad_()
    mean, deviation = moments(free)
    scales = (
        prior.scales(target.network.layout, mean)
        if isinstance(prior, LayerGaussianPrior)
        else prior.sigma
    )
    q, p = (
        distributions.Normal(mean, deviation),
        distributions.Normal(0.0, scales * torch.ones_like(mean)),
    )
    (expected,) = torch.autograd.grad(distributions.kl_divergence(q, p).sum() * 3 / N, free)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("likelihood", [Gaussian(0.5), LEARNED], ids=repr)
def test_local_estimator_trains_and_its_seed_decides(likelihood):
    target, _ = problem(likelihood=likelihood)
    method = BBP(estimator="local", n_epochs=40, learning_rate=0.03, batch_size=5)
    validation = (target.x, target.y)
    fitted, same = (method.fit(target, seed=0, validation=validation) for _ in range(2))
    assert (fitted.posterior.theta == same.posterior.theta).all()
    assert (fitted.posterior.theta != method.fit(target, seed=1).posterior.theta).any()
    assert fitted.history[-1].validation_loss < fitted.history[0].validation_loss


def test_local_estimator_needs_an_mlp():
    target, _ = problem(ModuleNetwork(TWO_LAYERS.module().double()))
    with pytest.raises(InputError, match="needs an MLP; got a ModuleNetwork"):
        BBP(estimator="local").fit(target, seed=0)


def test_estimator_is_a_setting_by_name():
    assert options("bbp", {"estimator": "local"}, 100).method("bbp").estimator == "local"
    with pytest.raises(InputError, match="estimator must be one of weights, local"):
        options("bbp", {"estimator": "flipout"}, 100)
    with pytest.raises(InputError, match='estimator must be "weights" or "local"'):
        BBP(estimator="flipout")
