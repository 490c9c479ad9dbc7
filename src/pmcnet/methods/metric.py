"""Metrics of stochastic gradient steps, C in v <- v + h C g + sqrt(h s C) z, learned from gradients of mini-batches.

C is the inverse of the prior's precision and of a share k of the Fisher information that batches show:
F = (N / n) E[g g'], the mean over recent batches. Noise of batches heats a direction of information f by about
h N / (2 a n) * f C, with friction a, and so, in units of the prior's variance, by at most h N / (2 a n k).

`Diagonal` has the diagonal of F alone. `Kronecker` knows directions that many weights share: a layer's weights are a
tensor (o, i, k) of outputs, inputs, and what one input has, such as the pixels of a filter. With g a batch's gradient
of them, A = E[g g'] over outputs, B over inputs and C over the rest have the same trace t, and

    E[vec(g) vec(g)'] ~ A x B x C / t^2   (Gupta, Koren and Singer, 2018; Martens and Grosse, 2015)

so that its eigenvectors are products of theirs. Each chain has its own: hidden units of different networks have nothing
to do with each other.
"""

from itertools import groupby
from math import prod
from typing import NamedTuple, Protocol, Self

import torch
from torch import Tensor

from pmcnet.bnn.network import Layout, Parameter

_FORGET = 0.99
_ALL_AT_FIRST, _EVERY = 64, 2  # batches that factors are learned from


class Metric(Protocol):
    """Directions and lengths of steps of P chains."""

    @property
    def square(self) -> Tensor:
        """Mean square (D,) of recent gradients, over batches and chains."""
        ...

    @property
    def parts(self) -> dict[str, Tensor]:
        """What a checkpoint needs, by name."""
        ...

    def learn(self, score: Tensor, n_before: int) -> None:
        """A batch's gradients (P, D), after so many others."""
        ...

    def renew(self) -> None:
        """From here on, what has been learned."""
        ...

    def again(self) -> None:
        """What was used last, from the parts."""
        ...

    def push(
        self, velocity: Tensor, gradient: Tensor, noise: Tensor, *, step: float, spread: float, count: float
    ) -> None:
        """Add h C g + sqrt(h s C) z to velocities (P, D), where F is the mean square of gradients `count` times."""
        ...

    def curvature(self, count: float) -> Tensor:
        """The diagonal of 1 / C (D,), for all chains, likewise."""
        ...


class Diagonal:
    """1 / C = prior + k F, all chains alike.

    Args:
        precision: of the prior (D,).
        information: k; with 0 the metric is the prior's.
    """

    def __init__(self, precision: Tensor, information: float) -> None:
        self._precision, self._information = precision, information
        self._square = torch.zeros_like(precision)

    @property
    def square(self) -> Tensor:
        """Mean square (D,) of recent gradients, over batches and chains."""
        return self._square

    @property
    def parts(self) -> dict[str, Tensor]:
        """The mean square."""
        return {"square": self.square}

    def learn(self, score: Tensor, n_before: int) -> None:
        """A batch's gradients (P, D), after so many others."""
        self._square.lerp_(score.square().mean(0), _newest(n_before))

    def renew(self) -> None:
        """Nothing to do: what has been learned is used at once."""

    again = renew

    def push(
        self, velocity: Tensor, gradient: Tensor, noise: Tensor, *, step: float, spread: float, count: float
    ) -> None:
        """Add h C g + sqrt(h s C) z to velocities (P, D)."""
        scale = step / self.curvature(count)  # h C, (D,)
        velocity.addcmul_(gradient, scale).addcmul_(noise, (spread * scale).sqrt())

    def curvature(self, count: float) -> Tensor:
        """1 / C (D,), where F is the mean square of gradients so many times."""
        return self._precision + self._information * count * self.square if self._information else self._precision


