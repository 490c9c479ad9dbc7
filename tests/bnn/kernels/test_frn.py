"""Filter response normalisation as one operation, against the layers that it joins."""

import os

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from pmcnet.bnn import ModuleNetwork, ResNet20FRN
from pmcnet.bnn.kernels import frn
from pmcnet.bnn.networks.resnet import FilterResponseNorm, Normed
from pmcnet.errors import InputError

KINDS = [(adds, swish) for adds in (False, True) for swish in (False, True)]


def given(shape, *, adds, dtype=torch.float64, device="cpu"):
    """Images, what a shortcut brings, parameters, and a gradient of what comes out."""
    source = torch.Generator().manual_seed(0)
    x, residual, gradient = (torch.randn(shape, generator=source) for _ in range(3))
    parameters = torch.randn(4, shape[1], generator=source)
    images = [
        part.to(device, dtype).contiguous(memory_format=torch.channels_last)
        for part in (x, residual, gradient)
    ]
    parameters = parameters.to(device, torch.float64 if dtype == torch.float64 else torch.float32)
    return images[0], images[1] if adds else None, parameters, images[2]


def layers(x, residual, parameters, *, swish):
    """The same by layers that are there."""
    norm = FilterResponseNorm(x.shape[1])
    named = dict(zip(("weight", "bias", "threshold"), parameters[1:], strict=True))
    out = torch.func.functional_call(norm, named, (x + parameters[0, :, None, None],))
    out = out if residual is None else out + residual
    return F.silu(out) if swish else out


@pytest.mark.parametrize(("adds", "swish"), KINDS)
def test_operation_is_what_the_layers_are(adds, swish):
    x, residual, parameters, _ = given((3, 4, 5, 6), adds=adds)
    found = frn.normalised(x, residual, parameters, swish=swish)
    torch.testing.assert_close(found, layers(x, residual, parameters, swish=swish))
    assert found.is_contiguous(memory_format=torch.channels_last)


def test_no_images_are_no_images():
    x, residual, parameters, gradient = given((0, 4, 5, 6), adds=True)
    assert frn.normalised(x, residual, parameters, swish=True).shape == x.shape
    assert not frn._gradients(gradient, x, residual, parameters, True)[2].any()


@pytest.mark.parametrize(("adds", "swish"), KINDS)
def test_gradients_are_derivatives(adds, swish):
    x, residual, parameters, _ = given((2, 3, 4, 4), adds=adds)
    leaves = [part.requires_grad_() for part in (x, residual, parameters) if part is not None]

    def function(*parts):
        first, *middle, last = parts
        return frn.normalised(first, middle[0] if middle else None, last, swish=swish)

    assert torch.autograd.gradcheck(function, leaves)


@pytest.mark.parametrize("adds", [False, True])
def test_operation_is_one_that_compilers_understand(adds):
    x, residual, parameters, gradient = given((2, 3, 4, 4), adds=adds)
    leaves = (x.requires_grad_(), residual, parameters.requires_grad_())
    torch.library.opcheck(frn._forward, (*leaves, True))
    torch.library.opcheck(
        frn._gradients, (gradient, x.detach(), residual, parameters.detach(), True)
    )


@pytest.fixture
def place():
    """Where kernels run: on a GPU, or, where Triton is asked to, line by line on a CPU."""
    pytest.importorskip(
        "triton", reason="the kernels are written for Triton, which is not installed"
    )
    if torch.cuda.is_available():
        return "cuda"
    if os.environ.get("TRITON_INTERPRET") != "1":
        pytest.skip("needs a GPU, or TRITON_INTERPRET=1")
    return "cpu"


@pytest.mark.parametrize("shape", [(3, 16, 8, 8), (2, 6, 5, 7)])  # powers of 2, and none
@pytest.mark.parametrize(("adds", "swish"), KINDS)
def test_kernels_are_the_formula(place, shape, adds, swish):
    from pmcnet.bnn.kernels import frn_triton

    x, residual, parameters, gradient = given(shape, adds=adds, dtype=torch.float32, device=place)
    wide = [None if part is None else part.double() for part in (x, residual, parameters)]
    out = frn_triton.forward(x, residual, parameters, swish)
    torch.testing.assert_close(
        out.double(), frn.normalised(*wide, swish=swish), rtol=1e-4, atol=1e-5
    )
    found = frn_triton.backward(gradient, x, residual, parameters, swish)
    expected = frn._gradients(gradient.double(), *wide, swish)
    for mine, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(mine.double(), theirs, rtol=1e-4, atol=1e-4)
    assert found[0].is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("shape", [(16, 32, 32), (32, 16, 16), (64, 8, 8)])
