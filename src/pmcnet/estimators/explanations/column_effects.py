"""The effect of a column on predictions, by network: partial dependence, and accumulated effects.

Partial dependence at g is the average prediction of the rows after the column of each was set to g:
PD(g) = mean_n f(g, x_n without j). Where columns are correlated that asks about rows that cannot
be. Accumulated local effects (ALE) add up how predictions change within intervals of the column,
each over the rows that lie there: for a network, sum_k mean_{n in k} [f(z_k, x_n) - f(z_{k-1},
x_n)], centred to average 0 over the rows.
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from pmcnet.estimators.explanations.shapley import Predict
from pmcnet.estimators.predictions import Array


class ColumnRows(NamedTuple):
    """Rows, and the points that a column of them may be set to.

    Args:
        inputs: of the rows (N, n_inputs).
        own: which inputs are the column's (n_inputs,).
        points: inputs that hold the column's for each point (m, n_inputs).
    """

    inputs: Tensor
    own: Tensor
    points: Tensor

    def set_to(self, points: Tensor, inputs: Tensor) -> Tensor:
        """Rows with the column of others; both broadcast (..., n_inputs)."""
        return torch.where(self.own, points, inputs)


def dependence(predict: Predict, rows: ColumnRows) -> tuple[Array, Array]:
    """Partial dependence by network (R, m, K), and mean predictions of every row (m, N, K)."""
    each = (predict(rows.set_to(point, rows.inputs)) for point in rows.points)  # (R, N, K)
    found = [(at.mean(1), at.mean(0)) for at in each]
    return np.stack([average for average, _ in found], axis=1), np.stack([row for _, row in found])


def accumulated(predict: Predict, rows: ColumnRows, points: Array, cells: Array) -> Array:
    """Accumulated local effects at the points (R, m, K).

    Args:
        predict: what is asked.
        rows: those whose cell lies within the points.
        points: in growing order (m,), m >= 2.
        cells: of the rows (N,).
    """
    upper = np.maximum(np.searchsorted(points, cells), 1)
    edges, interval = np.unique(upper, return_inverse=True)  # an interval without rows is joined
    edges = np.concatenate([[0], edges])  # to the next one
    n_rows = np.bincount(interval)
    ends = [
        predict(rows.set_to(rows.points[torch.as_tensor(edges[interval + i])], rows.inputs))
        for i in (0, 1)
    ]
    share = np.eye(len(n_rows))[interval] / n_rows  # (N, e - 1)
    change = np.einsum("rnk,ne->rek", ends[1] - ends[0], share)
    total = np.pad(change.cumsum(1), ((0, 0), (1, 0), (0, 0)))  # (R, e, K)
    middle = (total[:, 1:] + total[:, :-1]) / 2
    total -= np.einsum("e,rek->rk", n_rows / n_rows.sum(), middle)[:, None]
    return _at(points, points[edges], total)


def _at(points: Array, edges: Array, total: Array) -> Array:
    """Linear between edges (R, m, K)."""
    place = np.clip(np.searchsorted(edges, points, side="right") - 1, 0, len(edges) - 2)
    share = np.clip((points - edges[place]) / (edges[place + 1] - edges[place]), 0, 1)
    share = share[:, None]
    return np.asarray((1 - share) * total[:, place] + share * total[:, place + 1])
