"""Chains in groups, each of which counts as an island: how far they agree in what they predict."""

from torch import Tensor

from pmcnet.ais.agreement import Agreement, IslandMoments
from pmcnet.ais.islands.draws import evenly
from pmcnet.ais.path import Path

N_GROUPS = 8
LEAST_CHAINS = 4
"""Of a group; fewer chains count as islands one by one."""
MOST_DRAWS = 2048
"""Of all chains together that are averaged, unless there are more chains."""


def n_islands(n_chains: int) -> int:
    """How many islands so many chains are."""
    grouped = n_chains >= N_GROUPS * LEAST_CHAINS and n_chains % N_GROUPS == 0
    return N_GROUPS if grouped else n_chains


def averaged(theta: Tensor) -> Tensor:
    """The draws (K, P, D) that are averaged, one chain after another: (P k, D)."""
    n_draws, n_chains, _ = theta.shape
    kept = evenly(n_draws, max(1, MOST_DRAWS // n_chains))
    return theta[kept].transpose(0, 1).flatten(0, 1)


def agreement(theta: Tensor, path: Path) -> Agreement:
    """How far groups of chains agree, by their draws (K, P, D)."""
    moments = IslandMoments.of(path.predictions(averaged(theta)), n_islands(theta.shape[1]))
    return Agreement.of(moments, path.quantity)