def test_kernels_in_bfloat16_are_as_near_as_rounding_allows(place, shape):
    if place != "cuda":
        pytest.skip("needs a GPU")
    x, residual, parameters, gradient = given(
        (7, *shape), adds=True, dtype=torch.bfloat16, device="cuda"
    )
    assert frn._fits(x)
    wide = [part.double() for part in (x, residual, parameters)]
    out = frn.normalised(x, residual, parameters, swish=True)
    found, expected = (
        frn._gradients(gradient, x, residual, parameters, True),
        frn._gradients(gradient.double(), *wide, True),
    )
    pairs = [(out, frn.normalised(*wide, swish=True)), *zip(found, expected, strict=True)]
    assert all((mine - theirs).norm() < 4e-3 * theirs.norm() for mine, theirs in pairs)


@pytest.mark.filterwarnings(
    "ignore:invalid value encountered:RuntimeWarning"
)  # line by line, of numpy
def test_kernels_do_not_hide_what_is_not_finite(place):
    """An infinite pixel makes its channel NaN, as the formula has it."""
    from pmcnet.bnn.kernels import frn_triton

    x, _, parameters, gradient = given((2, 4, 4, 4), adds=False, dtype=torch.float32, device=place)
    x[0, 1, 2, 3] = torch.inf
    found, expected = (
        frn_triton.forward(x, None, parameters, True),
        frn.normalised(x.cpu(), None, parameters.cpu(), swish=True),
    )
    assert torch.equal(found.isnan().cpu(), expected.isnan())
    assert found.isnan().any()
    found, expected = (
        gradients(*parts, True)
        for gradients, parts in (
            (frn_triton.backward, (gradient, x, None, parameters)),
            (frn._gradients, (gradient.cpu(), x.cpu(), None, parameters.cpu())),
        )
    )
    assert all(
        torch.equal(mine.isnan().cpu(), theirs.isnan())
        for mine, theirs in zip(found, expected, strict=True)
    )
    assert found[2].isnan().any()


def test_a_residual_of_another_shape_is_refused():
    x, residual, parameters, _ = given((2, 4, 4, 4), adds=True)
    with pytest.raises(
        InputError, match=r"must have the shape of x, \(2, 4, 4, 4\); got \(1, 4, 4, 4\)"
    ):
        frn.normalised(x, residual[:1], parameters, swish=True)


def test_memory_of_a_fused_network_is_planned_as_that_of_the_layers():
    x = torch.zeros(1, 3, 32, 32)
    plain, fused = (ModuleNetwork(ResNet20FRN(fused=fused), example=x) for fused in (False, True))
    assert fused.numbers_per_input == plain.numbers_per_input
    assert fused.n_together == plain.n_together == 1


@pytest.mark.parametrize("stride", [1, 2])
def test_a_fused_layer_is_the_layer(stride):
    torch.manual_seed(0)
    plain, fused = (Normed(3, 4, 3, stride, fused=fused).double() for fused in (False, True))
    for parameter in plain.parameters():
        nn.init.normal_(parameter)
    fused.load_state_dict(plain.state_dict())
    x = torch.randn(2, 3, 8, 8, dtype=torch.float64)
    torch.testing.assert_close(fused(x), plain(x))
    torch.testing.assert_close(fused(x, plain(x)), plain(x, plain(x)))


@pytest.mark.filterwarnings(
    "ignore:Attempting to run cuBLAS:UserWarning"
)  # by the first backward pass of a thread
def test_a_fused_network_is_the_network(device):
    torch.manual_seed(0)
    x = torch.randn(4, 3, 32, 32, dtype=torch.float64, device=device)
    found = []
    for fused in (False, True):
        network = ModuleNetwork(ResNet20FRN(fused=fused).double().to(device), example=x[:1])
        theta = (
            0.3
            * torch.randn(
                1, network.layout.dim, generator=torch.Generator().manual_seed(1)
            ).double()
        )
        outputs, vjp = network.differentiable(theta.to(device), x)
        found.append((outputs, vjp(torch.ones_like(outputs))))
    for plain, fused in zip(*found, strict=True):
        torch.testing.assert_close(fused, plain)
