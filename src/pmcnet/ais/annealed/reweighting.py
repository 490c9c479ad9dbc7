"""From one inverse temperature to the next: weights, the evidence, and resampling by island."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from pmcnet.ais import diagnostics
from pmcnet.ais.annealed.selection import Selection
from pmcnet.ais.annealed.state import AnnealedState
from pmcnet.ais.annealed.tempering import Tempering
from pmcnet.ais.comm import Communicator, agreed
from pmcnet.ais.tiling import in_groups
from pmcnet.errors import DegenerateWeightsError, TargetError
from pmcnet.rng import Stream


class Reweighted(NamedTuple):
    """The state at the next beta, and what its weights showed before resampling.

    `parent` (n,) says which particle each one is a copy of; `ess` and `conditional_ess` are summed
    over the islands.
    """

    state: AnnealedState
    parent: Tensor
    ess: float
    conditional_ess: float
    n_ancestors: float
    resampled: bool


def reweighted(
    state: AnnealedState,
    ladder: Tempering,
    selection: Selection,
    resample_below: float,
    sources: list[Stream],
    comm: Communicator,
) -> Reweighted:
    """Raise beta, weight, and resample the islands whose weights are uneven.

    Args:
        state: before.
        ladder: chooses the next beta, one for all islands.
        selection: how an island is resampled.
        resample_below: share of its particles below which the ESS of an island has to be.
        sources: a random stream for each island.
        comm: whose first process decides.
    """
    state, conditional_ess = _tempered(state, ladder, comm)
    ess = float(diagnostics.ess(in_groups(state.log_weight, state.n_islands)).sum())
    n_ancestors = state.n_ancestors
    found = resampled(state, selection, resample_below, sources, comm)
    return Reweighted(
        found.state, found.parent, ess, float(conditional_ess.sum()), n_ancestors, found.uneven
    )


class Resampled(NamedTuple):
    """The state after resampling, which particle each is a copy of (n,), and whether any was."""

    state: AnnealedState
    parent: Tensor
    uneven: bool


def resampled(
    state: AnnealedState,
    selection: Selection,
    below: float,
    sources: list[Stream],
    comm: Communicator,
) -> Resampled:
    """Resample each island whose ESS is below this share of its particles."""
    n = state.n_islands
    log_weight = comm.agreed(in_groups(state.log_weight, n).clone())  # (G, P)
    size = log_weight.shape[1]
    uneven = diagnostics.ess(log_weight) < below * size
    if not uneven.any():
        everyone = torch.arange(n * size, device=state.origin.device)
        return Resampled(state, everyone, False)
    parent = torch.arange(n * size, device=state.origin.device).reshape(n, size)
    for island in uneven.nonzero().flatten().tolist():
        chosen = comm.agreed(selection(log_weight[island], sources[island]))  # (P,)
        parent[island] = parent[island][chosen]
        log_weight[island] = -math.log(n * size)
    flat = parent.flatten()
    state = state._replace(
        points=state.points.take(flat),
        log_weight=log_weight.flatten(),
        origin=state.origin[flat],
    )
    return Resampled(state, flat, True)


def _tempered(
    state: AnnealedState, ladder: Tempering, comm: Communicator
) -> tuple[AnnealedState, Tensor]:
    """Weights and evidence at the next beta, and the conditional ESS of each island (G,)."""
    n, points = state.n_islands, state.points
    log_likelihood = in_groups(points.log_likelihood, n)  # (G, P)
    log_weight = in_groups(state.log_weight, n) + math.log(n)
    beta = agreed(comm, ladder(state.beta, log_likelihood, log_weight))
    increment = (beta - state.beta) * log_likelihood
    following = _some_weight(log_weight + increment)
    gain = following.logsumexp(-1)  # (G,)
    if not gain.isfinite().all() or beta <= state.beta:
        least, most = (float(end) for end in log_likelihood.aminmax())
        raise TargetError(
            f"the inverse temperature cannot rise above {state.beta:.3g}: the log-likelihoods "
            f"of the particles lie between {least:.3g} and {most:.3g}. Check the likelihood "
            "far from the data's own values, or scale the data."
        )
    conditional_ess = diagnostics.conditional_ess(log_weight, increment)
    tempered = state._replace(
        log_weight=(following - gain[:, None] - math.log(n)).flatten(),
        beta=beta,
        island_log_evidence=state.island_log_evidence + gain,
        ideal_variance=state.ideal_variance + 1 / conditional_ess - 1 / log_weight.shape[1],
        least_ess=min(state.least_ess, float(conditional_ess.min())),
        step=state.step + 1,
    )
    return tempered, conditional_ess


def _some_weight(log_weight: Tensor) -> Tensor:
    if (log_weight == -torch.inf).all(-1).any():
        raise DegenerateWeightsError(
            f"the likelihood is zero at all {log_weight.shape[-1]} particles, so none has weight. "
            "Use more particles, or a prior that gives the data a chance."
        )
    return log_weight
