"""Moves of a population whose groups are shared between processes: one exchange per move."""

import torch
from torch import Tensor

from pmcnet.ais.comm import Communicator
from pmcnet.ais.hmc.kernel import Kernel, Transition
from pmcnet.ais.hmc.preconditioners import grouped, in_groups, n_groups
from pmcnet.ais.path import Path, Points
from pmcnet.ais.scale import Scale


class SharedKernel:
    """Trajectories at one inverse temperature: each process moves its own groups.

    Args:
        path: of the target.
        beta: the inverse temperature, fixed.
        scale: the square roots of the covariances of all groups.
        comm: the processes.
        n_particles: P.
    """

    def __init__(
        self, path: Path, beta: float, scale: Scale, comm: Communicator, n_particles: int
    ) -> None:
        self._comm, self._n_groups = comm, n_groups(n_particles)
        each = n_particles // self._n_groups
        self._kernels = [
            (
                slice(block.start * each, block.stop * each),
                Kernel(path, beta, scale.take(block)),
            )
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
        unit: Tensor | None = None,
    ) -> tuple[Transition, Tensor]:
        """`Kernel.move` of the whole population; the jumps are those of each group (G, L)."""
        parts = []
        for own, kernel in self._kernels:
            moved, jumps = kernel.move(
                points.take(own), step[own], n_leapfrog, noise[own], uniforms[own], unit=unit
            )
            each = [
                in_groups(part, len(jumps))
                for part in (*moved.points, moved.acceptance, moved.gain)
            ]
            parts.append([jumps, *each])
        jumps, *joined = self._comm.gather(self._n_groups, parts)
        flat = [part.flatten(0, 1) for part in joined]
        return Transition(Points(*flat[:-2]), *flat[-2:]), jumps

    def monitors(self, points: Points) -> Tensor:
        """`Kernel.monitors` of the whole population (P, 2 + S)."""
        parts = []
        for own, kernel in self._kernels:
            value = kernel.monitors(points.take(own))
            parts.append([in_groups(value, kernel.n_groups)])
        return self._comm.gather(self._n_groups, parts)[0].flatten(0, 1)


def shared_start(path: Path, theta: Tensor, comm: Communicator) -> Points:
    """`Path.start` at draws of the prior (P, D), each process evaluating its groups."""
    n = n_groups(len(theta))
    parts = []
    for block in comm.blocks(n):
        points = path.start(grouped(theta)[block].flatten(0, 1))
        parts.append([in_groups(part, block.stop - block.start) for part in points])
    return Points(*(torch.flatten(part, 0, 1) for part in comm.gather(n, parts)))
