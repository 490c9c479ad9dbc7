"""What a network is: a function of a flat parameter vector, P networks on N inputs in one call."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, Self

import torch
from torch import Tensor


class Parameter(NamedTuple):
    """Where one tensor of a network lies in the flat vector; `fan_in` inputs make each output."""

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
        """The layout of named shapes; fan-in is the product of all axes but the first."""
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


VJP = Callable[[Tensor], Tensor]
"""Vector-Jacobian product: from the gradient by outputs (P, N, C) to that by parameters (P, D)."""


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

    def differentiable(self, theta: Tensor, x: Tensor) -> tuple[Tensor, VJP]:
        """Outputs (P, N, C), and their vector-Jacobian product, which gives gradients by theta."""
        ...

    def for_training(self) -> Self:
        """The network with the same parameters as it is trained on mini-batches."""
        ...

    def in_full_precision(self) -> Self:
        """The same function with products in full precision, to compare values that are close."""
        ...

    def __call__(self, theta: Tensor, x: Tensor) -> Tensor:
        """Parameters (P, D) and inputs (N, ...) -> outputs (P, N, C)."""
        ...
