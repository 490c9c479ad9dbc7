"""The compiled pass over the rows against torch, which it stands in for."""

import logging
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pmcnet import threads
from pmcnet.bnn import MLP, BayesianTarget
from pmcnet.bnn.batch import Batch
from pmcnet.bnn.kernels import fused_mlp
from pmcnet.bnn.likelihoods.categorical import Bernoulli, Categorical
from pmcnet.bnn.likelihoods.gaussian import Gaussian, LearnedGaussian, RowGaussian
from pmcnet.bnn.likelihoods.generalised_gaussian import GeneralisedGaussian
from pmcnet.bnn.likelihoods.shaped_noise import RowStudentT, StudentT
from pmcnet.bnn.networks.mlp import ACTIVATIONS

pytest.importorskip("numba", reason="the compiled pass needs numba")

LIKELIHOODS = [
    Gaussian(0.5),
    LearnedGaussian(),
    GeneralisedGaussian(0.7, 1.4),
    Bernoulli(),
    Categorical(3),
    Categorical(10),
    RowGaussian(sensitivity=0.8),
    RowGaussian(sensitivity=0.8, floor=0.3),
    StudentT(),  # the kernel does not know it: two passes
    RowStudentT(sensitivity=0.3),
]


def problem(sizes, likelihood, activation, n_rows, n_networks, dtype, seed=0, weighted=False):
    """A target with random data, and random networks for it."""
    source = torch.Generator().manual_seed(seed)
    network = MLP((*sizes, likelihood.n_outputs), activation)
    x = torch.randn(n_rows, sizes[0], generator=source).to(dtype)
    y = torch.randn(n_rows, generator=source).to(dtype)
    if likelihood.n_classes:
        y = torch.randint(likelihood.n_classes, (n_rows,), generator=source).to(dtype)
    weight = None
    if weighted:  # some rows do not count
        weight = (torch.rand(n_rows, generator=source) * 3 - 0.5).clamp(min=0).to(dtype)
    target = BayesianTarget(network, likelihood, x, y, weight=weight)
    theta = torch.randn(n_networks, target.dim, generator=source).to(dtype)
    return target, theta / math.sqrt(max(network.sizes))


def by_torch(target, theta):
    return target._batch_value_and_score(theta, Batch(target.x, target.y, target.weight))


def assert_close(found, expected, dtype):
    eps = torch.finfo(dtype).eps
    size = 1 + expected.value.abs().max()
    assert (found.value - expected.value).abs().max() <= 200 * eps * size
    size = 1 + expected.score.abs().max()
    assert (found.score - expected.score).abs().max() <= 400 * eps * size


@settings(max_examples=120, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 20), min_size=1, max_size=4),
    likelihood=st.sampled_from(LIKELIHOODS),
    activation=st.sampled_from(sorted(ACTIVATIONS)),
    n_rows=st.integers(1, 1300),
    n_networks=st.integers(1, 9),
    dtype=st.sampled_from([torch.float32, torch.float64]),
    weighted=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_values_and_gradients_are_those_of_torch(
    sizes, likelihood, activation, n_rows, n_networks, dtype, weighted, seed
):
    target, theta = problem(
        sizes, likelihood, activation, n_rows, n_networks, dtype, seed, weighted
    )
    assert target.fused(theta) is not None
    found, expected = target.likelihood_and_score(theta), by_torch(target, theta)
    assert found.score.dtype == dtype
    assert found.value.dtype == torch.float64
    assert_close(found, expected, dtype)
    assert torch.equal(target.log_likelihood(theta), found.value)
    weights = target.parts(theta)[0]
    outputs = target.network._passed(weights, target.x)[0][-1].mT
    assert torch.allclose(
        target.network(weights, target.x), outputs, atol=300 * torch.finfo(dtype).eps
    )


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=repr)
def test_float64_gradients_are_right_to_the_last_digits(likelihood):
    target, theta = problem((8, 24, 24), likelihood, "tanh", 600, 3, torch.float64)
    found, expected = target.likelihood_and_score(theta), by_torch(target, theta)
    assert torch.allclose(found.score, expected.score, rtol=1e-11, atol=1e-11)
    assert torch.allclose(found.value, expected.value, rtol=1e-14)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=repr)
@pytest.mark.parametrize("activation", sorted(ACTIVATIONS))
def test_parameters_that_are_no_numbers_stay_visible(likelihood, activation, bad):
    target, theta = problem((4, 6), likelihood, activation, 50, 3, torch.float32)
    last = target.network.layout[-1]  # the bias of the outputs
    theta[1, last.start] = bad
    found, expected = target.likelihood_and_score(theta), by_torch(target, theta)
    assert not found.value[1].isfinite()
    assert (found.value[1] == torch.inf) == (expected.value[1] == torch.inf)
    assert found.value[[0, 2]].isfinite().all()
    assert found.score[[0, 2]].isfinite().all()


@pytest.mark.parametrize("activation", sorted(ACTIVATIONS))
def test_hidden_parameters_that_are_not_numbers_make_values_nan(activation):
    target, theta = problem((4, 6, 5), Gaussian(1.0), activation, 50, 3, torch.float32)
    theta[1, 0] = math.nan
    value, score = target.likelihood_and_score(theta)
    assert value[1].isnan()
    assert score[1].isnan().any()
    assert value[[0, 2]].isfinite().all()


