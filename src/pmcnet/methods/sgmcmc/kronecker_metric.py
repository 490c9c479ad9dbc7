"""The metric of directions that many weights share; see `diagonal_metric`.

A layer's weights are a tensor (o, i, k) of outputs, inputs, and what one input has, such as the
pixels of a filter. With g a batch's gradient of them, A = E[g g'] over outputs, B over inputs and C
over the rest have the same trace t, and

    E[vec(g) vec(g)'] ~ A x B x C / t^2   (Gupta, Koren and Singer, 2018; Martens and Grosse, 2015)

so that its eigenvectors are products of theirs. The eigenvalues are not: the product is a rough
approximation, and how much batches inform each of these directions is measured, as the mean square
of gradients along it (George et al., 2018). Each chain has its own: hidden units of different
networks have nothing to do with each other.
"""

from collections.abc import Mapping
from itertools import groupby
from math import prod
from typing import NamedTuple, Self

import torch
from torch import Tensor

from pmcnet.bnn.networks.base import Layout, Parameter
from pmcnet.methods.sgmcmc.diagonal_metric import Diagonal, newest

_ALL_AT_FIRST, _EVERY = 64, 2  # batches that directions are learned from
_LESSONS = 128
_MOST_KNOWN = 100.0  # batches that earlier squares count for, beside those since the last renewal


class Kronecker:
    """1 / C = 1 + k F in units of the prior's standard deviations, F by layers and chains.

    Vectors have the diagonal of F.

    Args:
        layout: of the network.
        precision: of the prior (D,).
        information: k.
        n_chains: P.
    """

    def __init__(
        self, layout: Layout, precision: Tensor, information: float, n_chains: int
    ) -> None:
        self._rest, self._information, self.precision = (
            Diagonal(precision, information),
            information,
            precision,
        )
        self._deviation = precision.rsqrt()
        self._groups = [_SameShape.of_shape(group, precision.device) for group in _by_shape(layout)]
        self._learned = precision.new_zeros(
            n_chains, sum(group.n_numbers for group in self._groups)
        )  # A, B and C
        self._used = torch.zeros_like(self._learned)
        # squares along all directions, and last how many batches they are of: their mean in use,
        # the sum since then
        self._known = precision.new_zeros(
            n_chains, sum(group.n_weights for group in self._groups) + 1
        )
        self._seen = torch.zeros_like(self._known)
        self._bases: list[_Basis] = []
        self.restore()

    @property
    def n_lessons(self) -> int:
        """So many that directions are known, and their mean squares.

        In directions that are not known yet steps are as long as the prior allows.
        """
        return _LESSONS

    @property
    def square(self) -> Tensor:
        """Mean square (D,) of recent gradients, over batches and chains."""
        return self._rest.square

    @property
    def parts(self) -> dict[str, Tensor]:
        """The mean square; factors, and squares along directions, as learned and as used."""
        return self._rest.parts | self._own_parts

    @property
    def _own_parts(self) -> dict[str, Tensor]:
        """Those of each chain (P, n)."""
        return {
            "learned": self._learned,
            "used": self._used,
            "known": self._known,
            "seen": self._seen,
        }

    def learn(self, score: Tensor, n_before: int) -> None:
        """A batch's gradients (P, D), after so many others."""
        self._rest.learn(score, n_before)
        if n_before >= _ALL_AT_FIRST and n_before % _EVERY:
            return
        score, share = (
            score * self._deviation,
            newest(n_before, 1 if n_before < _ALL_AT_FIRST else _EVERY),
        )
        parts = [group.of(score) for group in self._groups]
        found = [
            axis
            for group, part in zip(self._groups, parts, strict=True)
            for axis in group.products(part)
        ]
        self._learned.lerp_(torch.cat([axis.flatten(1) for axis in found], dim=1), share)
        along = [
            basis.turned(part).square().flatten(1)
            for basis, part in zip(self._bases, parts, strict=True)
        ]
        self._seen += torch.cat([*along, torch.ones_like(score[:, :1])], dim=1)

    def renew(self) -> None:
        """From here on, what has been learned: other directions, and what is known of them."""
        before = self._bases
        self._used.copy_(self._learned)
        self.restore()
        n_known, n_seen = self._known[:, -1:].clamp_max(_MOST_KNOWN), self._seen[:, -1:]
        mean = (n_known * self._known + self._seen) / (n_known + n_seen).clamp_min(1)
        squares = [
            new.from_other(old, square)
            for new, old, square in zip(self._bases, before, self._along(mean), strict=True)
        ]
        self._known.copy_(
            torch.cat([*(square.flatten(1) for square in squares), n_known + n_seen], dim=1)
        )
        self._seen.zero_()

    def restore(self) -> None:
        """What was used last, from the parts."""
        pieces = torch.split(self._used, [group.n_numbers for group in self._groups], dim=1)
        self._bases = [
            _Basis.of(*group.axes(piece)) for group, piece in zip(self._groups, pieces, strict=True)
        ]

    def reset(self, before: Mapping[str, Tensor], diverged: Tensor) -> None:
        """Know of these chains (P,) what the parts were before."""
        self._rest.reset(before, diverged)
        for name, part in self._own_parts.items():
            part[diverged] = before[name][diverged]
        self.restore()

    def _along(self, squares: Tensor) -> list[Tensor]:
        """Of squares along all directions those of each shape (P, c, o, i k)."""
        parts = torch.split(squares[:, :-1], [group.n_weights for group in self._groups], dim=1)
        return [
            part.reshape(len(part), n, n_out, -1)
            for part, (n, n_out, *_) in zip(
                parts, (group.shape for group in self._groups), strict=True
            )
        ]

    def accelerate(
        self,
        velocity: Tensor,
        gradient: Tensor,
        noise: Tensor,
        *,
        step: float,
        spread: float,
        count: float,
    ) -> None:
        """Add h C g + sqrt(h s C) z to velocities (P, D)."""
        added = torch.zeros_like(velocity)
        self._rest.accelerate(added, gradient, noise, step=step, spread=spread, count=count)
        gradient = gradient * self._deviation
        for group, basis, square in zip(
            self._groups, self._bases, self._along(self._known), strict=True
        ):
            scale = step / (1 + self._information * count * square)  # h C, (P, c, o, i k)
            turned = (
                basis.turned(group.of(gradient)) * scale
                + group.of(noise).flatten(3) * (spread * scale).sqrt()
            )
            added[:, group.places] = basis.back(turned).flatten(1) * self._deviation[group.places]
        velocity += added

    def curvature(self, count: float) -> Tensor:
        """The diagonal of 1 / C (D,), for all chains."""
        return self._rest.curvature(count)


