"""What drives predictions, as the page shows it: importance, effects, the strongest pair."""

import warnings
from typing import Any, NamedTuple

import numpy as np

from pmcnet.errors import UnseenLevelsWarning
from pmcnet.estimators.encoding import TableEncoder
from pmcnet.estimators.evaluation.known_table import KnownTable
from pmcnet.estimators.evaluation.scores import Model, Record
from pmcnet.estimators.explanations.effect_entries import (
    effect_entry,
    interaction_entry,
    pair_entry,
)
from pmcnet.estimators.explanations.effects import Effects
from pmcnet.estimators.explanations.interactions import Interaction

MOST_DRAWN = 12
_MOST_LISTED, _MOST_PAIRS, _MOST_CLASSES = 50, 5, 5
_HELD_OUT = 50  # test rows that are enough for importance
LEAST_ROWS = 20
"""Test rows of which effects and importance say something."""
_REPEATS = 3
_WORK = 6e9  # intermediate numbers of all evaluations: about 2 s on one core
_PLAIN = 5.0  # how much slower a network without a compiled pass is


class _Sizes(NamedTuple):
    """How many networks and rows are asked."""

    n_networks: int
    n_rows: int


_CHOICES = (_Sizes(100, 200), _Sizes(60, 150), _Sizes(40, 100), _Sizes(25, 60), _Sizes(20, 30))


def driver_records(model: Model, tested: KnownTable, trained: KnownTable | None) -> Record:
    """`importance`, `effects` and `interaction` of a model of a table.

    Nothing of images, of counts with an exposure, and where the networks are too large for it.

    Args:
        model: fitted.
        tested: rows that the fit has not seen, where there are such.
        trained: those that it has; without them all is of the rows tested.
    """
    if trained is None:
        if len(tested.y) < LEAST_ROWS:
            return {}
        trained = tested
    exposed = trained.second.exposure is not None
    sizes = _sizes(model)
    if not isinstance(model.encoder_, TableEncoder) or exposed or sizes is None:
        return {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenLevelsWarning)  # predictions have warned of them
        return _records(model, tested, trained, sizes, model.encoder_)


def _records(
    model: Model, tested: KnownTable, trained: KnownTable, sizes: _Sizes, encoder: TableEncoder
) -> Record:
    found = {"importance": _importance(model, tested, trained, sizes)}
    names = [entry["feature"] for entry in found["importance"]["columns"]]
    drawn = [name for name in names if _has_grid(encoder, name)][:MOST_DRAWN]
    if not drawn:
        return found
    effects = model.effects(
        trained.x, drawn, n_networks=sizes.n_networks, n_rows=sizes.n_rows, n_points=20
    )
    found["effects"] = _effects(effects, names) | {"held_out": not trained.seen}
    if effects.pairs:
        found["interaction"] = _interaction(effects)
    return found


def _sizes(model: Model) -> _Sizes | None:
    """The largest that the work allows; None where even the smallest is too much."""
    if not isinstance(model.encoder_, TableEncoder):
        return None
    network, n_columns = model.posterior_.network, len(model.encoder_.columns.columns)
    plain = 1.0 if hasattr(network, "fused") else _PLAIN
    each = plain * max(1, network.numbers_per_input)
    per_row = _REPEATS * n_columns + 20 * min(MOST_DRAWN, n_columns) + 15 * 64 / 2
    shapley = 30 * 4 * (n_columns + 1)  # of one row
    for sizes in _CHOICES:
        work = each * sizes.n_networks * (sizes.n_rows * per_row + 50 * shapley)
        if work <= _WORK:
            return sizes
    return _CHOICES[-1] if work <= 10 * _WORK else None


def _has_grid(encoder: TableEncoder, name: str) -> bool:
    return next(c for c in encoder.columns.columns if c.name == name).kind != "text"


def _importance(model: Model, tested: KnownTable, trained: KnownTable, sizes: _Sizes) -> Record:
    rows = tested if not tested.seen and len(tested.y) >= _HELD_OUT else trained
    found = model.importance(
        rows.x,
        rows.second.response(rows.y),
        n_networks=sizes.n_networks,
        n_rows=sizes.n_rows,
        n_repeats=_REPEATS,
        shapley=True,
    )
    listed = found.frame.iloc[:_MOST_LISTED].to_dict("records")
    return {
        "n_rows": min(sizes.n_rows, len(rows.y)),
        "held_out": not rows.seen,
        "n_networks": len(found.each),
        "n_repeats": _REPEATS,
        "n_columns": len(found.features),
        "columns": [{key: _short(value) for key, value in line.items()} for line in listed],
    }


def _effects(effects: Effects, names: list[str]) -> Record:
    outputs = _outputs(effects)
    drawn = {each.feature: each for each in effects.columns}
    shown = [drawn[name] for name in names if name in drawn]
    return {
        "n_rows": len(effects.rows),
        "n_networks": len(effects.average),
        "classes": [effects.classes[k] for k in outputs] if effects.classes else None,
        "columns": [effect_entry(each, effects.average, outputs) for each in shown],
        "others": [name for name in names if name not in drawn],
    }


def _short(value: Any) -> Any:
    """A number with six digits."""
    return value if isinstance(value, str) else float(f"{value:.6g}")


def _interaction(effects: Effects) -> Record:
    first = effects.pairs[0]
    output = _most_joint(first)
    return interaction_entry(first, output) | {
        "class": effects.classes[output] if effects.classes else None,
        "pairs": [pair_entry(pair) for pair in effects.pairs[:_MOST_PAIRS]],
    }


def _most_joint(pair: Interaction) -> int:
    """The class whose probability the pair moves together most."""
    return int(np.square(pair.joint.mean(0)).sum((0, 1)).argmax())


def _outputs(effects: Effects) -> list[int]:
    """At most five classes, the commonest, in their order."""
    order = np.argsort(-effects.average.mean(0), kind="stable")[:_MOST_CLASSES]
    return sorted(order.tolist())
