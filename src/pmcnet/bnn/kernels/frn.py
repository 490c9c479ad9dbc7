"""Filter response normalisation, the bias before it, and sum and swish after it, as one operation.

    u = x + b,  n = u / sqrt(mean u^2 + 1e-6),  z = max(gamma n + beta, tau) + r,  y = z s(z)

with the mean over an image's pixels, r the shortcut and s the logistic function. One after another
these are a dozen passes over memory in a gradient; on a GPU with Triton they are one in each
direction (`frn_triton`), and elsewhere what is written here. Parameters are the rows b,
gamma, beta, tau of a (4, C) tensor.
"""

from functools import cache
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor

from pmcnet.errors import InputError

EPSILON = 1e-6
_ROUNDED = (torch.bfloat16, torch.float16, torch.float32)
_MOST_NUMBERS = 32_768  # of an image: a program has all of them at once


def normalised(x: Tensor, residual: Tensor | None, parameters: Tensor, *, swish: bool) -> Tensor:
    """y from x (N, C, H, W), a `residual` of the same shape or none, and parameters (4, C).

    Without `swish` z. `vmap` cannot map over it.
    """
    if residual is not None and residual.shape != x.shape:
        raise InputError(
            f"a residual must have the shape of x, {tuple(x.shape)}; got {tuple(residual.shape)}."
        )
    found: Tensor = _forward(x, residual, parameters, swish)
    return found


@torch.library.custom_op(
    "pmcnet::filter_response",
    mutates_args=(),
    schema="(Tensor x, Tensor? residual, Tensor parameters, bool swish) -> Tensor",
)
def _forward(x: Tensor, residual: Tensor | None, parameters: Tensor, swish: bool) -> Tensor:
    x, residual = _last(x), None if residual is None else _last(residual)
    if _fits(x):
        from pmcnet.bnn.kernels import frn_triton

        return frn_triton.forward(x, residual, parameters.contiguous(), swish)
    *_, z = _parts(x, residual, parameters)
    return (z * z.sigmoid() if swish else z).to(x.dtype)


@_forward.register_fake
def _(x: Tensor, residual: Tensor | None, parameters: Tensor, swish: bool) -> Tensor:
    return torch.empty_like(x, memory_format=torch.channels_last)


@torch.library.custom_op(
    "pmcnet::filter_response_gradients",
    mutates_args=(),
    schema="(Tensor gradient, Tensor x, Tensor? residual, Tensor parameters, bool swish) "
    "-> (Tensor, Tensor, Tensor)",
)
def _gradients(
    gradient: Tensor, x: Tensor, residual: Tensor | None, parameters: Tensor, swish: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients by x, by the residual (empty without one) and by the parameters, from that by y."""
    gradient, x, residual = _last(gradient), _last(x), None if residual is None else _last(residual)
    if _fits(x):
        from pmcnet.bnn.kernels import frn_triton

        return frn_triton.backward(gradient, x, residual, parameters.contiguous(), swish)
    gain, floor = parameters[1, :, None, None], parameters[3, :, None, None]
    inverse, n, a, z = _parts(x, residual, parameters)
    share = z.sigmoid()
    to_z = gradient.to(z.dtype) * (share * (1 + z * (1 - share)) if swish else 1.0)
    to_a = torch.where(a > floor, to_z, 0.0)
    of_gain = (to_a * n).sum((2, 3))  # (N, C)
    to_u = gain * inverse * (to_a - n * (of_gain[..., None, None] / x.shape[2:].numel()))
    rows = to_u.sum((2, 3)), of_gain, to_a.sum((2, 3)), (to_z - to_a).sum((2, 3))
    of_residual = x.new_empty(0) if residual is None else _last(to_z.to(residual.dtype))
    return _last(to_u.to(x.dtype)), of_residual, torch.stack([row.sum(0) for row in rows])


@_gradients.register_fake
def _(
    gradient: Tensor, x: Tensor, residual: Tensor | None, parameters: Tensor, swish: bool
) -> tuple[Tensor, Tensor, Tensor]:
    of_residual = (
        x.new_empty(0)
        if residual is None
        else torch.empty_like(residual, memory_format=torch.channels_last)
    )
    return (
        torch.empty_like(x, memory_format=torch.channels_last),
        of_residual,
        torch.empty_like(parameters),
    )


def _remember(ctx: Any, inputs: tuple[Tensor, Tensor | None, Tensor, bool], output: Tensor) -> None:
    *tensors, ctx.swish = inputs
    ctx.save_for_backward(*tensors)


def _backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor | None, Tensor, None]:
    x, residual, parameters = ctx.saved_tensors
    of_x, of_residual, of_parameters = _gradients(gradient, x, residual, parameters, ctx.swish)
    return of_x, None if residual is None else of_residual, of_parameters, None


_forward.register_autograd(_backward, setup_context=_remember)


def _parts(
    x: Tensor, residual: Tensor | None, parameters: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """1 / sqrt(mean u^2 + 1e-6), n, gamma n + beta and z."""
    offset, gain, shift, floor = parameters[:, :, None, None]
    u = x.to(parameters.dtype) + offset
    inverse = (u.square().mean((2, 3), keepdim=True) + EPSILON).rsqrt()
    a = gain * (u * inverse) + shift
    z = torch.maximum(a, floor)
    return inverse, u * inverse, a, z if residual is None else z + residual


def _last(x: Tensor) -> Tensor:
    return x.contiguous(memory_format=torch.channels_last)


def _fits(x: Tensor) -> bool:
    """Whether the kernels can take these images."""
    return (
        x.is_cuda and x.dtype in _ROUNDED and x.shape[1:].numel() <= _MOST_NUMBERS and _has_triton()
    )


@cache
def _has_triton() -> bool:
    return find_spec("triton") is not None
