"""Sharing the work of a population between processes.

A population (proposals, chains, or groups of particles) is cut into blocks that do not depend on
the number of processes. Each process works on some of them, one block at a time, and all learn the
results of all; what is left is done by every process alike. So the answer does not depend on how
many there are.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

import torch
from torch import Tensor


class Communicator(Protocol):
    """One of several processes that run the same program."""

    @property
    def rank(self) -> int:
        """Which one this is, from 0."""
        ...

    @property
    def size(self) -> int:
        """How many there are."""
        ...

    def blocks(self, n: int) -> Sequence[slice]:
        """This process's blocks of n items; those of all processes cover them in order of rank."""
        ...

    def gather(self, n: int, parts: Sequence[Sequence[Tensor]]) -> tuple[Tensor, ...]:
        """What all processes found for n items.

        Args:
            n: items, as in `blocks`.
            parts: for each of this process's blocks the tensors that were found, the first axis
                over its items.

        Returns:
            The same tensors for all n.
        """
        ...

    def agreed(self, value: Tensor) -> Tensor:
        """The first process's value, so that rounding errors cannot make processes diverge."""
        ...

    def sum(self, value: Tensor) -> Tensor:
        """The sum of every process's value."""
        ...


class Serial:
    """One process: it has everything, as one block."""

    rank, size = 0, 1

    def blocks(self, n: int) -> Sequence[slice]:
        """All."""
        return [slice(0, n)]

    def gather(self, n: int, parts: Sequence[Sequence[Tensor]]) -> tuple[Tensor, ...]:
        """The one part, or those of its threads together."""
        if len(parts) == 1:
            return tuple(parts[0])
        return tuple(torch.cat(tensors) for tensors in zip(*parts, strict=True))

    def agreed(self, value: Tensor) -> Tensor:
        """The value."""
        return value

    def sum(self, value: Tensor) -> Tensor:
        """The value."""
        return value


SERIAL = Serial()


def shared(
    comm: Communicator, n: int, work: Callable[[slice], Sequence[Tensor]]
) -> tuple[Tensor, ...]:
    """What `work` finds for blocks of n items, each process working on its own, for all of them."""
    return comm.gather(n, [work(block) for block in comm.blocks(n)])


def agreed(comm: Communicator, value: float) -> float:
    """The first process's number."""
    return float(comm.agreed(torch.tensor(value, dtype=torch.float64)))
