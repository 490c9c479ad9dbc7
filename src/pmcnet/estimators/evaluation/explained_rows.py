"""Rows explained as plain data: prediction, contributions, novelty, nearest training rows."""

import warnings
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from pmcnet.errors import InputError, UnseenLevelsWarning
from pmcnet.estimators.classifier import PMCNetClassifier
from pmcnet.estimators.encoding import TableEncoder
from pmcnet.estimators.evaluation.known_table import KnownTable
from pmcnet.estimators.evaluation.row_predictions import Predictions
from pmcnet.estimators.evaluation.scores import Model, Record
from pmcnet.estimators.evaluation.training_table import TrainingTable, nearest_rows, plain_cell
from pmcnet.estimators.explanations.explanation import N_ORDERS, Explanation, others
from pmcnet.estimators.explanations.given_cells import cells_of
from pmcnet.estimators.explanations.shapley import MOST_EXACT
from pmcnet.estimators.explanations.spread import Spread
from pmcnet.estimators.novelty import Novelty
from pmcnet.estimators.predictions import AveragedPrediction, EncodedRows
from pmcnet.io.plain import plain

COVERAGE = 0.95
LEVELS = (0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975)
"""Of the quantiles of a predicted number."""
MOST_COLUMNS = 12
"""Columns with a contribution of their own."""
N_UNCERTAIN, N_NOVEL = 3, 2
"""Test rows that the page explains."""

_MOST_OPERATIONS = 1e10  # of the contributions in the page
_NETWORKS, _BACKGROUND = 100, 100
_LEAST_NETWORKS, _LEAST_BACKGROUND = 25, 10


class Effort(NamedTuple):
    """Networks and background rows of contributions."""

    n_networks: int
    n_background: int

    @classmethod
    def within(
        cls, model: Model, n_rows: int, most: float, n_networks: int = _NETWORKS
    ) -> Self | None:
        """As many as a number of operations allows; None where it allows too few.

        Args:
            model: whose rows are explained.
            n_rows: how many.
            most: multiplications that it may take.
            n_networks: at most.
        """
        encoder = model.encoder_
        if not isinstance(encoder, TableEncoder):
            return None
        p = len(encoder.columns.columns)
        mixed = 2**p if p <= MOST_EXACT else N_ORDERS * (p + 1)
        each = float(n_rows * mixed * model.posterior_.network.layout.dim)
        background = min(_BACKGROUND, max(_LEAST_BACKGROUND, int(most / (each * n_networks))))
        least = min(n_networks, _LEAST_NETWORKS)
        networks = min(n_networks, max(least, int(most / (each * background))))
        return cls(networks, background) if each * background * networks <= most else None


def explained_rows(
    model: Model,
    x: Any,
    rows: EncodedRows,
    effort: Effort | None,
    known: TrainingTable | None = None,
    *,
    own: NDArray[np.int64] | None = None,
) -> list[Record]:
    """What there is to say of each row.

    Args:
        model: of a table.
        x: the rows with the model's columns.
        rows: the same, encoded.
        effort: of contributions; without it there are none.
        known: the training rows; without it the nearest rows are those that the model keeps.
        own: numbers of the rows, if they are in the same table as the training rows: a row is not
            its own neighbour.
    """
    encoder = model.encoder_
    assert isinstance(encoder, TableEncoder)
    explanation = None
    if effort is not None:
        background = _background(model, known)
        explanation = model.explain(rows, background, **effort._asdict())
    cells = cells_of(x, [column.name for column in encoder.columns.columns])
    averaged, predicted = _predictions(model, rows)
    novelty = model.novelty_of(rows, averaged)
    found = []
    for i, prediction in enumerate(predicted):
        parts: Record = {}
        if explanation is not None:
            parts = _contributions(explanation, i, _output(model, averaged, i), cells or [])
        shown = [one["column"] for one in parts.get("contributions", ()) if "value" in one]
        number = None if own is None else int(own[i])
        near = nearest_rows(model, rows.inputs[i : i + 1], known, shown, number)
        parts |= {"novelty": _novelty(novelty, i), "nearest": near}
        found.append(plain(prediction | parts))
    return found


