"""What times are typical, whatever the inputs: a model with one output for all rows."""

import math

import numpy as np
import torch
from scipy.optimize import minimize  # type: ignore[import-untyped]

from pmcnet.bnn.likelihoods.positive import LogNoise
from pmcnet.bnn.likelihoods.response import Array, Response

_FARTHEST = 20.0
"""Natural logarithms from the average log time within which the typical one is searched."""


def typical_time(model: LogNoise, data: Array, response: Response) -> tuple[float, float]:
    """m and s of log T = m + s z, by the posterior mode under a flat prior on m.

    Args:
        model: with centre 0 and spread 1. Its prior on log s is what few events leave: N(0, 1)
            around times that have no memory.
        data: as its `log_prob` takes them.
        response: whose weights count.
    """
    log_time = data if data.ndim == 1 else data[:, 0]
    centre = float(np.average(log_time, weights=response.weight))
    y, weight = torch.as_tensor(data), torch.as_tensor(response.weight)
    total = float(response.weight.sum())

    def loss(point: Array) -> tuple[float, Array]:
        output, extra = torch.as_tensor(point)[:, None, None]
        found = model.gradients((centre + output).expand(1, len(y), 1), y, extra)
        value = found.log_prob[0] @ weight + model.log_prior(extra)[0]
        by_output = found.output[0, :, 0] @ weight
        by_extra = found.extra[0, :, 0] @ weight + model.prior_gradient(extra)[0, 0]
        return -float(value) / total, -torch.stack([by_output, by_extra]).numpy() / total

    start = [0.0, math.log(max(float(np.std(log_time)), 1e-6))]
    bounds = [(-_FARTHEST, _FARTHEST), (-_FARTHEST, _FARTHEST)]
    m, own = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    extra = torch.tensor([[own]], dtype=torch.float64)
    return centre + float(m), float(model.scale_of_log(extra[..., None], extra))
