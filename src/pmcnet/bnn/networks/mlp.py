"""Networks as functions of a flat parameter vector: P networks on N inputs in one call.

`MLP` is written for populations: all networks share the input, so their first layers are one matrix
product. Any other `nn.Module` is a `ModuleNetwork`. Both order parameters as
`nn.Module.named_parameters` does, so an MLP and its module read the same vector.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, Protocol, Self

import torch
from torch import Tensor, nn

from pmcnet.errors import InputError

ACTIVATIONS = {
    "tanh": (torch.tanh, nn.Tanh),
    "relu": (torch.relu, nn.ReLU),
    "sigmoid": (torch.sigmoid, nn.Sigmoid),
    "silu": (nn.functional.silu, nn.SiLU),
}


def _through(activation: str, before: Tensor, after: Tensor, gradient: Tensor) -> Tensor:
    """The gradient with respect to `before`, from that with respect to `after` = activation(before); overwritten."""
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


class Parameter(NamedTuple):
    """Where one tensor of a network lies in the flat vector, and how many inputs each of its outputs sums."""

    name: str
    shape: tuple[int, ...]
    start: int
    stop: int
    fan_in: int

    @property
    def is_bias(self) -> bool:
        """Whether it is added rather than multiplied."""
        return len(self.shape) == 1


class Layout(tuple[Parameter, ...]):
    """The parameters of a network in the order of its flat vector."""

    @classmethod
    def of(cls, shapes: Sequence[tuple[str, tuple[int, ...]]]) -> "Layout":
        """The layout of named shapes; fan-in is the product of all but the first axis, 1 for vectors."""
        parameters, start = [], 0
        for name, shape in shapes:
            stop = start + math.prod(shape)
            parameters.append(
                Parameter(name, tuple(shape), start, stop, max(1, math.prod(shape[1:])))
            )
            start = stop
        return cls(parameters)

    @property
    def dim(self) -> int:
        """Length of the flat vector."""
        return self[-1].stop if self else 0

    def unflatten(self, theta: Tensor) -> dict[str, Tensor]:
        """Flat vectors (..., D) -> named tensors (..., *shape), as views."""
        leading = theta.shape[:-1]
        return {p.name: theta[..., p.start : p.stop].reshape(*leading, *p.shape) for p in self}

    def flatten(self, tensors: dict[str, Tensor]) -> Tensor:
        """Named tensors -> flat vector (D,)."""
        return torch.cat([tensors[p.name].detach().reshape(-1) for p in self])


Pull = Callable[[Tensor], Tensor]
"""From a gradient with respect to outputs (P, N, C) to one with respect to parameters (P, D)."""


class Network(Protocol):
    """P networks given as flat vectors, evaluated on N shared inputs."""

    @property
    def layout(self) -> Layout:
        """What lies where in the flat vector."""
        ...

    @property
    def numbers_per_input(self) -> int:
        """Intermediate numbers of one network on one input; with the dtype it gives memory."""
        ...

    @property
    def n_together(self) -> int | None:
        """How many networks are best evaluated in one call; None for as many as memory allows."""
        ...

    def differentiable(self, theta: Tensor, x: Tensor) -> tuple[Tensor, Pull]:
        """Outputs (P, N, C), and the map from a gradient with respect to them to one with respect to theta (P, D)."""
        ...

    def for_training(self) -> Self:
        """The network with the same parameters as it is trained on mini-batches."""
        ...

    def in_full_precision(self) -> Self:
        """The same function without rounding of products, for comparisons of values that are nearly equal."""
        ...

    def __call__(self, theta: Tensor, x: Tensor) -> Tensor:
        """Parameters (P, D) and inputs (N, ...) -> outputs (P, N, C)."""
        ...


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

    @cached_property
    def layout(self) -> Layout:
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
        """Outputs (P, N, C); the first layer of all networks is one product [W_1 ... W_P] x^T."""
        return self._layers(theta, x)[0][-1].mT

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

    def differentiable(self, theta: Tensor, x: Tensor) -> tuple[Tensor, Pull]:
        """Outputs (P, N, C), and the map from a gradient with respect to them to one with respect to theta (P, D).

        Written out, since recording and replaying the same products takes longer than making them.
        """
        before, after = self._layers(theta, x)

        def pull(gradient: Tensor) -> Tensor:
            result = torch.empty_like(theta)
            g = gradient.mT  # (P, C, N)
            layers = list(zip(self.layout[::2], self.layout[1::2], strict=True))
            for layer in reversed(range(1, len(layers))):
                weight, bias = layers[layer]
                result[:, weight.start : weight.stop] = (g @ after[layer - 1].mT).flatten(1)
                result[:, bias.start : bias.stop] = g.sum(-1)
                w = theta[:, weight.start : weight.stop].reshape(-1, *weight.shape)
                g = _through(
                    self.activation, before[layer - 1], after[layer - 1], w.mT @ g
                )  # (P, H, N)
            weight, bias = layers[0]
            result[:, weight.start : weight.stop] = (g.reshape(-1, len(x)) @ x).reshape(
                len(theta), -1
            )
            result[:, bias.start : bias.stop] = g.sum(-1)
            return result

        return before[-1].mT, pull

    def _layers(self, theta: Tensor, x: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        """Every layer before and, but for the last, after its activation: (P, H, N), a network's block contiguous."""
        if x.ndim != 2 or x.shape[1] != self.sizes[0]:
            raise InputError(f"x must be (n_rows, {self.sizes[0]}); got {tuple(x.shape)}.")
        parameters = list(self.layout.unflatten(theta).values())
        weight, bias = parameters[0], parameters[1]  # (P, H, d), (P, H)
        first = torch.addmm(
            bias.reshape(-1, 1), weight.reshape(-1, weight.shape[-1]), x.mT
        )  # (P * H, N)
        before, after = [first.reshape(len(theta), -1, len(x))], []
        for weight, bias in zip(parameters[2::2], parameters[3::2], strict=True):
            after.append(ACTIVATIONS[self.activation][0](before[-1]))
            before.append(torch.baddbmm(bias[..., None], weight, after[-1]))  # (P, H', N)
        return before, after
