"""The draws of islands: which are kept, and how far they agree."""

import torch
from torch import Tensor

from pmcnet.ais.agreement import Agreement, IslandMoments, drift
from pmcnet.ais.islands.state import IslandsState, Polish
from pmcnet.ais.path import Path
from pmcnet.ais.verdict import max_chain_drift

MOST_KEPT = 4
"""Populations kept of a batch; beyond, every second one is dropped and they are kept half as often.
"""


def with_population(polish: Polish, theta: Tensor) -> Polish:
    """One round more, after which the particles are at `theta` (n, D)."""
    n_rounds, stride, kept = polish.n_rounds + 1, polish.stride, polish.kept
    if n_rounds % stride == 0:
        kept = torch.cat([kept, theta[None]])
    if len(kept) > MOST_KEPT:
        kept, stride = kept[1::2], 2 * stride
    return polish._replace(kept=kept, stride=stride, n_rounds=n_rounds)


def draws_of(polish: Polish, n_islands: int, n: int) -> Tensor:
    """`n` draws of each island of a batch, evenly from all that were kept: (G, n, D)."""
    k, _, dim = polish.kept.shape
    each = polish.kept.reshape(k, n_islands, -1, dim).transpose(0, 1).flatten(1, 2)  # (G, k P, D)
    return each[:, evenly(each.shape[1], n)]


def evenly(size: int, n: int) -> Tensor:
    """`n` places spread over `size`, all of them where there are fewer."""
    if n >= size:
        return torch.arange(size)
    return (torch.arange(n) * size + size // 2) // n


def islands_of(state: IslandsState, n_draws: int) -> Tensor:
    """The draws that count, at most `n_draws` in all, as many of each island: (G, k, D)."""
    parts = [state.finished] if state.n_finished else []
    if len(state.polish.kept):
        n = state.polish.kept.shape[0] * state.polish.kept.shape[1] // state.batch.n_islands
        parts.append(draws_of(state.polish, state.batch.n_islands, n))
    if not parts:
        return state.finished[:0]
    most = n_draws // sum(len(part) for part in parts)
    k = max(1, min(most, *(part.shape[1] for part in parts)))
    return torch.cat([part[:, evenly(part.shape[1], k)] for part in parts])


def agreement(state: IslandsState, path: Path, n_draws: int) -> Agreement:
    """How far all islands agree on what is monitored, by the draws that count."""
    islands = islands_of(state, n_draws)
    moments = IslandMoments.of(path.predictions(islands.flatten(0, 1)), len(islands))
    return Agreement.of(moments, path.quantity, _shift(state, path, moments.variance.sqrt()))


def _shift(state: IslandsState, path: Path, spread: Tensor) -> float:
    """What predictions of the batch shifted by from the first half of its draws to the second."""
    kept, n = state.polish.kept, state.batch.n_islands
    half = len(kept) // 2
    if not half:
        return 0.0
    early, late = (
        IslandMoments.of(path.predictions(part.transpose(0, 1).flatten(0, 1)), n).mean
        for part in (kept[:half], kept[-half:])
    )
    return drift(early, late, spread, max_chain_drift(n))
