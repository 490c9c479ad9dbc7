"""Which draws of chains are kept: all of them, or evenly spread ones where they grow too many."""

import torch

from pmcnet.ais.hmc.state import ChainState
from pmcnet.ais.path import Path

LEAST_KEPT = 8
"""Draws of each chain before which neither time nor room ends a run."""
LEAST_JUDGED = 48
"""Draws of each chain before which a run does not end: a slow drift is not seen earlier."""


def stride_of(n: int, most: int | None) -> int:
    """Every how many of `n` draws one is kept: the least power of 2 that leaves at most `most`."""
    stride = 1
    while most is not None and n // stride > most:
        stride *= 2
    return stride


def with_draw(
    state: ChainState, path: Path, n: int, keep: bool, most: int | None = None
) -> ChainState:
    """The state with where its chains are, which is draw number `n`.

    Where it would be one too many, every second draw before it is dropped.

    Args:
        state: after the trajectory.
        path: of the target.
        n: from 1.
        keep: whether the networks themselves are kept, beside log pi and what is monitored.
        most: draws that are kept, at most.
    """
    points, halved = state.points, n // stride_of(n, most) <= len(state.log_density)
    every = slice(1, None, 2) if halved else slice(None)
    log_density = torch.cat([state.log_density[every], points.log_density(1.0)[None]])  # (K, P)
    watched = path.monitor(points.theta).double()[None]
    monitors = torch.cat([state.monitors[every], watched])  # (K, P, S)
    kept = torch.cat([state.kept[every], points.theta[None]]) if keep else state.kept  # (K, P, D)
    return state._replace(log_density=log_density, monitors=monitors, kept=kept)
