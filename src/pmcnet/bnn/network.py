"""Networks as functions of a flat parameter vector: P networks on N inputs in one call.

`MLP` is written for populations: all networks share the input, so their first layers are one matrix product.
`ModuleNetwork` takes any `nn.Module` and maps it over the population. Both order parameters as
`nn.Module.named_parameters` does, so an MLP and its module read the same vector.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from pmcnet.bnn.layers import refuse_random_layers, uses_batch_norm
from pmcnet.errors import InputError

ACTIVATIONS = {
    "tanh": (torch.tanh, nn.Tanh),
    "relu": (torch.relu, nn.ReLU),
    "sigmoid": (torch.sigmoid, nn.Sigmoid),
    "silu": (nn.functional.silu, nn.SiLU),
}


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
            parameters.append(Parameter(name, tuple(shape), start, stop, max(1, math.prod(shape[1:]))))
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
            raise InputError(f"sizes must hold at least an input and an output size, all positive; got {self.sizes}.")
        if self.activation not in ACTIVATIONS:
            raise InputError(f"activation must be one of {', '.join(ACTIVATIONS)}; got {self.activation!r}.")

    @property
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
        """Outputs (P, N, C); the first layer of all networks is one product x [W_1 ... W_P]."""
        if x.ndim != 2 or x.shape[1] != self.sizes[0]:
            raise InputError(f"x must be (n_rows, {self.sizes[0]}); got {tuple(x.shape)}.")
        activate = ACTIVATIONS[self.activation][0]
        parameters = list(self.layout.unflatten(theta).values())
        weight, bias = parameters[0], parameters[1]  # (P, H, d), (P, H)
        hidden = torch.addmm(bias.reshape(-1), x, weight.reshape(-1, weight.shape[-1]).mT)  # (N, P * H)
        hidden = hidden.reshape(len(x), len(theta), -1).transpose(0, 1)  # (P, N, H)
        for weight, bias in zip(parameters[2::2], parameters[3::2], strict=True):
            hidden = torch.baddbmm(bias[:, None], activate(hidden), weight.mT)  # (P, N, H')
        return hidden


class ModuleNetwork:
    """Any `nn.Module` as a function of its flat parameters, mapped over a population.

    Buffers (running statistics and the like) are shared by all networks and stay as they are. The module is used in
    evaluation mode; `batch_norm="batch"` normalises by the statistics of the rows given instead of by the stored ones.

    Args:
        module: maps (N, ...) to (N, C).
        batch_norm: "stored" or "batch".
        random_layers: "refuse" modules with dropout and other randomness, or "freeze" them in evaluation mode.
        numbers_per_input: intermediate numbers of one network on one input, for memory planning.
    """

    def __init__(
        self,
        module: nn.Module,
        *,
        batch_norm: Literal["stored", "batch"] = "stored",
        random_layers: Literal["refuse", "freeze"] = "refuse",
        numbers_per_input: int | None = None,
    ) -> None:
        if random_layers == "refuse":
            refuse_random_layers(module)
        self.module = module.eval()
        if batch_norm == "batch":
            uses_batch_norm(module)
        self._layout = Layout.of([(name, tuple(p.shape)) for name, p in module.named_parameters()])
        if not self._layout:
            raise InputError(f"{type(module).__name__} has no parameters, so there is nothing to infer.")
        self._numbers_per_input = numbers_per_input or 4 * self._layout.dim

    @property
    def layout(self) -> Layout:
        """The module's named parameters."""
        return self._layout

    @property
    def numbers_per_input(self) -> int:
        """As given, or four per parameter, which is far too many for convolutions to be exceeded."""
        return self._numbers_per_input

    def initial(self) -> Tensor:
        """The module's own parameters as a flat vector (D,)."""
        return self._layout.flatten(dict(self.module.named_parameters()))

    def __call__(self, theta: Tensor, x: Tensor) -> Tensor:
        """Outputs (P, N, C)."""
        buffers = {name: b.to(theta) if b.is_floating_point() else b for name, b in self.module.named_buffers()}

        def one(parameters: dict[str, Tensor]) -> Tensor:
            output: Tensor = functional_call(self.module, {**parameters, **buffers}, (x,))
            return output

        outputs: Tensor = vmap(one)(self._layout.unflatten(theta))
        if outputs.ndim != 3:
            raise InputError(
                f"the module must map (n_rows, ...) to (n_rows, n_outputs); for {len(x)} rows it gave "
                f"{tuple(outputs.shape[1:])}."
            )
        return outputs