def explained_tests(
    model: Model, found: Predictions, tested: KnownTable, known: TrainingTable | None
) -> Record:
    """`explained` of the page; nothing where contributions would take too long.

    Args:
        model: of a table.
        found: its predictions of the test rows.
        tested: those rows.
        known: the training rows; without it the nearest rows are those that the model keeps.
    """
    chosen = chosen_rows(found)
    effort = Effort.within(model, len(chosen), _MOST_OPERATIONS)
    if effort is None or (known is None and model.reference_rows_ is None):
        return {}
    some = tested.at(np.array(chosen, dtype=np.int64))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenLevelsWarning)  # said of all test rows
        rows = model.encoded(some.x)
    listed = explained_rows(model, some.x, rows, effort, known)
    classes = isinstance(model, PMCNetClassifier)
    for record, n in zip(listed, chosen, strict=True):
        truth = str(tested.y[n]) if classes else plain_cell(tested.y[n])
        record |= {"row": tested.number(n), "truth": truth}
    return {"explained": listed}


def _background(model: Model, known: TrainingTable | None) -> EncodedRows | None:
    """The rows that contributions compare with; None for those that the model keeps."""
    if model.reference_rows_ is not None or model.training_rows_ is not None:
        return None
    if known is None:
        raise InputError(
            "contributions compare a row with training rows, and this model has none: it was saved "
            "without reference rows, or by an older pmcnet. Fit again, or put the table of its run "
            "back."
        )
    return EncodedRows(known.inputs)


def chosen_rows(found: Predictions) -> list[int]:
    """The test rows that the page explains: the least certain, then novel ones."""
    uncertain = np.argsort(-found.averaged.total, kind="stable")
    chosen: list[int] = uncertain[:N_UNCERTAIN].tolist()
    if found.novelty is not None:
        order = np.argsort(-found.novelty.percentile, kind="stable")
        novel = [n for n in order[: N_NOVEL + N_UNCERTAIN].tolist() if found.novelty.is_novel[n]]
        chosen += [n for n in novel if n not in chosen][:N_NOVEL]
    return chosen


def _predictions(model: Model, rows: EncodedRows) -> tuple[AveragedPrediction, list[Record]]:
    """The averaged predictions, and what is said of each."""
    if not isinstance(model, PMCNetClassifier):
        found, interval = model.predictive_interval(rows, COVERAGE)
        quantiles = model.predict_quantiles(rows, LEVELS)
        return found, [
            {
                "prediction": float(found.mean[i, 0]),
                "std": float(np.sqrt(found.total[i])),
                "interval": interval[i].tolist(),
                "coverage": COVERAGE,
                "quantiles": [
                    {"level": level, "value": float(value)}
                    for level, value in zip(LEVELS, quantiles[i], strict=True)
                ],
            }
            for i in range(len(interval))
        ]
    found = model.predictive(rows)
    spread = Spread.of(model.predict_draws(rows, _NETWORKS))
    names = [str(name) for name in model.classes_]
    return found, [
        {
            "prediction": names[int(found.probability[i].argmax())],
            "classes": [
                {
                    "class": name,
                    "probability": float(found.probability[i, k]),
                    "low95": float(spread.low95[i, k]),
                    "high95": float(spread.high95[i, k]),
                }
                for k, name in enumerate(names)
            ],
        }
        for i in range(len(found.probability))
    ]


def _output(model: Model, averaged: AveragedPrediction, i: int) -> int:
    """The place of what is explained: of more than two classes the most probable one."""
    n_classes = averaged.mean.shape[1]
    return int(averaged.mean[i].argmax()) if n_classes > 2 else 0


def _contributions(found: Explanation, i: int, k: int, cells: list[list[Any]]) -> Record:
    """The columns that contribute most, then the others together."""
    each = found.each[:, i, :, k]  # (R, p)
    order = np.argsort(-np.abs(each.mean(0)), kind="stable")
    spread = Spread.of(each)
    lines = [
        {
            "column": found.features[j],
            "value": plain_cell(cells[i][j]),
            **{name: float(part[j]) for name, part in zip(spread._fields, spread, strict=True)},
            "error": float(found.error[i, j, k]),
        }
        for j in order[:MOST_COLUMNS]
    ]
    if len(order) > MOST_COLUMNS:
        rest = Spread.of(each[:, order[MOST_COLUMNS:]].sum(1))
        name = others(len(order) - MOST_COLUMNS)
        lines.append({"column": name} | {key: float(v) for key, v in rest._asdict().items()})
    return {
        "of": found.classes[k] if found.classes else None,
        "base": float(found.base[:, k].mean()),
        "explained": float(found.prediction[:, i, k].mean()),
        "exact": found.is_exact,
        "n_networks": found.each.shape[0],
        "contributions": lines,
    }


def _novelty(found: Novelty | None, i: int) -> Record | None:
    if found is None:
        return None
    return {name: part[i].item() for name, part in zip(found._fields, found, strict=True)}
