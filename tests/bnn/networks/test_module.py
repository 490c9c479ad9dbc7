"""Modules as networks of a population: together or alone, normalisation, precision, compiling."""

import pickle

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from pmcnet.bnn import (
    BayesianTarget,
    Categorical,
    LeNet5,
    ModuleNetwork,
    ResNet20,
    ResNet20FRN,
    WideConv2d,
    at_prior_length,
)
from pmcnet.bnn.networks.banded_conv import banded
from pmcnet.bnn.networks.compilation import Compiled
from pmcnet.bnn.networks.layers import n_numbers
from pmcnet.bnn.networks.wide_conv import joined, wide
from pmcnet.errors import InputError

LARGE = 10**6


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def small_module(*, batch_norm=False):
    torch.manual_seed(0)
    norm = nn.BatchNorm2d(3) if batch_norm else nn.Identity()
    return nn.Sequential(
        nn.Conv2d(1, 3, 3), norm, nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(12, 4)
    ).double()


def images(n=7, seed=1):
    return torch.randn(n, 1, 6, 6, generator=generator(seed), dtype=torch.float64)


def points(network, n=3):
    return network.initial() + 0.1 * torch.randn(
        n, network.layout.dim, generator=generator(2), dtype=torch.float64
    )


def test_one_by_one_equals_together():
    module = small_module()
    together, single = ModuleNetwork(module), ModuleNetwork(module, numbers_per_input=LARGE)
    assert (together.n_together, single.n_together) == (None, 1)
    theta, x = points(together), images()
    torch.testing.assert_close(single(theta, x), together(theta, x))
    for network in (together, single):
        outputs, vjp = network.differentiable(theta, x)
        gradient = torch.randn(outputs.shape, generator=generator(3), dtype=torch.float64)
        free = theta.clone().requires_grad_()
        (expected,) = torch.autograd.grad((together(free, x) * gradient).sum(), free)
        torch.testing.assert_close(vjp(gradient), expected)


def test_intermediate_numbers_are_those_of_the_layers():
    shapes = (
        [6 * 28 * 28] + [6 * 14 * 14] * 3 + [16 * 10 * 10] + [400] * 4 + [120] * 2 + [84] * 2 + [10]
    )
    assert n_numbers(LeNet5(), torch.zeros(1, 1, 28, 28)) == sum(shapes)
    assert ModuleNetwork(LeNet5(), example=torch.zeros(1, 1, 28, 28)).numbers_per_input == 2 * sum(
        shapes
    )


@pytest.mark.parametrize("padding", [0, 2])
def test_convolution_as_a_product_with_a_banded_matrix(padding):
    x = torch.randn(3, 2, 7, 9, generator=generator(1), dtype=torch.float64, requires_grad=True)
    weight = torch.randn(
        4, 2, 3, 3, generator=generator(2), dtype=torch.float64, requires_grad=True
    )
    found, expected = banded(x, weight, padding), F.conv2d(x, weight, padding=padding)
    torch.testing.assert_close(found, expected)
    gradient = torch.randn(expected.shape, generator=generator(3), dtype=torch.float64)
    of = [torch.autograd.grad((image * gradient).sum(), [x, weight]) for image in (found, expected)]
    torch.testing.assert_close(*of)


@pytest.mark.parametrize("n_joined", [1, 2, 4])
def test_convolution_of_neighbouring_pixels_as_one(n_joined):
    x = torch.randn(3, 2, 5, 8, generator=generator(1), dtype=torch.float64)
    x = x.contiguous(memory_format=torch.channels_last).requires_grad_()
    weight = torch.randn(
        4, 2, 3, 3, generator=generator(2), dtype=torch.float64, requires_grad=True
    )
    found, expected = wide(x, weight, n_joined), F.conv2d(x, weight, padding=1)
    torch.testing.assert_close(found, expected)
    assert found.is_contiguous(memory_format=torch.channels_last)
    gradient = torch.randn(expected.shape, generator=generator(3), dtype=torch.float64)
    of = [torch.autograd.grad((image * gradient).sum(), [x, weight]) for image in (found, expected)]
    torch.testing.assert_close(*of)


def test_as_many_pixels_are_joined_as_make_64_channels_and_divide_a_row():
    assert [joined(32, 16), joined(16, 32), joined(8, 64), joined(8, 128)] == [4, 2, 1, 1]
    assert [joined(30, 16), joined(7, 16)] == [2, 1]