class _SameShape(NamedTuple):
    """The c weight tensors of one shape (o, i, k), and their places in the vector (c o i k,)."""

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

    @property
    def n_weights(self) -> int:
        """Of all of them."""
        return prod(self.shape)

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
    """Directions of weights: eigenvectors over outputs (P, c, o, o), the rest (P, c, i k, i k)."""

    left: Tensor
    right: Tensor

    @classmethod
    def of(cls, *axes: Tensor) -> Self:
        """Those of A x B x C; of nothing, or of a chain that diverged, the weights' own."""
        left, middle, last = (torch.linalg.eigh(_finite(axis)).eigenvectors for axis in axes)
        return cls(
            left, torch.einsum("...ij,...kl->...ikjl", middle, last).flatten(-4, -3).flatten(-2)
        )

    def turned(self, weights: Tensor) -> Tensor:
        """Weights (P, c, o, i, k) along the directions (P, c, o, i k)."""
        return self.left.mT @ weights.flatten(3) @ self.right

    def back(self, turned: Tensor) -> Tensor:
        """The weights (P, c, o, i k) again."""
        return self.left @ turned @ self.right.mT

    def from_other(self, other: "_Basis", square: Tensor) -> Tensor:
        """Mean squares along these directions, of what has no correlations along the others."""
        left, right = (self.left.mT @ other.left).square(), (self.right.mT @ other.right).square()
        return left @ square @ right.mT


def _finite(axis: Tensor) -> Tensor:
    """Matrices (P, c, size, size), zero where a chain has diverged: `eigh` refuses all for one."""
    return torch.where(axis.isfinite().all((-2, -1), keepdim=True), axis, 0.0)


def _by_shape(layout: Layout) -> list[list[Parameter]]:
    """Weights of the same shape together; vectors are left out."""
    weights = sorted((p for p in layout if len(p.shape) > 1), key=lambda p: p.shape)
    return [list(group) for _, group in groupby(weights, key=lambda p: p.shape)]