@pytest.mark.parametrize("size", [1e3, 1e18])
@pytest.mark.parametrize("likelihood", [Bernoulli(), Categorical(3), Gaussian(1.0)], ids=repr)
def test_large_parameters_give_the_values_of_torch(likelihood, size):
    target, theta = problem((4, 6), likelihood, "tanh", 50, 3, torch.float32)
    found, expected = target.log_likelihood(size * theta), by_torch(target, size * theta).value
    assert torch.allclose(found, expected, rtol=1e-4)


def test_rows_of_weight_zero_count_for_nothing():
    target, theta = problem((3, 5), LearnedGaussian(), "tanh", 70, 4, torch.float32)
    weight = torch.ones(70)
    weight[40:] = 0
    half = BayesianTarget(target.network, target.likelihood, target.x, target.y, weight=weight)
    found, expected = half.likelihood_and_score(theta), target.at(slice(0, 40))
    assert_close(found, expected.likelihood_and_score(theta), torch.float32)


@pytest.mark.parametrize("n_rows", [300, 20_000])
@pytest.mark.parametrize("n_networks", [1, 3, 50])
def test_bits_depend_neither_on_threads_nor_on_the_other_networks(n_rows, n_networks):
    target, theta = problem((6, 9), LearnedGaussian(), "tanh", n_rows, 50, torch.float32)
    before = torch.get_num_threads()
    found = []
    for n_threads in (1, 2, 5):
        torch.set_num_threads(n_threads)
        found.append(target.likelihood_and_score(theta[:n_networks]))
        found.append(target.log_likelihood(theta[:n_networks]))
    torch.set_num_threads(before)
    whole = target.likelihood_and_score(theta)
    for value_and_score, value in zip(found[::2], found[1::2], strict=True):
        assert torch.equal(value, whole.value[:n_networks])
        assert torch.equal(value_and_score.value, whole.value[:n_networks])
        assert torch.equal(value_and_score.score, whole.score[:n_networks])


def test_pieces_leave_torch_as_it_was():
    target, theta = problem((6, 9), Gaussian(1.0), "tanh", 2000, 60, torch.float32)
    before = torch.get_num_threads()
    with threads.coarse():
        assert torch.get_num_threads() == 1
        target.likelihood_and_score(theta)
    assert torch.get_num_threads() == before


def test_parameters_to_be_differentiated_are_left_to_torch():
    target, theta = problem((3, 5), Gaussian(1.0), "tanh", 30, 2, torch.float64)
    point = theta.clone().requires_grad_()
    (score,) = torch.autograd.grad(target.log_likelihood(point).sum(), point)
    assert torch.allclose(score, target.likelihood_and_score(theta).score)
    by_transform = torch.func.grad(lambda t: target.log_likelihood(t[None])[0])(theta[0])
    assert torch.allclose(by_transform, score[0])


def test_subclasses_of_likelihoods_are_left_to_torch():
    class Doubled(Gaussian):
        def log_prob(self, output, y, extra):
            return 2 * super().log_prob(output, y, extra)

    target, theta = problem((3, 5), Doubled(1.0), "tanh", 30, 2, torch.float64)
    assert target.fused(theta)
    assert not fused_mlp.knows(target.likelihood)
    plain, _ = problem((3, 5), Gaussian(1.0), "tanh", 30, 2, torch.float64)
    assert torch.allclose(target.log_likelihood(theta), 2 * plain.log_likelihood(theta))


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [((8, 16, 1), True), ((33, 5, 3), True), ((10, 1000, 1), True), ((784, 100, 10), False)],
)
def test_wide_inputs_are_left_to_the_matrix_products_of_torch(sizes, expected):
    assert fused_mlp.faster(fused_mlp.Layers(sizes, "tanh")) is expected


def test_without_numba_torch_evaluates_and_the_log_says_so_once(monkeypatch, caplog):
    target, theta = problem((3, 5), Gaussian(1.0), "tanh", 30, 2, torch.float32)
    expected = target.likelihood_and_score(theta)
    monkeypatch.setitem(__import__("sys").modules, "pmcnet.bnn.kernels.code_cache", None)
    fused_mlp._kernel.cache_clear()
    try:
        with caplog.at_level(logging.WARNING, "pmcnet.kernels"):
            for _ in range(2):
                plain, _ = problem((3, 5), Gaussian(1.0), "tanh", 30, 2, torch.float32)
                assert plain.fused(theta) is None
                assert_close(plain.likelihood_and_score(theta), expected, torch.float32)
    finally:
        fused_mlp._kernel.cache_clear()
    assert [r.message for r in caplog.records if "numba" in r.message] == caplog.messages
    assert len(caplog.messages) == 1


@pytest.mark.parametrize(("n_networks", "n_rows"), [(2, 0), (0, 3), (0, 0)])
def test_no_networks_or_no_rows_have_no_outputs(n_networks, n_rows):
    network = MLP((3, 5, 2))
    theta, x = torch.zeros(n_networks, network.layout.dim), torch.zeros(n_rows, 3)
    assert network(theta, x).shape == (n_networks, n_rows, 2)


def test_blocks_of_rows_are_summed_exactly():
    """A value of many rows in float32 is as good as its terms."""
    target, theta = problem((5, 7), Gaussian(0.1), "tanh", 60_000, 2, torch.float32)
    double = BayesianTarget(target.network, Gaussian(0.1), target.x.double(), target.y.double())
    expected = by_torch(double, theta.double())
    found = target.likelihood_and_score(theta)
    assert ((found.value - expected.value) / expected.value).abs().max() < 2e-7
    error = (found.score - expected.score).abs().amax(1) / expected.score.abs().amax(1)
    assert error.max() < 2e-6
