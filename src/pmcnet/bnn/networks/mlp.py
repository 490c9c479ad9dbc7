"""Fully connected networks, written for populations.

All networks share the input, so their first layers are one matrix product. Parameters are ordered
as `nn.Module.named_parameters` orders them, so an MLP and its module read the same vector.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Self

import torch
from torch import Tensor, nn

from pmcnet.bnn.kernels import fused_mlp
from pmcnet.bnn.networks.base import VJP, Layout
from pmcnet.errors import InputError

ACTIVATIONS = {
    "tanh": (torch.tanh, nn.Tanh),
    "relu": (torch.relu, nn.ReLU),
    "sigmoid": (torch.sigmoid, nn.Sigmoid),
    "silu": (nn.functional.silu, nn.SiLU),
}


def _through(activation: str, before: Tensor, after: Tensor, gradient: Tensor) -> Tensor:
    """The gradient by `before` from that by `after` = activation(before), which is overwritten."""
    match activation:
        case "tanh":  # 1 - a^2
            return gradient.addcmul_(gradient * after, after, value=-1)
        case "relu":
            return gradient.mul_(after > 0)
        case "sigmoid":  # a (1 - a)
            return gradient.mul_(after).addcmul_(gradient, after, value=-1)
        case _:  # silu: s + a (1 - s)
            s = before.sigmoid()
            return gradient.mul_(torch.addcmul(s + after, s, after, value=-1))


@dataclass(frozen=True)
class MLP:
    """A fully connected network of the given layer sizes, e.g. (33, 5, 1), linear at the output."""

    sizes: tuple[int, ...]
    activation: Literal["tanh", "relu", "sigmoid", "silu"] = "tanh"

    def __post_init__(self) -> None:
        if len(self.sizes) < 2 or min(self.sizes) < 1:
            raise InputError(
                "sizes must hold at least an input and an output size, all positive; got "
                f"{self.sizes}."
            )
        if self.activation not in ACTIVATIONS:
            raise InputError(
                f"activation must be one of {', '.join(ACTIVATIONS)}; got {self.activation!r}."
            )

    @property
    def layout(self) -> Layout:
        """The parameters: those of the layers."""
        return self.layers

    @cached_property
    def layers(self) -> Layout:
        """Weight (out, in) and bias (out) of each layer, named as in `module()`."""
        shapes: list[tuple[str, tuple[int, ...]]] = []
        for layer, (n_in, n_out) in enumerate(zip(self.sizes, self.sizes[1:], strict=False)):
            shapes += [(f"{2 * layer}.weight", (n_out, n_in)), (f"{2 * layer}.bias", (n_out,))]
        return Layout.of(shapes)

    @property
    def numbers_per_input(self) -> int:
        """Every layer's output before and after its activation, and their gradients."""
        return 4 * sum(self.sizes[1:])

    def module(self) -> nn.Sequential:
        """The same network as a torch module."""
        layers: list[nn.Module] = []
        for n_in, n_out in zip(self.sizes, self.sizes[1:], strict=False):
            layers += [nn.Linear(n_in, n_out), ACTIVATIONS[self.activation][1]()]
        return nn.Sequential(*layers[:-1])

    def __call__(self, theta: Tensor, x: Tensor) -> Tensor:
        """Outputs (P, N, C), by a compiled pass where that is faster."""
        self._check(x)
        weights = self.weights(theta)
        if fused_mlp.applies(self.fused, weights, x):
            return fused_mlp.outputs(self.fused, weights, x)
        return self._passed(weights, x)[0][-1].mT

    def weights(self, theta: Tensor) -> Tensor:
        """The parameters of the layers (P, D'), of networks given as flat vectors (P, D)."""
        return theta

    def pulled_back(self, theta: Tensor, weights: Tensor, gradient: Tensor) -> Tensor:
        """The gradient by theta (P, D), from that by `weights(theta)` (P, D')."""
        return gradient

    @property
    def fused(self) -> fused_mlp.Layers:
        """The network as the compiled pass knows it."""
        return fused_mlp.Layers(self.sizes, self.activation)

    @property
    def n_together(self) -> int | None:
        """As many as memory allows."""
        return None

    def for_training(self) -> Self:
        """The same."""
        return self

    def in_full_precision(self) -> Self:
        """The same."""
        return self

    def differentiable(self, theta: Tensor, x: Tensor) -> tuple[Tensor, VJP]:
        """Outputs (P, N, C), and their vector-Jacobian product, which gives gradients by theta.

        Written out, since recording and replaying the same products takes longer than making them.
        """
        weights = self.weights(theta)
        before, after = self._passed(weights, x)

        def vjp(gradient: Tensor) -> Tensor:
            result = torch.empty_like(weights)
            g = gradient.mT  # (P, C, N)
            layers = list(zip(self.layers[::2], self.layers[1::2], strict=True))
            for layer in reversed(range(1, len(layers))):
                weight, bias = layers[layer]
                result[:, weight.start : weight.stop] = (g @ after[layer - 1].mT).flatten(1)
                result[:, bias.start : bias.stop] = g.sum(-1)
                w = weights[:, weight.start : weight.stop].reshape(-1, *weight.shape)
                g = _through(
                    self.activation, before[layer - 1], after[layer - 1], w.mT @ g
                )  # (P, H, N)
            weight, bias = layers[0]
            result[:, weight.start : weight.stop] = (g.reshape(-1, len(x)) @ x).reshape(
                len(weights), -1
            )
            result[:, bias.start : bias.stop] = g.sum(-1)
            return self.pulled_back(theta, weights, result)

        return before[-1].mT, vjp

    def _passed(self, weights: Tensor, x: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        """Every layer before its activation, and all but the last after it: each (P, H, N).

        The first layer of all networks is one product [W_1 ... W_P] x^T.
        """
        self._check(x)
        parameters = list(self.layers.unflatten(weights).values())
        weight, bias = parameters[0], parameters[1]  # (P, H, d), (P, H)
        first = torch.addmm(
            bias.reshape(-1, 1), weight.reshape(-1, weight.shape[-1]), x.mT
        )  # (P * H, N)
        before, after = [first.reshape(len(weights), -1, len(x))], []
        for weight, bias in zip(parameters[2::2], parameters[3::2], strict=True):
            after.append(ACTIVATIONS[self.activation][0](before[-1]))
            before.append(torch.baddbmm(bias[..., None], weight, after[-1]))  # (P, H', N)
        return before, after

    def _check(self, x: Tensor) -> None:
        if x.ndim != 2 or x.shape[1] != self.sizes[0]:
            raise InputError(f"x must be (n_rows, {self.sizes[0]}); got {tuple(x.shape)}.")
