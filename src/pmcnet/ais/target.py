"""What is sampled: an unnormalised log-density on R^D, evaluated in batches."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from pmcnet.errors import InputError, TargetError

LogDensity = Callable[[Tensor], Tensor]

DEFAULT_MEMORY = 1 << 30
"""Bytes that one evaluation may use for temporaries unless the target says otherwise: 1 GiB."""


class ValueAndScore(NamedTuple):
    """log pi (n,) and its gradient, the score (n, D), from one pass."""

    value: Tensor
    score: Tensor


class Target(Protocol):
    """An unnormalised log-density log pi on R^D.

    Points come as (n, D). Values return as (n,) in the points' dtype or in float64; -inf means zero
    density, NaN and +inf are errors. Memory is a property of the evaluation, so it is said here and
    not in the algorithm.
    """

    @property
    def dim(self) -> int:
        """D, the number of coordinates."""
        ...

    @property
    def memory(self) -> int:
        """Bytes that evaluations of this target and of its proposals may use for temporaries."""
        ...

    @property
    def bytes_per_point(self) -> int:
        """Bytes of temporaries per point; with `memory` it gives the chunk size."""
        ...

    def log_density(self, theta: Tensor) -> Tensor:
        """Log pi at n points: (n, D) -> (n,)."""
        ...

    def value_and_score(self, theta: Tensor) -> ValueAndScore:
        """Log pi and its gradient at n points in one pass."""
        ...

    def hessian(self, theta: Tensor) -> Tensor:
        """Second derivatives of log pi at n points: (n, D) -> (n, D, D)."""
        ...

    def factors(self) -> "Sequence[Target]":
        """Targets whose log-densities sum to log pi (mini-batches), or the target itself."""
        ...


@dataclass(frozen=True)
class FunctionTarget:
    """A target made of a batched torch function.

    Args:
        log_density: log pi, (n, D) -> (n,); row i of the result depends on row i of the input
            alone.
        dim: D.
        score: gradient of log pi, (n, D) -> (n, D); by automatic differentiation when absent.
        second_derivative: Hessian of log pi, (n, D) -> (n, D, D); by automatic differentiation when
            absent.
        parts: functions like `log_density` that sum to it: the mini-batches of incremental steps.
        memory: bytes that evaluations may use for temporaries.
        bytes_per_point: temporaries of one point; the default allows for 16 float64 copies of it.
    """

    log_density: LogDensity
    dim: int
    score: LogDensity | None = None
    second_derivative: LogDensity | None = None
    parts: tuple[LogDensity, ...] = ()
    memory: int = DEFAULT_MEMORY
    bytes_per_point: int | None = None

    def __post_init__(self) -> None:
        if self.bytes_per_point is None:
            object.__setattr__(self, "bytes_per_point", 16 * 8 * self.dim)
        for name in ("dim", "memory", "bytes_per_point"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InputError(f"{name} must be a positive whole number; got {value!r}.")

    def value_and_score(self, theta: Tensor) -> ValueAndScore:
        """Log pi and its gradient, from the given score or by one reverse pass."""
        if self.score is not None:
            return ValueAndScore(self.log_density(theta), self.score(theta))
        with torch.enable_grad():
            point = theta.detach().requires_grad_()
            value = self._differentiable(self.log_density(point))
            (score,) = torch.autograd.grad(value.sum(), point)
        return ValueAndScore(value.detach(), score)

    def hessian(self, theta: Tensor) -> Tensor:
        """Second derivatives, as given or by one reverse pass per coordinate over the score."""
        if self.second_derivative is not None:
            return self.second_derivative(theta)
        with torch.enable_grad():
            point = theta.detach().requires_grad_()
            if self.score is not None:
                score = self._differentiable(self.score(point))
            else:
                value = self._differentiable(self.log_density(point))
                (score,) = torch.autograd.grad(value.sum(), point, create_graph=True)
            return torch.stack(
                [_row_gradient(score[:, d], point) for d in range(self.dim)], dim=1
            )  # (n, D, D)

    def factors(self) -> Sequence["FunctionTarget"]:
        """One target for each part; the target itself when it has none."""
        if not self.parts:
            return (self,)
        return [
            replace(self, log_density=part, score=None, second_derivative=None, parts=())
            for part in self.parts
        ]

    def _differentiable(self, value: Tensor) -> Tensor:
        if not value.requires_grad:
            raise TargetError(
                "the target does not depend on theta through torch operations, so it cannot be "
                "differentiated. Write "
                "it in torch, pass score= and second_derivative=, or use a variant without "
                "gradients "
                "(ais.gradfree, ais.dm_pmc)."
            )
        return value


def _row_gradient(entries: Tensor, point: Tensor) -> Tensor:
    """Gradient of each of n entries by its own row of `point` (n, D); 0 where constant."""
    if not entries.requires_grad:
        return torch.zeros_like(point)
    (gradient,) = torch.autograd.grad(
        entries.sum(), point, retain_graph=True, materialize_grads=True
    )
    return gradient