def test_wide_convolution_is_the_convolution(device):
    torch.manual_seed(0)
    layer, x = WideConv2d(16, 16).to(device), torch.randn(5, 16, 8, 8).to(device)
    with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
        found = layer(x.contiguous(memory_format=torch.channels_last))
    expected = F.conv2d(
        x.cpu().double(), layer.weight.cpu().double(), layer.bias.cpu().double(), padding=1
    )
    error = (found.cpu() - expected).norm() / expected.norm()
    assert error < (1e-2 if device.type == "cuda" else 1e-6)


def test_parameters_that_outputs_do_not_depend_on_have_no_gradient():
    module = small_module()
    module.register_parameter("unused", nn.Parameter(torch.ones(5, dtype=torch.float64)))
    network = ModuleNetwork(module)
    outputs, vjp = network.differentiable(points(network), images())
    unused = next(p for p in network.layout if p.name == "unused")
    gradient = vjp(torch.ones_like(outputs))
    assert not gradient[:, unused.start : unused.stop].any()
    assert gradient.any()


def test_large_networks_store_gradients_of_convolutions_with_channels_last():
    module = small_module()
    large = ModuleNetwork(module, numbers_per_input=LARGE)
    found = large.module[0](images())
    gradient = found.grad_fn.apply(torch.ones(found.shape))
    assert gradient.is_contiguous(memory_format=torch.channels_last)
    assert not module[0]._forward_hooks  # the user's own is left as it was
    restored = pickle.loads(pickle.dumps(large.module))
    assert torch.equal(restored(images()), module(images()))


def test_large_networks_run_one_by_one_and_small_ones_together():
    assert ModuleNetwork(ResNet20(), example=torch.zeros(1, 3, 32, 32)).n_together == 1
    assert ModuleNetwork(LeNet5(), example=torch.zeros(1, 1, 28, 28)).n_together is None


def reference_network(n=5):
    return ModuleNetwork(
        small_module(batch_norm=True), batch_norm="reference", reference=images(n, seed=9)
    )


def test_reference_statistics_make_a_function_of_each_row():
    network = reference_network()
    theta, x = points(network), images()
    whole = network(theta, x)
    alone = torch.cat([network(theta, x[i : i + 1]) for i in range(len(x))], dim=1)
    torch.testing.assert_close(whole, alone)


def test_reference_rows_are_normalised_as_a_batch():
    network = reference_network()
    rows = images(5, seed=9)
    theta = points(network)
    batch = ModuleNetwork(small_module(batch_norm=True), batch_norm="batch")
    torch.testing.assert_close(network(theta, rows), batch(theta, rows))


def test_reference_statistics_belong_to_the_parameters():
    """Scaling the convolution leaves a normalised network as it is."""
    network = reference_network()
    theta, x = points(network), images()
    convolution = network.layout[0]
    scaled = theta.clone()
    scaled[:, convolution.start : network.layout[1].stop] *= 3
    torch.testing.assert_close(network(scaled, x), network(theta, x), rtol=1e-4, atol=1e-4)
    assert (network(theta[:1], x) != network(theta[1:2], x)).any()


def test_factors_of_a_normalised_network_sum_to_the_density():
    network = reference_network()
    target = BayesianTarget(
        network, Categorical(4), images(), torch.arange(7).remainder(4).double(), n_batches=3
    )
    theta = points(network)
    whole = target.value_and_score(theta)
    parts = [factor.value_and_score(theta) for factor in target.factors()]
    torch.testing.assert_close(sum(part.value for part in parts), whole.value)
    torch.testing.assert_close(sum(part.score for part in parts), whole.score)


def test_training_normalises_by_the_batch_and_keeps_the_parameters():
    network = reference_network()
    trained = network.for_training()
    assert trained.layout == network.layout
    batch = ModuleNetwork(small_module(batch_norm=True), batch_norm="batch")
    theta, x = points(network), images()
    torch.testing.assert_close(trained(theta, x), batch(theta, x))
    plain = ModuleNetwork(small_module())
    assert plain.for_training() is plain


@pytest.mark.parametrize(
    "given", [{"batch_norm": "reference"}, {"reference": torch.zeros(2, 1, 6, 6)}]
)
def test_reference_without_rows_is_refused(given):
    with pytest.raises(InputError, match="go together"):
        ModuleNetwork(small_module(batch_norm=True), **given)


def test_unknown_precision_is_refused():
    with pytest.raises(InputError, match="float32, tf32, bf16"):
        ModuleNetwork(small_module(), precision="fp8")


def test_reduced_precision_rounds_and_full_precision_does_not():
    module = small_module().float()
    exact, rounded = ModuleNetwork(module), ModuleNetwork(module, precision="bf16")
    theta, x = points(exact).float(), images().float()
    error = (rounded(theta, x) - exact(theta, x)).abs().max()
    assert 0 < error < 0.1
    assert rounded(theta, x).dtype == torch.float32
    assert (rounded.in_full_precision()(theta, x) == exact(theta, x)).all()
    assert rounded.in_full_precision() is rounded.in_full_precision()
    assert exact.in_full_precision() is exact