class Kronecker:
    """1 / C = 1 + k F in units of the prior's standard deviations, F by layers and chains; vectors have its diagonal.

    Args:
        layout: of the network.
        precision: of the prior (D,).
        information: k.
        n_chains: P.
    """

    def __init__(self, layout: Layout, precision: Tensor, information: float, n_chains: int) -> None:
        self._rest, self._information = Diagonal(precision, information), information
        self._deviation = precision.rsqrt()
        self._alike = [_Alike.of_shape(group, precision.device) for group in _by_shape(layout)]
        n_numbers = sum(alike.n_numbers for alike in self._alike)
        self._learned = precision.new_zeros(n_chains, n_numbers)  # A, B and C of all layers
        self._used = torch.zeros_like(self._learned)
        self._bases: list[_Basis] = []

    @property
    def square(self) -> Tensor:
        """Mean square (D,) of recent gradients, over batches and chains."""
        return self._rest.square

    @property
    def parts(self) -> dict[str, Tensor]:
        """The mean square, and the factors: as they are known, and as they are used."""
        return self._rest.parts | {"learned": self._learned, "used": self._used}

    def learn(self, score: Tensor, n_before: int) -> None:
        """A batch's gradients (P, D), after so many others."""
        self._rest.learn(score, n_before)
        if n_before >= _ALL_AT_FIRST and n_before % _EVERY:
            return
        score, newest = score * self._deviation, _newest(n_before, 1 if n_before < _ALL_AT_FIRST else _EVERY)
        found = [axis for alike in self._alike for axis in alike.products(alike.of(score))]
        self._learned.lerp_(torch.cat([axis.flatten(1) for axis in found], dim=1), newest)

    def renew(self) -> None:
        """From here on, what has been learned."""
        self._used.copy_(self._learned)
        self.again()

    def again(self) -> None:
        """What was used last, from the parts."""
        pieces = torch.split(self._used, [alike.n_numbers for alike in self._alike], dim=1)
        self._bases = [_Basis.of(*alike.axes(piece)) for alike, piece in zip(self._alike, pieces, strict=True)]

    def push(
        self, velocity: Tensor, gradient: Tensor, noise: Tensor, *, step: float, spread: float, count: float
    ) -> None:
        """Add h C g + sqrt(h s C) z to velocities (P, D)."""
        added = torch.zeros_like(velocity)
        self._rest.push(added, gradient, noise, step=step, spread=spread, count=count)
        gradient = gradient * self._deviation
        for alike, basis in zip(self._alike, self._bases, strict=True):
            scale = step / (1 + self._information * count * basis.value)  # h C, (P, c, o, i k)
            turned = basis.left.mT @ alike.of(gradient).flatten(3) @ basis.right
            turned = turned * scale + alike.of(noise).flatten(3) * (spread * scale).sqrt()
            added[:, alike.places] = (basis.left @ turned @ basis.right.mT).flatten(1) * self._deviation[alike.places]
        velocity += added

    def curvature(self, count: float) -> Tensor:
        """The diagonal of 1 / C (D,), for all chains."""
        return self._rest.curvature(count)


class _Alike(NamedTuple):
    """The c weight tensors of one shape (o, i, k), and where they lie in the flat vector (c o i k,)."""

    places: Tensor
    shape: tuple[int, int, int, int]

    @classmethod
    def of_shape(cls, parameters: list[Parameter], device: torch.device) -> Self:
        n_out, n_in, *rest = parameters[0].shape
        ranges = [torch.arange(p.start, p.stop, device=device) for p in parameters]
        return cls(torch.cat(ranges), (len(parameters), n_out, n_in, prod(rest)))

    @property
    def n_numbers(self) -> int:
        """Of A, B and C of all of them."""
        n, *sizes = self.shape
        return n * sum(size * size for size in sizes)

    def of(self, flat: Tensor) -> Tensor:
        """Of flat vectors (P, D) the part (P, c, o, i, k)."""
        return flat[:, self.places].reshape(len(flat), *self.shape)

    def products(self, gradient: Tensor) -> list[Tensor]:
        """g g' (P, c, size, size) over each axis of gradients (P, c, o, i, k)."""
        rows = (gradient.movedim(axis, 2).flatten(3) for axis in (2, 3, 4))
        return [each @ each.mT for each in rows]

    def axes(self, numbers: Tensor) -> list[Tensor]:
        """A, B and C (P, c, size, size) from all of their numbers (P, n)."""
        n, *sizes = self.shape
        parts = torch.split(numbers, [n * size * size for size in sizes], dim=1)
        return [part.reshape(-1, n, size, size) for part, size in zip(parts, sizes, strict=True)]


class _Basis(NamedTuple):
    """Eigenvectors over outputs (P, c, o, o) and the rest (P, c, i k, i k), and eigenvalues (P, c, o, i k)."""

    left: Tensor
    right: Tensor
    value: Tensor

    @classmethod
    def of(cls, *axes: Tensor) -> Self:
        """Those of A x B x C / t^2; of nothing, zeros, and likewise of a chain that diverged."""
        axes = tuple(axis.nan_to_num(0.0, 0.0, 0.0) for axis in axes)
        trace = axes[0].diagonal(dim1=-2, dim2=-1).sum(-1).clamp_min(torch.finfo(axes[0].dtype).tiny)[..., None]
        (a, left), (b, middle), (c, last) = (torch.linalg.eigh(axis) for axis in axes)
        a, b, c = a.clamp_min(0), b.clamp_min(0) / trace, c.clamp_min(0) / trace
        right = torch.einsum("...ij,...kl->...ikjl", middle, last).flatten(-4, -3).flatten(-2)
        return cls(left, right, torch.einsum("...o,...i,...k->...oik", a, b, c).flatten(-2))


def _by_shape(layout: Layout) -> list[list[Parameter]]:
    """Weights of the same shape together; vectors are left out."""
    weights = sorted((p for p in layout if len(p.shape) > 1), key=lambda p: p.shape)
    return [list(group) for _, group in groupby(weights, key=lambda p: p.shape)]


def _newest(n_before: int, every: int = 1) -> float:
    """Weight of the newest batch in a mean that forgets, where one of so many is taken."""
    return every * max(1 - _FORGET, 1 / (n_before + 1))
