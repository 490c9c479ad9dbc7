"""Moves of a population whose groups are shared between processes and threads.

A process makes one exchange per move, a thread none within it.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from pmcnet.ais.comm import Communicator, shared
from pmcnet.ais.hmc.inverse_mass import InverseMass, OneDiagonal
from pmcnet.ais.hmc.kernel import Kernel, Transition
from pmcnet.ais.hmc.preconditioners import grouped, n_groups
from pmcnet.ais.path import Path, Points
from pmcnet.ais.tiling import in_groups
from pmcnet.threads import even_slices, mapped, n_threads

PIECES = 2
"""Of a population for each thread, so that one that is late leaves work to the others."""


class SharedKernel:
    """Trajectories at one inverse temperature: each process moves its own groups.

    Args:
        path: of the target.
        beta: the inverse temperature, fixed.
        mass: the inverse mass matrices of all groups, which are equal parts of the population.
        comm: the processes.
        n_particles: P.
    """

    def __init__(
        self, path: Path, beta: float, mass: InverseMass, comm: Communicator, n_particles: int
    ) -> None:
        self._comm, self._n_groups = comm, mass.n_groups
        self._in_threads = path.least_piece is not None
        each = n_particles // self._n_groups
        self._blocks = [
            [
                (
                    slice(piece.start * each, piece.stop * each),
                    Kernel(path, beta, mass.take(piece)),
                )
                for piece in _pieces(block, each, path.least_piece)
            ]
            for block in comm.blocks(self._n_groups)
        ]

    def move(
        self,
        points: Points,
        step: Tensor,
        n_leapfrog: int,
        noise: Tensor,
        uniforms: Tensor,
        *,
        watched: bool = False,
    ) -> tuple[Transition, Tensor]:
        """`Kernel.move` of the whole population; the jumps are those of each group."""

        def moved(own: slice, kernel: Kernel) -> list[Tensor]:
            found, jumps = kernel.move(
                points.take(own), step[own], n_leapfrog, noise[own], uniforms[own], watched=watched
            )
            each = (*found.points, found.acceptance, found.gain)
            return [jumps, *(in_groups(part, kernel.n_groups) for part in each)]

        jumps, *joined = self._gathered(moved)
        flat = [part.flatten(0, 1) for part in joined]
        return Transition(Points(*flat[:-2]), *flat[-2:]), jumps

    def monitors(self, points: Points) -> Tensor:
        """`Kernel.monitors` of the whole population (P, 2 + S)."""

        def monitored(own: slice, kernel: Kernel) -> list[Tensor]:
            return [in_groups(kernel.monitors(points.take(own)), kernel.n_groups)]

        return self._gathered(monitored)[0].flatten(0, 1)

    def _gathered(self, work: Callable[[slice, Kernel], list[Tensor]]) -> tuple[Tensor, ...]:
        """What `work` finds for the particles of every piece, the first axis over groups."""
        pieces = [piece for block in self._blocks for piece in block]
        each = iter(mapped(lambda piece: work(*piece), pieces, parallel=self._in_threads))
        parts = [
            [torch.cat(tensors) for tensors in zip(*(next(each) for _ in block), strict=True)]
            for block in self._blocks
        ]
        return self._comm.gather(self._n_groups, parts)


def _pieces(groups: slice, size: int, least: int | None) -> list[slice]:
    """Consecutive groups of a size for each thread and some more, none with fewer points."""
    n, threads = groups.stop - groups.start, n_threads()
    most = 1 if least is None or threads == 1 else n * size // least
    return even_slices(groups, max(1, min(n, PIECES * threads, most)))


def shared_start(path: Path, theta: Tensor, comm: Communicator) -> Points:
    """`Path.start` at draws of the prior (P, D), each process evaluating its groups."""

    def started(block: slice) -> list[Tensor]:
        points = path.start(grouped(theta)[block].flatten(0, 1))
        return [in_groups(part, block.stop - block.start) for part in points]

    parts = shared(comm, n_groups(len(theta)), started)
    return Points(*(torch.flatten(part, 0, 1) for part in parts))


def chain_kernel(path: Path, sigma: Tensor, n_chains: int, comm: Communicator) -> SharedKernel:
    """Trajectories of chains, each a group of its own, that share their scales (D,)."""
    return SharedKernel(path, 1.0, OneDiagonal(sigma, n_chains), comm, n_chains)