def test_steps_compare_values_in_full_precision():
    network = ModuleNetwork(small_module().float(), precision="bf16")
    y = torch.arange(7).remainder(4).float()
    target = BayesianTarget(network, Categorical(4), images().float(), y, n_batches=2)
    assert {factor.network.precision for factor in target.factors()} == {"float32"}


def test_without_a_compiler_the_function_runs_as_written(monkeypatch):
    def no_compiler(function, **_):
        def fails(*arguments):
            raise RuntimeError("no compiler here")

        return fails

    monkeypatch.setattr(torch, "compile", no_compiler)
    module = small_module()
    network, plain = ModuleNetwork(module, compiled=True), ModuleNetwork(module)
    theta, x = points(network).float(), images().float()
    for _ in range(12):
        torch.testing.assert_close(network(theta, x), plain(theta, x))
    assert "no compiler here" in network.compiled.reason


def test_only_shapes_that_come_again_are_compiled(monkeypatch):
    compiled = []

    def noted(function, **_):
        compiled.append(function)
        return function

    monkeypatch.setattr(torch, "compile", noted)
    function = Compiled(lambda theta, rows: theta[:, None] * rows)
    for i in range(20):
        function(torch.ones(2), torch.ones(100 + i))
    assert not compiled
    for _ in range(20):
        function(torch.ones(2), torch.ones(5))
    assert len(compiled) == 1


def test_error_of_the_function_itself_is_not_hidden_by_compiling(monkeypatch):
    monkeypatch.setattr(torch, "compile", lambda function, **_: function)
    network = ModuleNetwork(small_module(), compiled=True)
    with pytest.raises(RuntimeError, match="channels"):
        network(points(network).float(), torch.zeros(2, 5, 6, 6))


def test_filters_at_the_length_of_the_prior_compute_the_same():
    torch.manual_seed(1)
    x = torch.randn(2, 3, 32, 32, dtype=torch.float64)
    network = ModuleNetwork(ResNet20FRN().double(), example=x[:1])
    theta = points(network, 2)
    given = theta.clone()
    longer = at_prior_length(network, theta, torch.full((network.layout.dim,), 0.5).double())
    torch.testing.assert_close(
        network(longer, x), network(theta, x), rtol=1e-4, atol=1e-5
    )  # but for the 1e-6
    before, after = network.layout.unflatten(theta), network.layout.unflatten(longer)
    for layer in ("0.0", "4.shortcut.0", "9.second.0"):
        weight, bias = after[f"{layer}.weight"].flatten(2), after[f"{layer}.bias"]
        squares = weight.square().sum(-1) + bias.square()
        torch.testing.assert_close(squares, torch.full_like(squares, 0.25 * (weight.shape[-1] + 1)))
    for name in ("0.1.weight", "12.weight"):
        assert torch.equal(before[name], after[name])
    assert torch.equal(theta, given)


def test_filter_response_normalisation_by_hand():
    torch.manual_seed(1)
    module = ResNet20FRN()
    assert sum(p.numel() for p in module.parameters()) == 274042
    norm = module[0][1].double()
    with torch.no_grad():
        norm.weight.fill_(2.0)
        norm.bias.fill_(-0.5)
        norm.threshold.fill_(0.25)
        x = torch.randn(2, 16, 4, 4, dtype=torch.float64)
        for n in range(2):
            for c in range(16):
                expected = (2 * x[n, c] / (x[n, c].square().mean() + 1e-6).sqrt() - 0.5).clamp(
                    min=0.25
                )
                torch.testing.assert_close(norm(x)[n, c], expected)


def test_rows_of_the_filter_response_network_do_not_know_each_other():
    torch.manual_seed(1)
    module = ResNet20FRN().double().eval()
    x = torch.randn(3, 3, 32, 32, dtype=torch.float64)
    with torch.no_grad():
        torch.testing.assert_close(module(x)[1:2], module(x[1:2]))


def test_reference_statistics_in_reduced_precision_are_near_the_exact_ones():
    module = small_module(batch_norm=True).float()
    given = {"batch_norm": "reference", "reference": images(5, seed=9).float()}
    exact, rounded = (
        ModuleNetwork(module, **given),
        ModuleNetwork(module, precision="bf16", **given),
    )
    theta, x = points(exact).float(), images().float()
    outputs, vjp = rounded.differentiable(theta, x)
    assert 0 < (outputs - exact(theta, x)).abs().max() < 0.1
    assert vjp(torch.ones_like(outputs)).isfinite().all()
