"""Predictions explained: what each column of a row contributes, with credible intervals."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pmcnet.errors import InputError
from pmcnet.estimators.explanations.given_cells import cells_of
from pmcnet.estimators.explanations.members import Members, output_of
from pmcnet.estimators.explanations.players import Players, plain_inputs
from pmcnet.estimators.explanations.row_samples import background_inputs
from pmcnet.estimators.explanations.shapley import (
    MOST_EXACT,
    Contributions,
    exact,
    paired_orders,
    sampled,
)
from pmcnet.estimators.explanations.spread import Spread
from pmcnet.estimators.predictions import Array
from pmcnet.rng import check_seed, stream

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]

    from pmcnet.estimators.fitted_model import FittedModel

N_ORDERS = 4
"""Orders of the columns for each row of the background, where not all sets are evaluated."""
MOST_BARS = 12
"""Columns with a bar of their own."""


@dataclass(frozen=True, eq=False)
class Explanation:
    """Contributions of p columns to the predictions of N rows, by R networks.

    base + the sum of a row's contributions = its prediction, of each network and on average.

    Args:
        features: names of the columns (p).
        classes: whose probability is explained (K): the second of two, all of more; none of
            numbers, where K = 1 and contributions are in units of y.
        cells: of the rows, as they were given; None where encoded rows were.
        each: contributions (R, N, p, K).
        base: average prediction over the background (R, K).
        error: Monte Carlo standard error of the mean contributions (N, p, K); 0 where exact.
        n_background: rows of the background.
    """

    features: tuple[str, ...]
    classes: tuple[str, ...]
    cells: list[list[Any]] | None
    each: Array
    base: Array
    error: Array
    n_background: int

    @property
    def is_exact(self) -> bool:
        """Whether all sets of columns were evaluated; else `error` is the Monte Carlo error."""
        return not self.error.any()

    @property
    def mean(self) -> Array:
        """Contributions, averaged over networks (N, p, K)."""
        return np.asarray(self.each.mean(0))

    @property
    def prediction(self) -> Array:
        """By network (R, N, K)."""
        return np.asarray(self.base[:, None] + self.each.sum(2))

    @property
    def frame(self) -> "DataFrame":
        """One line for each row, column and class.

        `row` is the position among the rows given, `value` the cell, `contribution` the mean over
        networks; `low95` to `high95` and `low80` to `high80` hold 95 and 80 % of them; `error` is
        the Monte Carlo standard error of the mean.
        """
        from pandas import DataFrame

        n_rows, n_features, n_outputs = self.error.shape
        table: dict[str, Any] = {
            "row": np.repeat(np.arange(n_rows), n_features * n_outputs),
            "feature": np.tile(np.repeat(self.features, n_outputs), n_rows),
        }
        if self.cells is not None:
            cells = [cell for row in self.cells for cell in row for _ in range(n_outputs)]
            table["value"] = np.fromiter(cells, dtype=object, count=len(cells))
        if self.classes:
            table["class"] = np.tile(self.classes, n_rows * n_features)
        spread = Spread.of(self.each).columns("contribution")
        return DataFrame(table | spread | {"error": self.error.ravel()})

    @property
    def predictions(self) -> "DataFrame":
        """Base and prediction of each row and class, with the intervals of the prediction."""
        from pandas import DataFrame

        _, n_rows, n_outputs = self.prediction.shape
        table: dict[str, Any] = {"row": np.repeat(np.arange(n_rows), n_outputs)}
        if self.classes:
            table["class"] = np.tile(self.classes, n_rows)
        table["base"] = np.tile(self.base.mean(0), n_rows)
        return DataFrame(table | Spread.of(self.prediction).columns("prediction"))

    def plot(self, row: int = 0, class_name: str | None = None) -> Any:
        """A matplotlib figure: bars of the contributions to one prediction, the largest first.

        Args:
            row: position among the rows given.
            class_name: whose probability; the last of `classes` where it is not given.
        """
        from pmcnet.reports.figures.contribution_bars import contribution_figure

        n_rows = self.error.shape[0]
        if not -n_rows <= row < n_rows:
            raise InputError(f"row must be a position among the {n_rows} rows; got {row}.")
        chosen = output_of(self.classes, class_name)
        names, each = _largest(self._named(row), self.each[:, row, :, chosen])
        return contribution_figure(
            names,
            Spread.of(each)._asdict(),
            base=float(self.base[:, chosen].mean()),
            prediction=float(self.prediction[:, row, chosen].mean()),
            of=f"probability of {self.classes[chosen]}" if self.classes else "prediction",
        )

    def _named(self, row: int) -> list[str]:
        """The columns with the cells of a row."""
        if self.cells is None:
            return list(self.features)
        return [
            f"{name} = {_short(c)}" for name, c in zip(self.features, self.cells[row], strict=True)
        ]


def _short(cell: Any) -> str:
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)


def _largest(names: list[str], each: Array) -> tuple[list[str], Array]:
    """The columns that contribute most (R, MOST_BARS), the others together as the last."""
    order = np.argsort(-np.abs(each.mean(0)), kind="stable")
    first, rest = order[:MOST_BARS], order[MOST_BARS:]
    shown, kept = [names[i] for i in first], each[:, first]
    if not len(rest):
        return shown, kept
    together = each[:, rest].sum(1, keepdims=True)
    return [*shown, others(len(rest))], np.hstack([kept, together])


def others(n: int) -> str:
    """What columns are called that have no bar of their own."""
    return f"{n} other column{'s' if n > 1 else ''}"


def explanation_of(
    model: "FittedModel",
    x: Any,
    background: Any,
    n_networks: int,
    n_background: int,
    n_orders: int | None,
    random_state: int,
) -> Explanation:
    """Shapley values of the predictions of rows; see `FittedModel.explain`."""
    players = Players.of(model.encoder_, "explain")
    inputs = plain_inputs(model.encoded(x), "explain")
    others = background_inputs(model, background, inputs, n_background, random_state)
    members = Members.of(model, n_networks)
    n_players = len(players.names)
    if n_orders is not None and not (n_orders >= 4 and n_orders % 2 == 0):
        raise InputError(
            f"n_orders must be an even number of at least 4, for each order comes with its reverse "
            f"and their spread is the error; got {n_orders!r:.40}."
        )
    ask = partial(exact, members.means, players, background=others)
    if n_orders is not None or n_players > MOST_EXACT:
        source = stream(check_seed(random_state), 1, 0).host
        places = paired_orders(source, len(others), (n_orders or N_ORDERS) // 2, n_players)
        ask = partial(sampled, members.means, players, background=others, places=places)
    found: list[Contributions] = [ask(row) for row in inputs]
    return Explanation(
        players.names,
        members.classes,
        cells_of(x, players.names),
        np.stack([one.each for one in found], axis=1),
        found[0].base,
        np.stack([one.error for one in found]),
        len(others),
    )
