"""Shapley values of predictions: how much each column of a row moves it away from the average.

The value of a set S of columns is the average prediction when the row keeps the columns of S and
takes the others from a row of the background (interventional): v(S) = mean_b f(x_S, z_b). A
contribution is the average of v(S + j) - v(S) over all orders in which columns may join. It is
linear in f, so that each network of the posterior has its own.

For a few columns all sets are evaluated. Otherwise orders are drawn, and each of them with its
reverse, for every row of the background: then contributions still sum to f(x) - mean_b f(z_b)
exactly, and rows of the background add nothing to the Monte Carlo error.
"""

from collections.abc import Callable
from math import factorial
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pmcnet.estimators.explanations.players import Players
from pmcnet.estimators.predictions import Array

MOST_EXACT = 8
"""Columns up to which all sets are evaluated."""

_ROWS = 1 << 15  # of a mixture, evaluated at once

Predict = Callable[[Tensor], Array]  # inputs (n, n_inputs) -> predictions (R, n, K)


class Contributions(NamedTuple):
    """Of one row: each column's by network (R, p, K), and the Monte Carlo error of their mean.

    `base` (R, K) is the average over the background, `error` (p, K) is 0 where all sets were
    evaluated.
    """

    each: Array
    base: Array
    error: Array

    @property
    def prediction(self) -> Array:
        """Of the row, by network (R, K)."""
        return np.asarray(self.base + self.each.sum(1))


def all_sets(n_players: int) -> NDArray[np.bool_]:
    """Every set of players (2^p, p); set s has player j where bit j of s is 1."""
    return (np.arange(2**n_players)[:, None] >> np.arange(n_players) & 1).astype(bool)


def set_weights(n_players: int) -> Array:
    """W with contribution_j = sum_S W[j, S] v(S): (p, 2^p).

    |S|! (p - |S| - 1)! / p! for v(S + j), and the negative for v(S), where S is without j.
    """
    sets = all_sets(n_players)
    ways = [factorial(s) * factorial(n_players - s - 1) for s in range(n_players)]
    share = np.array(ways) / factorial(n_players)  # by the size of S
    size = sets.sum(1)
    joined, left = share[np.maximum(size - 1, 0)], share[np.minimum(size, n_players - 1)]
    return np.asarray(np.where(sets, joined[:, None], -left[:, None]).T)


def exact(predict: Predict, players: Players, row: Tensor, background: Tensor) -> Contributions:
    """Contributions from all 2^p sets of columns.

    Args:
        predict: what is explained.
        players: the columns.
        row: inputs (n_inputs,).
        background: inputs (B, n_inputs).
    """
    n_players, n_other = len(players.names), len(background)
    sets = torch.as_tensor(all_sets(n_players), device=row.device)
    values = []
    for some in torch.split(sets, max(1, _ROWS // n_other)):
        rows = players.mixed(row, background, some[:, None]).flatten(0, 1)  # (s B, n_inputs)
        found = predict(rows)  # (R, s B, K)
        values.append(found.reshape(len(found), len(some), n_other, -1).mean(2))
    value = np.concatenate(values, axis=1)  # (R, 2^p, K)
    each = np.einsum("js,rsk->rjk", set_weights(n_players), value)
    return Contributions(each, value[:, 0], np.zeros(each.shape[1:]))


def paired_orders(
    source: np.random.Generator, n_rows: int, n_pairs: int, n_players: int
) -> NDArray[np.int64]:
    """The place of each column in orders, each followed by its reverse (n_rows, 2 n_pairs, p)."""
    shape = (n_rows, n_pairs, n_players)
    place = source.permuted(np.broadcast_to(np.arange(n_players), shape), axis=-1)
    both = np.stack([place, n_players - 1 - place], axis=2)
    return np.asarray(both.reshape(n_rows, 2 * n_pairs, n_players))


def sampled(
    predict: Predict,
    players: Players,
    row: Tensor,
    background: Tensor,
    places: NDArray[np.int64],
) -> Contributions:
    """Contributions from orders of the columns.

    Args:
        predict: what is explained.
        players: the columns.
        row: inputs (n_inputs,).
        background: inputs (B, n_inputs).
        places: of each column in each order (B, 2 m, p), as `paired_orders` gives them; m >= 2.
    """
    n_players, n_orders = len(players.names), places.shape[1]
    size = max(1, _ROWS // (n_orders * (n_players + 1)))
    total, base, square = 0.0, 0.0, 0.0
    for start in range(0, len(background), size):
        rows, place = background[start : start + size], places[start : start + size]
        steps, first = _joined(predict, players, row, rows, place)
        total, base = total + steps.sum((1, 2)), base + first.sum(1)
        pairs = steps.mean(0).reshape(len(rows), -1, 2, *steps.shape[3:]).mean(2)  # (b, m, p, K)
        square = square + pairs.var(1, ddof=1).sum(0) / pairs.shape[1]  # (p, K)
    n = len(background)
    return Contributions(
        np.asarray(total / (n * n_orders)), np.asarray(base / n), np.sqrt(square) / n
    )


def _joined(
    predict: Predict, players: Players, row: Tensor, others: Tensor, place: NDArray[np.int64]
) -> tuple[Array, Array]:
    """How predictions change as each column joins (R, b, o, p, K), and those before (R, b, K)."""
    n_rows, n_orders, n_players = place.shape
    n_joined = torch.arange(n_players + 1, device=row.device)[:, None]
    own = torch.as_tensor(place, device=row.device)[:, :, None] < n_joined  # (b, o, p + 1, p)
    mixed = players.mixed(row, others[:, None, None], own)
    found = predict(mixed.flatten(0, 2))  # (R, b o (p + 1), K)
    found = found.reshape(len(found), n_rows, n_orders, n_players + 1, -1)
    return np.take_along_axis(np.diff(found, axis=3), place[None, ..., None], axis=3), found[
        :, :, 0, 0
    ]
