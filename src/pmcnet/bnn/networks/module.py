"""Any `nn.Module` as a function of its flat parameters, for a population of them."""

import math
from typing import Any, Literal, Self

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.nn.modules.conv import _ConvNd

from pmcnet.bnn.networks.base import VJP, Layout
from pmcnet.bnn.networks.compilation import Compiled
from pmcnet.bnn.networks.layers import (
    n_numbers,
    refuse_random_layers,
    with_channels_last,
    with_row_norm,
)
from pmcnet.bnn.networks.precision import PRECISIONS, Precision, in_precision
from pmcnet.errors import InputError

BatchNorm = Literal["stored", "batch", "reference"]

# From so many intermediate numbers per input on, one network fills the device and mapping over
# several only costs.
_LARGE = 100_000


class ModuleNetwork:
    """A module in evaluation mode, its parameters given as flat vectors.

    Small networks are mapped over the population in one call; large ones (from about 100 000
    intermediate numbers per input, such as ResNet-20), and on a CPU all with convolutions, run one
    after another.

    Batch normalisation makes a network's output depend on statistics, and they must belong to the
    parameters: "stored" uses the module's own for all networks; "batch" those of the rows given, as
    in training; "reference" those of a fixed set of rows, recomputed for every parameter vector by
    sending these rows along, so that the output is a function of parameters and input alone and its
    gradient is complete. Networks are trained with "batch".

    Args:
        module: maps (N, ...) to (N, C).
        batch_norm: "stored", "batch" or "reference".
        reference: the rows (R, ...) of "reference".
        random_layers: "refuse" modules with dropout and other randomness, or "freeze" them in
            evaluation mode.
        example: inputs (1, ...) from which intermediate numbers are counted; without it memory is
            planned for far more.
        numbers_per_input: intermediate numbers of one network on one input, instead of counting
            them.
        compiled: compile for shapes that come again, where there is a compiler, and search for fast
            convolutions.
        precision: "float32", "tf32" or "bf16": see `in_precision`.
    """

    def __init__(
        self,
        module: nn.Module,
        *,
        batch_norm: BatchNorm = "stored",
        reference: Tensor | None = None,
        random_layers: Literal["refuse", "freeze"] = "refuse",
        example: Tensor | None = None,
        numbers_per_input: int | None = None,
        compiled: bool = False,
        precision: Precision = "float32",
    ) -> None:
        if precision not in PRECISIONS:
            raise InputError(
                f"precision must be one of {', '.join(PRECISIONS)}; got {precision!r}."
            )
        if (batch_norm == "reference") != (reference is not None):
            raise InputError(
                'batch_norm="reference" and rows for reference= go together; give both or neither.'
            )
        if random_layers == "refuse":
            refuse_random_layers(module)
        self._given = (module, random_layers, compiled, precision)
        n_rows = 0 if reference is None else len(reference)
        self.module = (module if batch_norm == "stored" else with_row_norm(module, n_rows)).eval()
        self._batch_norm, self._reference, self._precision = batch_norm, reference, precision
        self._layout = Layout.of([(name, tuple(p.shape)) for name, p in module.named_parameters()])
        if not self._layout:
            raise InputError(
                f"{type(module).__name__} has no parameters, so there is nothing to infer."
            )
        if numbers_per_input is None and example is not None:
            numbers_per_input = 2 * n_numbers(self.module, example)  # and as many gradients
        self._numbers_per_input = numbers_per_input or 4 * self._layout.dim
        self.n_together = (
            1 if numbers_per_input is not None and numbers_per_input >= _LARGE else None
        )
        if self.n_together == 1:
            self.module = with_channels_last(self.module)
        self._run = self._one if self.n_together == 1 else self._mapped
        self._convolves = any(isinstance(layer, _ConvNd) for layer in self.module.modules())
        # made when asked for, and then kept with what they have compiled
        self._full: Self | None = None
        self._trained: Self | None = None
        self.compiled: Compiled | None = None
        if compiled:
            self.compiled = Compiled(self._run, alone=self.n_together == 1)

    @property
    def layout(self) -> Layout:
        """The module's named parameters."""
        return self._layout

    @property
    def numbers_per_input(self) -> int:
        """As given or counted, else four per parameter: more than any convolution needs."""
        return self._numbers_per_input

    @property
    def precision(self) -> Precision:
        """The precision of products."""
        return self._precision

    def initial(self) -> Tensor:
        """The module's own parameters as a flat vector (D,)."""
        return self._layout.flatten(dict(self.module.named_parameters()))

    def for_training(self) -> Self:
        """The same, except that a batch's own statistics replace those of reference rows."""
        if self._batch_norm != "reference":
            return self
        if self._trained is None:
            self._trained = self._changed(batch_norm="batch")
        return self._trained

    def in_full_precision(self) -> Self:
        """The same function, products in float32."""
        if self._precision == "float32":
            return self
        if self._full is None:
            self._full = self._changed(
                batch_norm=self._batch_norm, reference=self._reference, precision="float32"
            )
        return self._full

    def _changed(
        self,
        *,
        batch_norm: BatchNorm,
        reference: Tensor | None = None,
        precision: Precision | None = None,
    ) -> Self:
        module, random_layers, compiled, before = self._given
        return type(self)(
            module,
            batch_norm=batch_norm,
            reference=reference,
            random_layers=random_layers,
            numbers_per_input=self._numbers_per_input,
            compiled=compiled,
            precision=precision or before,
        )

    def __call__(self, theta: Tensor, x: Tensor) -> Tensor:
        """Outputs (P, N, C)."""
        outputs = torch.cat([self._outputs(piece, x) for piece in self._pieces(theta)])
        if outputs.ndim != 3:
            raise InputError(
                f"the module must map (n_rows, ...) to (n_rows, n_outputs); for {len(x)} rows it "
                f"gave {tuple(outputs.shape[1:])}."
            )
        return outputs

    def differentiable(self, theta: Tensor, x: Tensor) -> tuple[Tensor, VJP]:
        """Outputs (P, N, C), and their vector-Jacobian product, which gives gradients by theta."""
        if len(theta) > (self.n_together or len(theta)):
            outputs, vjps = zip(
                *(self.differentiable(piece, x) for piece in self._pieces(theta)), strict=True
            )
            return torch.cat(outputs), lambda g: torch.cat(
                [p(part[None]) for p, part in zip(vjps, g, strict=True)]
            )
        theta = theta.detach().requires_grad_()
        with torch.enable_grad():
            output = self._outputs(theta, x)

        def vjp(gradient: Tensor) -> Tensor:
            # products that were recorded in bf16 stay so
            precision: Precision = "float32" if self._precision == "float32" else "tf32"
            with in_precision(precision, x.device, search=self.compiled is not None):
                (found,) = torch.autograd.grad(output, theta, gradient.to(output.dtype))
            return found.clone() if self._overwritten else found

        return output.detach(), vjp

    def _pieces(self, theta: Tensor) -> tuple[Tensor, ...]:
        return torch.split(theta, self.n_together or max(1, len(theta)))

    @property
    def _overwritten(self) -> bool:
        """Whether what a call gives lies where the next call writes."""
        return self.compiled is not None and self.n_together == 1

    def _outputs(self, theta: Tensor, x: Tensor) -> Tensor:
        rows = x if self._reference is None else torch.cat([self._reference.to(x), x])
        if self.n_together == 1 and x.ndim == 4:
            rows = rows.contiguous(memory_format=torch.channels_last)
        with in_precision(self._precision, x.device, search=self.compiled is not None):
            outputs = (self.compiled or self._run)(theta, rows)
        n_reference = len(rows) - len(x)
        if self._overwritten:
            outputs = outputs.clone()
        return (outputs[:, n_reference:] if n_reference else outputs).to(x.dtype)

    def _mapped(self, theta: Tensor, x: Tensor) -> Tensor:
        parameters = self._parts(theta)
        if self._convolves and x.device.type == "cpu":  # grouped convolutions are slow there
            each = (
                {name: tensor[i] for name, tensor in parameters.items()} for i in range(len(theta))
            )
            return torch.stack([self._called(one, x) for one in each])
        outputs: Tensor = vmap(lambda p: self._called(p, x))(parameters)
        return outputs

    def _one(self, theta: Tensor, x: Tensor) -> Tensor:
        return self._called({name: tensor[0] for name, tensor in self._parts(theta).items()}, x)[
            None
        ]

    def _parts(self, theta: Tensor) -> dict[str, Tensor]:
        shapes = tuple(p.shape for p in self._layout)
        tensors = _Parts.apply(theta, shapes)  # type: ignore[no-untyped-call]
        return dict(zip((p.name for p in self._layout), tensors, strict=True))

    def _called(self, parameters: dict[str, Tensor], x: Tensor) -> Tensor:
        like = next(iter(parameters.values()))
        buffers = {
            name: b.to(like) if b.is_floating_point() else b
            for name, b in self.module.named_buffers()
        }
        output: Tensor = functional_call(self.module, {**parameters, **buffers}, (x,))
        return output


class _Parts(torch.autograd.Function):
    """Flat vectors (P, D) as tensors (P, *shape), whose gradients are joined once.

    The gradient of a slice would be as long as theta, for each of them.
    """

    @staticmethod
    def forward(theta: Tensor, shapes: tuple[tuple[int, ...], ...]) -> tuple[Tensor, ...]:
        parts = torch.split(theta, [math.prod(shape) for shape in shapes], dim=1)
        return tuple(
            part.reshape(len(theta), *shape) for part, shape in zip(parts, shapes, strict=True)
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Any], output: tuple[Tensor, ...]) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return torch.cat([gradient.flatten(1) for gradient in gradients], dim=1), None
