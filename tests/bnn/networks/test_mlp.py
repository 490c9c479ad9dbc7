import pytest
import torch
from torch import nn

from pmcnet.bnn import MLP, Layout, LeNet5, ModuleNetwork, ResNet20
from pmcnet.errors import InputError


def random_theta(n, dim, scale=0.5, dtype=torch.float64):
    return scale * torch.randn(n, dim, generator=torch.Generator().manual_seed(0), dtype=dtype)


def random_x(*shape, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1), dtype=dtype)


@pytest.mark.parametrize(
    ("sizes", "dim"),
    [
        ((3, 3, 1), 16),
        ((33, 5, 1), 176),
        ((13, 3, 3), 54),
        ((9, 10, 6), 166),
        ((9, 100, 100, 1), 11201),
        ((14, 100, 100, 1), 11701),
    ],
)
def test_mlp_has_the_papers_number_of_parameters(sizes, dim):
    assert MLP(sizes).layout.dim == dim
    assert sum(p.numel() for p in MLP(sizes).module().parameters()) == dim


@pytest.mark.parametrize(
    ("module", "shape", "dim"),
    [
        (LeNet5(), (1, 28, 28), 61706),
        (LeNet5(image_size=32), (1, 32, 32), 82826),
        (ResNet20(), (3, 32, 32), 269722),
    ],
)
def test_deep_networks_have_the_papers_number_of_parameters(module, shape, dim):
    network = ModuleNetwork(module)
    assert network.layout.dim == dim
    theta = network.initial()[None].repeat(2, 1)
    assert network(theta, random_x(3, *shape, dtype=torch.float32)).shape == (2, 3, 10)


@pytest.mark.parametrize("activation", ["tanh", "relu", "sigmoid", "silu"])
@pytest.mark.parametrize("sizes", [(4, 1), (4, 5, 2), (3, 6, 4, 3)])
def test_mlp_equals_its_module_mapped_over_the_population(sizes, activation):
    mlp = MLP(sizes, activation)
    generic = ModuleNetwork(mlp.module().double())
    theta, x = random_theta(7, mlp.layout.dim), random_x(11, sizes[0])
    assert [p.name for p in mlp.layout] == [p.name for p in generic.layout]
    torch.testing.assert_close(mlp(theta, x), generic(theta, x))


def test_mlp_and_module_have_the_same_gradient():
    mlp = MLP((4, 5, 2))
    generic = ModuleNetwork(mlp.module().double())
    x, gradients = random_x(11, 4), []
    for network in (mlp, generic):
        theta = random_theta(7, mlp.layout.dim).requires_grad_()
        gradients.append(torch.autograd.grad(network(theta, x).square().sum(), theta)[0])
    torch.testing.assert_close(*gradients)


def test_module_network_equals_the_module_with_those_parameters():
    module = LeNet5().double()
    network = ModuleNetwork(module)
    x = random_x(4, 1, 28, 28)
    torch.testing.assert_close(network(network.initial()[None], x)[0], module(x))


def test_layout_round_trip():
    layout = MLP((4, 5, 2)).layout
    theta = random_theta(1, layout.dim)[0]
    assert torch.equal(layout.flatten(layout.unflatten(theta)), theta)
    assert [(p.fan_in, p.is_bias) for p in layout] == [(4, False), (1, True), (5, False), (1, True)]
    assert Layout.of([]).dim == 0


def test_stored_batch_norm_statistics_are_used_and_kept():
    module = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)).double()
    module[1].running_mean += 1.5
    network = ModuleNetwork(module)
    x = random_x(6, 3)
    before = {name: b.clone() for name, b in module.named_buffers()}
    torch.testing.assert_close(network(network.initial()[None], x)[0], module.eval()(x))
    for name, buffer in module.named_buffers():
        assert torch.equal(buffer, before[name])


def test_batch_statistics_are_those_of_the_rows_given():
    module = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)).double()
    x = random_x(6, 3)
    expected = module.train()(x)
    network = ModuleNetwork(module, batch_norm="batch")
    torch.testing.assert_close(network(network.initial()[None], x)[0], expected)


@pytest.mark.parametrize(
    "layer",
    [nn.Dropout(0.5), nn.Dropout2d(), nn.AlphaDropout(), nn.RReLU(), nn.GRU(4, 4, 2, dropout=0.1)],
)
def test_random_layers_are_refused(layer):
    with pytest.raises(InputError, match=r'1 draws random numbers.*random_layers="freeze"'):
        ModuleNetwork(nn.Sequential(nn.Linear(3, 4), layer))


@pytest.mark.parametrize("layer", [nn.Dropout(0.5), nn.AlphaDropout()])
def test_random_layers_can_be_frozen(layer):
    module = nn.Sequential(nn.Linear(3, 4), layer, nn.Linear(4, 2))
    network = ModuleNetwork(module, random_layers="freeze")
    theta, x = network.initial()[None], random_x(5, 3, dtype=torch.float32)
    assert torch.equal(network(theta, x), network(theta, x))


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: MLP((3,)), "sizes must hold at least"),
        (lambda: MLP((3, 0, 1)), "all positive"),
        (lambda: MLP((3, 1), "softplus"), "activation must be one of tanh"),
        (lambda: ModuleNetwork(nn.ReLU()), "ReLU has no parameters"),
        (
            lambda: MLP((3, 2, 1))(random_theta(2, 11), random_x(5, 4)),
            r"x must be \(n_rows, 3\); got \(5, 4\)",
        ),
        (
            lambda: ModuleNetwork(nn.Sequential(nn.Linear(3, 1), nn.Flatten(0)))(
                random_theta(2, 4, dtype=torch.float32), random_x(5, 3, dtype=torch.float32)
            ),
            r"gave \(5,\)",
        ),
    ],
)
def test_bad_networks_are_refused(make, text):
    with pytest.raises(InputError, match=text):
        make()
