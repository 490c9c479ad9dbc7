"""The rows nearest to a row, in the network's inputs, which are standardised."""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pmcnet.estimators.predictions import Array

_NUMBERS = 1 << 22  # distances at a time


class Neighbours(NamedTuple):
    """Positions of the nearest rows and their distances, the nearest first: (N, k) each."""

    position: NDArray[np.int64]
    distance: Array


def nearest(inputs: Tensor, others: Tensor, n: int) -> Neighbours:
    """The rows among others that are nearest to each row.

    Args:
        inputs: of the rows (N, n_inputs).
        others: inputs of those to choose from (M, n_inputs).
        n: how many, at most.
    """
    n = min(n, len(others))
    others = others.to(inputs)
    parts = []
    for rows in torch.split(inputs, max(1, _NUMBERS // len(others))):
        each = torch.cdist(rows, others, compute_mode="donot_use_mm_for_euclid_dist")
        parts.append(each.topk(n, dim=1, largest=False))
    position = torch.cat([part.indices for part in parts])
    distance = torch.cat([part.values for part in parts])
    return Neighbours(position.cpu().numpy(), distance.double().cpu().numpy())
