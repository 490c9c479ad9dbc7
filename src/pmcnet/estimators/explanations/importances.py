"""How much a model relies on each column: the log score lost when its cells are shuffled.

The cells of a column are permuted among the rows, so that it says nothing of y any more while all
else stays. What the mean log predictive density loses is the importance, in nats per row. Each
network of the posterior has its own, whose mean and credible interval are reported; beside them
stands the loss of the averaged prediction, with its standard error over the rows.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from pmcnet.errors import InputError
from pmcnet.estimators.explanations.explanation import explanation_of
from pmcnet.estimators.explanations.members import Members
from pmcnet.estimators.explanations.players import Players, plain_inputs
from pmcnet.estimators.explanations.row_samples import some_rows
from pmcnet.estimators.explanations.spread import Spread
from pmcnet.estimators.predictions import Array, EncodedRows
from pmcnet.estimators.relevance import has_relevance, relevance_of
from pmcnet.rng import check_seed, stream

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]

    from pmcnet.estimators.fitted_model import FittedModel

_SHAPLEY_ROWS, _SHAPLEY_BACKGROUND = 50, 30
_MOST_BARS = 20


@dataclass(frozen=True, eq=False)
class Importance:
    """What each of p columns is worth to R networks.

    Args:
        features: names of the columns.
        each: loss of each network's mean log density, in nats per row, averaged over the
            permutations (R, p).
        averaged: loss of the averaged prediction (p,).
        error: standard error of `averaged` over the rows (p,).
        shapley: average size of Shapley values, by network (R, p), in units of the prediction;
            None where it was not asked for.
        relevance: `feature_relevance_` of the columns (p,), where the model has it.
    """

    features: tuple[str, ...]
    each: Array
    averaged: Array
    error: Array
    shapley: Array | None = None
    relevance: Array | None = None

    @property
    def frame(self) -> "DataFrame":
        """One line for each column, the most important first.

        `importance` is the mean over networks; `low95` to `high95` and `low80` to `high80` hold 95
        and 80 % of them. `shapley` and its intervals, and `relevance`, follow where they are known.
        """
        from pandas import DataFrame

        table: dict[str, Any] = {"feature": self.features}
        table |= Spread.of(self.each).columns("importance")
        table |= {"averaged": self.averaged, "error": self.error}
        if self.shapley is not None:
            own = Spread.of(self.shapley).columns("shapley")
            table |= {key if key == "shapley" else f"shapley_{key}": own[key] for key in own}
        if self.relevance is not None:
            table["relevance"] = self.relevance
        order = np.argsort(-self.each.mean(0), kind="stable")
        return DataFrame(table).iloc[order].reset_index(drop=True)

    def plot(self) -> Any:
        """A matplotlib figure: bars of the most important columns with their intervals."""
        from pmcnet.reports.figures.contribution_bars import importance_figure

        frame = self.frame.iloc[:_MOST_BARS]
        keys = Spread._fields[1:]
        found = {"mean": frame["importance"].tolist()} | {key: frame[key].tolist() for key in keys}
        return importance_figure(frame["feature"].tolist(), found)


def importance_of(
    model: "FittedModel",
    x: Any,
    y: Any,
    n_networks: int,
    n_rows: int,
    n_repeats: int,
    shapley: bool,
    random_state: int,
) -> Importance:
    """How much a model relies on each column; see `FittedModel.importance`."""
    players = Players.of(model.encoder_, "importance")
    inputs = plain_inputs(model.encoded(x), "importance")
    targets = model._targets(y)
    if len(targets) != len(inputs):
        raise InputError(f"X has {len(inputs)} rows and y has {len(targets)}. Give one y per row.")
    if len(inputs) < 2 or n_repeats < 1 or n_rows < 2:
        raise InputError(
            "importance needs at least 2 rows and 1 repeat; got "
            f"{min(len(inputs), n_rows)} and {n_repeats}."
        )
    chosen = torch.as_tensor(some_rows(len(inputs), n_rows, random_state))
    inputs, targets = inputs[chosen], targets[chosen].to(inputs.device)
    members = Members.of(model, n_networks)
    each, by_row = permuted_losses(members, players, inputs, targets, n_repeats, random_state)
    sizes = None
    if shapley:
        few = EncodedRows(inputs[:_SHAPLEY_ROWS])
        found = explanation_of(model, few, few, n_networks, _SHAPLEY_BACKGROUND, None, random_state)
        sizes = np.abs(found.each).mean(1).sum(-1)  # (R, p), over classes
    return Importance(
        players.names,
        each,
        by_row.mean(1),
        by_row.std(1, ddof=1) / np.sqrt(len(inputs)),
        sizes,
        _relevance(model, players.names),
    )


def permuted_losses(
    members: Members,
    players: Players,
    inputs: Tensor,
    targets: Tensor,
    n_repeats: int,
    seed: int,
) -> tuple[Array, Array]:
    """Losses of log density: by network (R, p), and of the averaged prediction by row (p, N)."""
    before = members.log_prob(inputs, targets)  # (R, N)
    averaged = _averaged(before)
    source = stream(check_seed(seed), 2, 0).host
    orders = [torch.as_tensor(source.permutation(len(inputs))) for _ in range(n_repeats)]
    each, by_row = [], []
    for place in range(len(players.names)):
        own = (players.owner == place).to(inputs.device)
        after = [
            members.log_prob(torch.where(own, inputs[order], inputs), targets) for order in orders
        ]
        each.append(np.mean([(before - found).mean(1) for found in after], axis=0))
        by_row.append(np.mean([averaged - _averaged(found) for found in after], axis=0))
    return np.stack(each, axis=1), np.stack(by_row)


def _averaged(log_prob: Array) -> Array:
    """Log of the average density over networks (N,)."""
    return np.asarray(np.logaddexp.reduce(log_prob, axis=0) - np.log(len(log_prob)))


def _relevance(model: "FittedModel", names: tuple[str, ...]) -> Array | None:
    if not has_relevance(model.posterior_):
        return None
    table = relevance_of(model.posterior_, model.encoder_).set_index("feature")["relevance"]
    return np.asarray(table.loc[list(names)], dtype=np.float64)
