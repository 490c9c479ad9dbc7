import math

import pytest
import torch

from pmcnet import rng
from pmcnet.bnn import (
    MLP,
    BayesianTarget,
    GaussianPrior,
    HierarchicalMLP,
    LearnedGaussian,
    RowGaussian,
)
from pmcnet.errors import InputError

SETTINGS = [
    {},
    {"base": 0.7, "per_input": True},
    {"per_output": True},
    {"base": 2.0, "per_input": True, "per_output": True},
]


def network_of(settings, n_outputs=2):
    return HierarchicalMLP((3, 5, 4, n_outputs), "tanh", **settings)


def rows(n=20, dtype=torch.float64):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(n, 3, generator=generator, dtype=dtype)
    return x, torch.randn(n, generator=generator, dtype=dtype)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_gradients_are_those_of_autograd(settings):
    x, y = rows()
    target = BayesianTarget(network_of(settings), RowGaussian(), x, y)
    theta = 0.5 * torch.randn(
        6, target.dim, generator=torch.Generator().manual_seed(1), dtype=torch.float64
    )
    point = theta.clone().requires_grad_()
    (expected,) = torch.autograd.grad(target.log_density(point).sum(), point)
    found = target.value_and_score(theta)
    torch.testing.assert_close(found.value, target.log_density(theta))
    torch.testing.assert_close(found.score, expected)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_outputs_are_those_of_a_plain_network_with_its_weights(settings):
    network, (x, _) = network_of(settings), rows()
    theta = torch.randn(4, network.layout.dim, dtype=torch.float64)
    plain = MLP(network.sizes, network.activation)
    torch.testing.assert_close(network(theta, x), plain(network.weights(theta), x))


def test_scales_multiply_the_weights_of_their_layer_and_input():
    network = HierarchicalMLP((2, 3, 1), base=0.5, per_input=True)
    theta = torch.ones(1, network.layout.dim, dtype=torch.float64)
    layers = network.layout.unflatten(theta)
    assert layers["log_scales"].shape == (1, 4)  # two layers, two inputs
    theta[:, -4:] = torch.tensor([0.1, 0.2, 0.3, -0.4])
    w = MLP((2, 3, 1)).layout.unflatten(network.weights(theta))
    first = 0.5 / math.sqrt(2) * math.exp(0.1)
    expected = torch.tensor([first * math.exp(0.3), first * math.exp(-0.4)]).double()
    torch.testing.assert_close(w["0.weight"][0], expected.expand(3, 2))
    torch.testing.assert_close(w["0.bias"][0], torch.full((3,), 0.5 * math.exp(0.1)).double())
    second = 0.5 / math.sqrt(3) * math.exp(0.2)
    torch.testing.assert_close(w["2.weight"][0], torch.full((1, 3), second).double())
    torch.testing.assert_close(network.relevance(theta), torch.tensor([[0.3, -0.4]]).double().exp())


def test_prior_draws_have_the_layers_scales():
    network = HierarchicalMLP((4, 50, 1))
    x, y = rows()
    target = BayesianTarget(network, LearnedGaussian(), torch.cat([x, x[:, :1]], 1), y)
    theta = target.sample_prior([rng.stream(0, 0, 0)], 4000)[0]
    assert isinstance(target.prior, GaussianPrior)
    w = target.parts(theta)[0]
    first = network.weights(w)[:, :200].square().mean(1).log() / 2 + 0.5 * math.log(4)
    # log of the root mean square of 200 normal draws, and t ~ N(0, 1) on top
    assert abs(float(first.mean())) < 5 / math.sqrt(4000) + 1 / 200
    assert abs(float(first.std()) - 1) < 0.1


def test_bases_that_are_not_positive_are_refused():
    with pytest.raises(InputError, match="base must be"):
        HierarchicalMLP((2, 1), base=0.0)
