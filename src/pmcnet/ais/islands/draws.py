"""The draws of islands: which are kept, and how far they agree."""

import torch
from torch import Tensor

from pmcnet.ais.agreement import Agreement, IslandMoments, drift
from pmcnet.ais.islands.state import IslandsState, Polish
from pmcnet.ais.path import Path
from pmcnet.ais.tiling import in_groups
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


def agreement(state: IslandsState, path: Path) -> Agreement:
    """How far all islands whose draws count agree on what is monitored."""
    batch, kept = state.batch, state.polish.kept
    own = [IslandMoments.of(path.predictions(theta), batch.n_islands) for theta in kept]
    shift, parts = 0.0, []
    if own:
        together = _mean(own)
        parts.append(together)
        half = len(own) // 2
        if half:
            early, late = _mean(own[:half]).mean, _mean(own[-half:]).mean
            spread = together.variance.sqrt()
            shift = drift(early, late, spread, max_chain_drift(batch.n_islands))
    if state.n_finished:
        before = path.predictions(state.finished.flatten(0, 1))
        parts.insert(0, IslandMoments.of(before, state.n_finished))
    return Agreement.of(IslandMoments.joined(parts), path.quantity, shift)


def correlation(path: Path, before: Tensor, after: Tensor, n_islands: int) -> float:
    """Correlation of predictions of particles (n, D) with their earlier ones, within islands."""
    early, late = (
        in_groups(path.predictions(theta).mean.flatten(1), n_islands) for theta in (before, after)
    )
    a, b = early - early.mean(1, keepdim=True), late - late.mean(1, keepdim=True)
    each = (a * b).sum((0, 1)) / (a.square().sum((0, 1)) * b.square().sum((0, 1))).sqrt()
    known = each[each.isfinite()]
    return float(known.mean().clamp(-1, 1)) if len(known) else 0.0


def _mean(parts: list[IslandMoments]) -> IslandMoments:
    return IslandMoments(*(torch.stack(each).mean(0) for each in zip(*parts, strict=True)))
