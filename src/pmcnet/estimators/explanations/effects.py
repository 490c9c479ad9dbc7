"""Effects of the columns of a table on predictions, with credible bands."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from pmcnet.errors import InputError
from pmcnet.estimators.columns import Matrix
from pmcnet.estimators.encoding import TableEncoder
from pmcnet.estimators.explanations.column_effects import ColumnRows, accumulated, dependence
from pmcnet.estimators.explanations.effect_grids import Grid, grid_of
from pmcnet.estimators.explanations.interactions import (
    Axis,
    Interaction,
    interaction,
    pair_table,
    ranked,
)
from pmcnet.estimators.explanations.members import Members, output_of
from pmcnet.estimators.explanations.players import Players
from pmcnet.estimators.explanations.row_samples import some_rows
from pmcnet.estimators.explanations.spread import Spread
from pmcnet.estimators.predictions import Array, EncodedRows

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]

    from pmcnet.estimators.fitted_model import FittedModel

PARTIAL, ALE = "partial dependence", "accumulated local effect"
_N_INDIVIDUAL = 10
_PAIR_POINTS, _PAIR_ROWS, _PAIR_COLUMNS = 8, 100, 6


@dataclass(frozen=True, eq=False)
class ColumnEffect:
    """The effect of one column.

    Args:
        feature: its name.
        grid: the points (m).
        partial: partial dependence by network (R, m, K).
        accumulated: accumulated local effects by network (R, m, K), 0 on average; none of levels.
        individual: mean predictions of some rows at the points (n, m, K).
        spread: standard deviation of predictions over the points, rows kept, of all classes
            together: how much the column moves single predictions.
    """

    feature: str
    grid: Grid
    partial: Array
    accumulated: Array | None
    individual: Array
    spread: float

    def parts(self) -> dict[str, Array]:
        """By what they are."""
        found = {PARTIAL: self.partial}
        return found if self.accumulated is None else found | {ALE: self.accumulated}


@dataclass(frozen=True, eq=False)
class Effects:
    """Effects of columns on predictions: E[y] in units of y, or probabilities of classes.

    Args:
        columns: one for each column that has a grid.
        classes: whose probability is asked for (K): the second of two, all of more; none of
            numbers.
        pairs: joint effects of two columns, the strongest first.
        average: prediction over the rows, by network (R, K).
        rows: positions of the rows whose average they are.
        individual: positions of those that have curves of their own.
    """

    columns: tuple[ColumnEffect, ...]
    classes: tuple[str, ...]
    pairs: tuple[Interaction, ...]
    average: Array
    rows: Array
    individual: Array

    @property
    def frame(self) -> "DataFrame":
        """One line for each column, kind of effect, point and class.

        `effect` is the mean over networks, `low95` to `high95` and `low80` to `high80` hold 95 and
        80 % of them. Accumulated local effects are 0 on average over the rows.
        """
        from pandas import concat

        parts = [
            self._lines(each, kind, Spread.of(found).columns("effect"))
            for each in self.columns
            for kind, found in each.parts().items()
        ]
        return concat(parts, ignore_index=True)

    @property
    def individual_frame(self) -> "DataFrame":
        """One line for each column, single row, point and class: its mean prediction."""
        from pandas import concat

        parts = [
            self._lines(each, "individual", {"effect": curve.ravel()}).assign(row=row)
            for each in self.columns
            for row, curve in zip(self.individual, each.individual, strict=True)
        ]
        return concat(parts, ignore_index=True)

    @property
    def pairs_frame(self) -> "DataFrame":
        """How far pairs of columns act together, the strongest first.

        `strength` is the standard deviation of the part of their joint effect that no sum of two
        effects explains, `share` its share of the variance of the joint effect (H squared).
        """
        return pair_table(list(self.pairs))

    def plot(self, features: Sequence[str] | None = None, class_name: str | None = None) -> Any:
        """A matplotlib figure: a panel for each column, those that matter most first.

        Args:
            features: names of columns; absent, the first twelve.
            class_name: whose probability; the last of `classes` where it is not given.
        """
        from pmcnet.estimators.explanations.effect_entries import effect_entry
        from pmcnet.reports.figures.effect_curves import effects_figure

        known = {each.feature: each for each in self.columns}
        chosen = list(known)[:12] if features is None else list(features)
        unknown = next((name for name in chosen if name not in known), None)
        if unknown is not None:
            raise InputError(
                f"there is no effect of {unknown!r:.60}; there are those of "
                f"{', '.join(map(repr, list(known)[:10]))}."
            )
        output = [output_of(self.classes, class_name)]
        of = f"probability of {self.classes[output[0]]}" if self.classes else "prediction"
        entries = [effect_entry(known[name], self.average, output) for name in chosen]
        return effects_figure(entries, of)

    def _lines(self, each: ColumnEffect, kind: str, numbers: dict[str, Array]) -> "DataFrame":
        from pandas import DataFrame

        n_outputs = each.partial.shape[2]
        values = np.empty(len(each.grid.numbers), dtype=object)
        values[:] = each.grid.values
        table: dict[str, Any] = {
            "feature": each.feature,
            "kind": kind,
            "value": np.repeat(values, n_outputs),
        }
        if self.classes:
            table["class"] = np.tile(self.classes, len(values))
        return DataFrame(table | numbers)


def effects_of(
    model: "FittedModel",
    x: Any,
    features: Sequence[str] | None,
    n_networks: int,
    n_rows: int,
    n_points: int,
    random_state: int,
) -> Effects:
    """Effects of columns on the predictions of rows; see `FittedModel.effects`."""
    asked = _Question.of(model, x, n_networks, n_rows, n_points, random_state)
    names = asked.players.names if features is None else tuple(features)
    places = [asked.players.position(name) for name in names]
    found = [each for place in places if (each := asked.effect(place)) is not None]
    if not found:
        raise InputError(
            "none of these columns has a grid: columns of text have none, nor those without "
            "values. Give rows with numbers, dates or levels."
        )
    found.sort(key=lambda each: -each.spread)
    strongest = [asked.players.position(each.feature) for each in found[:_PAIR_COLUMNS]]
    chosen = some_rows(len(asked.rows), _N_INDIVIDUAL, random_state)
    return Effects(
        tuple(found),
        asked.members.classes,
        tuple(asked.pairs(strongest)),
        asked.members.means(asked.inputs).mean(1),
        asked.rows,
        asked.rows[chosen],
    )


@dataclass(frozen=True, eq=False)
class _Question:
    """What all columns share: networks, rows, sizes."""

    encoder: TableEncoder
    members: Members
    players: Players
    cells: Matrix  # of all rows (N, R)
    rows: Array  # positions of those used (n,)
    inputs: Tensor  # of those used (n, n_inputs)
    individual: Array  # places among those used
    n_points: int

    @classmethod
    def of(
        cls, model: "FittedModel", x: Any, n_networks: int, n_rows: int, n_points: int, seed: int
    ) -> "_Question":
        players = Players.of(model.encoder_, "effects")
        if isinstance(x, EncodedRows):
            raise InputError("effects needs the table itself, and encoded rows were given.")
        if min(n_rows, n_points) < 2:
            raise InputError(f"n_rows and n_points must be at least 2; got {n_rows}, {n_points}.")
        cells = model._cells(x)
        rows = some_rows(len(cells), n_rows, seed)
        inputs = model._inputs(cells[rows]).inputs
        few = some_rows(len(rows), _N_INDIVIDUAL, seed)
        members = Members.of(model, n_networks)
        assert isinstance(model.encoder_, TableEncoder)  # or else it has no players
        return cls(model.encoder_, members, players, cells, rows, inputs, few, n_points)

    def effect(self, place: int) -> ColumnEffect | None:
        """That of a column; None where it has no grid."""
        axis = self._axis(place, self.n_points)
        if axis is None:
            return None
        rows = ColumnRows(self.inputs, axis.own, axis.points)
        average, mean = dependence(self.members.means, rows)  # (R, m, K), (m, n, K)
        individual = mean[:, self.individual].swapaxes(0, 1)
        local = None if axis.grid.scale == "level" else self._accumulated(place, axis)
        spread = _spread(mean, axis.grid.share)
        return ColumnEffect(axis.feature, axis.grid, average, local, individual, spread)

    def pairs(self, places: Sequence[int]) -> list[Interaction]:
        """Joint effects of the pairs among some columns, the strongest first."""
        axes = [self._axis(place, _PAIR_POINTS) for place in places]
        several = [axis for axis in axes if axis is not None and len(axis.points) > 1]
        inputs = self.inputs[:_PAIR_ROWS]
        return ranked(
            [interaction(self.members.means, inputs, a, b) for a, b in combinations(several, 2)]
        )

    def _accumulated(self, place: int, axis: Axis) -> Array | None:
        cells, points = self._own_cells(place)[self.rows, 0], axis.grid.numbers
        inside = (cells >= points[0]) & (cells <= points[-1])
        if len(points) < 2 or not inside.any():
            return None
        rows = ColumnRows(self.inputs[torch.as_tensor(inside)], axis.own, axis.points)
        return accumulated(self.members.means, rows, points, cells[inside])

    def _axis(self, place: int, n_points: int) -> Axis | None:
        """A column with its grid."""
        column, part = self.encoder.columns.columns[place], self.encoder.columns.slices[place]
        grid = grid_of(column, self._own_cells(place), n_points)
        if grid is None:
            return None
        cells = np.repeat(self.cells[:1], len(grid.numbers), axis=0)
        cells[:, part] = grid.numbers[:, None]
        points = torch.as_tensor(self.encoder.encode(cells)).to(self.inputs)
        return Axis(column.name, grid, (self.players.owner == place).to(points.device), points)

    def _own_cells(self, place: int) -> Matrix:
        return self.cells[:, self.encoder.columns.slices[place]]


def _spread(mean: Array, share: Array) -> float:
    """Standard deviation of predictions (m, n, K) over points, with each row kept."""
    weight = share / share.sum()
    centre = np.einsum("m,mnk->nk", weight, mean)
    variance = np.einsum("m,mnk->nk", weight, np.square(mean - centre))
    return float(np.sqrt(variance.sum(1).mean()))
