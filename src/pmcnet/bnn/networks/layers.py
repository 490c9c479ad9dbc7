"""Layers that need care in a posterior's network: random ones, normalisation, convolutions."""

import copy
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd

from pmcnet.errors import InputError


def refuse_random_layers(module: nn.Module) -> None:
    """Raise when the module has layers whose output is random in training."""
    random = [
        f"{type(layer).__name__} {name}".rstrip()
        for name, layer in module.named_modules()
        if _is_random(layer)
    ]
    if random:
        raise InputError(
            f"{', '.join(random)} draws random numbers, so the likelihood would not be a function "
            "of the parameters. Remove it, or leave it out by "
            'bnn.ModuleNetwork(module, random_layers="freeze").'
        )


def _is_random(layer: nn.Module) -> bool:
    dropout = isinstance(
        layer, _DropoutNd | nn.RReLU | nn.FractionalMaxPool2d | nn.FractionalMaxPool3d
    )
    return dropout or (isinstance(layer, nn.RNNBase | nn.MultiheadAttention) and layer.dropout > 0)


class RowNorm(nn.Module):
    """Batch normalisation by the statistics of the first `n_rows` rows, or of all rows for 0.

    Nothing is stored, so the output is a function of parameters and rows alone, and its gradient is
    complete.
    """

    def __init__(self, layer: "_BatchNorm | RowNorm", n_rows: int) -> None:
        super().__init__()
        self.weight: nn.Parameter = layer.weight
        self.bias: nn.Parameter = layer.bias
        self.eps: float = layer.eps
        self.n_rows = n_rows

    def forward(self, x: Tensor) -> Tensor:
        """(N, C, ...) -> (N, C, ...)."""
        if self.n_rows == 0:
            return F.batch_norm(x, None, None, self.weight, self.bias, training=True, eps=self.eps)
        first = x[: self.n_rows]
        axes = [axis for axis in range(x.ndim) if axis != 1]
        variance, mean = torch.var_mean(
            first if first.dtype == torch.float64 else first.float(), axes, correction=0
        )
        scale = self.weight * (variance + self.eps).rsqrt()
        shape = (-1, *(1 for _ in range(x.ndim - 2)))
        return torch.addcmul((self.bias - mean * scale).reshape(shape), x, scale.reshape(shape)).to(
            x.dtype
        )


def with_row_norm(module: nn.Module, n_rows: int) -> nn.Module:
    """A copy in which `RowNorm` replaces batch normalisation."""
    copied = copy.deepcopy(module)
    for name, layer in list(copied.named_modules()):
        if isinstance(layer, _BatchNorm | RowNorm):
            parent = copied.get_submodule(name.rpartition(".")[0])
            setattr(parent, name.rpartition(".")[2], RowNorm(layer, n_rows))
    return copied


def with_channels_last(module: nn.Module) -> nn.Module:
    """A copy for images with channels last, whose convolutions get gradients in the same format.

    Compiled code may store them otherwise, and each would be copied before the convolution's own
    gradient.
    """
    copied = copy.deepcopy(module)
    for layer in copied.modules():
        if isinstance(layer, nn.Conv2d):
            layer.register_forward_hook(_with_channels_last)
    return copied


def _with_channels_last(layer: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
    stored: Tensor = _ChannelsLast.apply(output)  # type: ignore[no-untyped-call]
    return stored


class _ChannelsLast(torch.autograd.Function):
    """The identity, whose gradient is stored with channels last."""

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return x.view_as(x)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        return gradients[0].contiguous(memory_format=torch.channels_last)


def n_numbers(module: nn.Module, example: Tensor) -> int:
    """How many numbers the layers put out for one row of inputs (1, ...).

    A layer that runs its parts by itself says how many times its output they store, `n_stored`.
    """
    seen: list[int] = []

    def count(layer: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        seen.append(output.numel() * getattr(layer, "n_stored", 1))

    single = [
        layer
        for layer in module.modules()
        if getattr(layer, "n_stored", not list(layer.children()))
    ]
    hooks = [layer.register_forward_hook(count) for layer in single]
    try:
        with torch.no_grad():
            parameter = next(module.parameters())
            # two rows, since normalisation by the rows given cannot take one
            module(example.to(parameter).expand(2, *example.shape[1:]))
    finally:
        for hook in hooks:
            hook.remove()
    return sum(seen) // 2
