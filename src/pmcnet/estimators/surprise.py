"""Whether new rows are as probable as a model expects such rows to be.

The statistic is the mean of log p(y_n | x_n, rows so far) over the new rows. The model says how it
would be distributed if the new rows came from where the old ones did: y is simulated at the new x
many times, each time for all rows by one network drawn from the posterior. New rows count as drift
where the statistic is below the average simulation by more than `FARTHEST` standard deviations, and
below all but a share of `RAREST` of the simulations, which matters for few rows or rare classes.
"""

from dataclasses import replace
from typing import NamedTuple, cast

import numpy as np
import torch
from torch import Tensor

from pmcnet.bnn import Network, ParticlePosterior
from pmcnet.bnn.likelihoods.base import Family
from pmcnet.bnn.likelihoods.response import Array, Units
from pmcnet.errors import InputError
from pmcnet.estimators.cached_network import CachedNetwork
from pmcnet.estimators.exposure import predicting
from pmcnet.estimators.predictions import EncodedRows

FARTHEST = 4.0
"""Standard deviations below the expected value from which new rows are drift."""
RAREST = 0.005
"""Share of simulations at most that may be as improbable as rows that are drift."""
N_SIMULATED = 200
N_NETWORKS = 256
"""Networks whose average is the predictive density, of observed and of simulated rows."""
_BLOCK = 512  # rows at a time, whose outputs are kept while all simulations are evaluated
_MEMORY = 1 << 28


class Surprise(NamedTuple):
    """The mean log predictive density per row, and what the model expected of it.

    `rarer` is the share of the simulations that are as low.
    """

    observed: float
    expected: float
    std: float
    rarer: float

    @property
    def is_drift(self) -> bool:
        """Whether the rows are far less probable than expected."""
        return self.observed < self.expected - FARTHEST * self.std and self.rarer <= RAREST


def surprise_of(
    posterior: ParticlePosterior,
    rows: EncodedRows,
    y: Array,
    weight: Array,
    *,
    members: type[Family],
    units: Units,
    seed: int,
) -> Surprise | None:
    """Compare the rows with simulated ones; None where a draw of y cannot be a response.

    Args:
        posterior: before the update.
        rows: the inputs.
        y: the responses (N,) or (N, T).
        weight: how often each counts (N,).
        members: of the likelihood's family.
        units: of y.
        seed: of the simulation.
    """
    drawing, x = predicting(posterior, rows)
    thinned = posterior.thinned(N_NETWORKS, seed)
    cached = cast(Network, CachedNetwork(thinned.network))
    mixture, _ = predicting(replace(thinned, network=cached, memory=_MEMORY), rows)
    drawn = units.values(drawing.sample(x, N_SIMULATED, seed).cpu().numpy())  # (S, N[, T])
    try:
        simulated = [members.targets(each, units) for each in drawn]
    except InputError:  # rounded to an end of its range
        return None
    every = torch.as_tensor(np.stack([members.targets(y, units), *simulated])).to(
        x.device
    )  # (1 + S, N[, T])
    share = torch.as_tensor(weight / weight.sum()).to(x.device)
    mean = _log_predictive(mixture, x, every, share)
    observed, others = float(mean[0]), mean[1:]
    offset = float(units.log_density(np.zeros(())))
    return Surprise(
        observed + offset,
        float(others.mean()) + offset,
        float(others.std()),
        float((others <= mean[0]).double().mean()),
    )


def _log_predictive(mixture: ParticlePosterior, x: Tensor, every: Tensor, share: Tensor) -> Tensor:
    """Averages over the rows of the log predictive density of each set of targets (1 + S,)."""
    total = torch.zeros(len(every), dtype=torch.float64, device=x.device)
    for start in range(0, len(x), _BLOCK):
        block = slice(start, start + _BLOCK)
        own, inputs = share[block], x[block]
        for i, targets in enumerate(every[:, block]):
            total[i] += own @ mixture.log_predictive(inputs, targets)
    return total
