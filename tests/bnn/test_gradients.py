"""Derivatives written out by hand against automatic differentiation."""

import pytest
import torch

from pmcnet.bnn import (
    MLP,
    BayesianTarget,
    Bernoulli,
    Categorical,
    Gaussian,
    GaussianPrior,
    GeneralisedGaussian,
    LaplacePrior,
    LayerGaussianPrior,
    LearnedGaussian,
)
from pmcnet.bnn.networks.mlp import ACTIVATIONS
from pmcnet.errors import InputError
from pmcnet.rng import stream

GENERATOR = torch.Generator().manual_seed(0)
X = torch.randn(7, 3, generator=GENERATOR, dtype=torch.float64)
LIKELIHOODS = [
    (Gaussian(0.7), X[:, 0]),
    (LearnedGaussian(), X[:, 0]),
    (GeneralisedGaussian(0.5, 1.5), X[:, 0]),
    (Bernoulli(), (X[:, 0] > 0).double()),
    (Categorical(4), torch.tensor([0, 3, 1, 2, 2, 0, 1]).double()),
]


@pytest.mark.parametrize(("likelihood", "y"), LIKELIHOODS, ids=lambda value: type(value).__name__)
def test_likelihood_gradients_are_derivatives(likelihood, y):
    output = torch.randn(
        5, 7, likelihood.n_outputs, generator=GENERATOR, dtype=torch.float64, requires_grad=True
    )
    extra = torch.randn(
        5, likelihood.n_extra, generator=GENERATOR, dtype=torch.float64, requires_grad=True
    )
    log_prob = likelihood.log_prob(output, y, extra)
    expected = torch.autograd.grad(log_prob.sum(), (output, extra), materialize_grads=True)
    with torch.no_grad():
        mine = likelihood.gradients(output, y, extra)
    assert torch.allclose(mine.log_prob, log_prob)
    assert torch.allclose(mine.output, expected[0])
    assert torch.allclose(mine.extra.sum(1), expected[1])


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("sizes", [(3, 2), (3, 4, 2), (3, 4, 5, 1)])
def test_network_gradient_is_that_of_automatic_differentiation(activation, sizes):
    network = MLP(sizes, activation)
    theta = torch.randn(
        6, network.layout.dim, generator=GENERATOR, dtype=torch.float64, requires_grad=True
    )
    output = network(theta, X)
    gradient = torch.randn(output.shape, generator=GENERATOR, dtype=torch.float64)
    (expected,) = torch.autograd.grad((output * gradient).sum(), theta)
    with torch.no_grad():
        mine, vjp = network.differentiable(theta, X)
    assert torch.equal(mine, output)
    assert torch.allclose(vjp(gradient), expected)


@pytest.mark.parametrize(("likelihood", "y"), LIKELIHOODS, ids=lambda value: type(value).__name__)
def test_target_scores_are_gradients_and_add_up(likelihood, y):
    target = BayesianTarget(MLP((3, 4, likelihood.n_outputs)), likelihood, X, y, memory=1 << 14)
    theta = torch.randn(6, target.dim, generator=GENERATOR, dtype=torch.float64, requires_grad=True)
    prior, like, whole = (
        f(theta.detach())
        for f in (target.prior_and_score, target.likelihood_and_score, target.value_and_score)
    )
    for part, function in (
        (prior, target.log_prior),
        (like, target.log_likelihood),
        (whole, target.log_density),
    ):
        value = function(theta)
        assert torch.allclose(part.value, value)
        assert torch.allclose(part.score, torch.autograd.grad(value.sum(), theta)[0])


def test_monitors_are_predictions_of_some_rows():
    target = BayesianTarget(MLP((3, 4, 1)), Bernoulli(), X, (X[:, 0] > 0).double())
    theta = torch.randn(6, target.dim, generator=GENERATOR, dtype=torch.float64)
    monitors = target.monitor(theta)
    assert monitors.shape == (6, 14)
    assert torch.allclose(monitors.reshape(6, 7, 2).sum(-1), torch.ones(6, 7).double())


@pytest.mark.parametrize(
    "prior", [GaussianPrior(1.7), LayerGaussianPrior(0.6), LaplacePrior(1.3)], ids=repr
)
def test_prior_scale_gradient_is_a_derivative(prior):
    layout = MLP((3, 4, 1)).layout
    theta = torch.randn(6, layout.dim, generator=GENERATOR, dtype=torch.float64)
    step = 1e-5
    up, down = (
        prior.rescaled(prior.sigma * (1 + e)).log_prob(theta, layout) for e in (step, -step)
    )
    assert torch.allclose(prior.scale_gradient(theta, layout), (up - down) / (2 * step), rtol=1e-6)


@pytest.mark.parametrize(("likelihood", "y"), LIKELIHOODS, ids=lambda value: type(value).__name__)
def test_single_precision_inputs_with_double_targets(likelihood, y):
    target = BayesianTarget(MLP((3, 4, likelihood.n_outputs)), likelihood, X.float(), y)
    answer = target.value_and_score(torch.zeros(2, target.dim))
    assert answer.value.dtype == torch.float64
    assert answer.score.dtype == torch.float32


def test_network_with_the_wrong_number_of_outputs_is_refused():
    with pytest.raises(InputError, match="needs a network with 1 outputs"):
        BayesianTarget(MLP((3, 4, 2)), Gaussian(1.0), X, X[:, 0])


def test_factors_have_no_draws():
    target = BayesianTarget(MLP((3, 4, 1)), Gaussian(1.0), X, X[:, 0], n_batches=2)
    with pytest.raises(InputError, match="share of the prior"):
        target.factors()[0].sample_prior([stream(0, 0, 0)], 3)
