"""The rows of a comparison: what our models predict for them, and what others are given."""

import numpy as np
from numpy.typing import NDArray

from pmcnet.competitors import LEVELS, RowPredictions, Rows
from pmcnet.competitors.measurement import SplitRows
from pmcnet.competitors.registry import Form
from pmcnet.estimators import PMCNetClassifier
from pmcnet.estimators.columns import Matrix
from pmcnet.estimators.encoding import TableEncoder
from pmcnet.estimators.evaluation.scores import Model, class_labels
from pmcnet.estimators.training_rows import TrainingRows, level_targets
from pmcnet.runs.class_truth import ClassTruth
from pmcnet.runs.number_truth import NumberTruth
from pmcnet.runs.prepare import RunRows
from pmcnet.runs.significance import Truth


def truth_of(model: Model, prepared: RunRows) -> Truth:
    """Of the test rows; classes by their places among the model's."""
    if isinstance(model, PMCNetClassifier):
        return ClassTruth(class_labels(model, prepared.y_test))
    truth = np.asarray(prepared.y_test, dtype=np.float64)
    return NumberTruth(truth, prepared.second_test.observed(len(truth)))


def predicted_by(model: Model, prepared: RunRows) -> RowPredictions:
    """What one of our models predicts for the test rows."""
    if isinstance(model, PMCNetClassifier):
        return RowPredictions(probability=model.predict_proba(prepared.x_test))
    second, model = prepared.second_test, model.cached()
    rows = model.encoded(prepared.x_test, **second.arguments)
    response = second.response(np.asarray(prepared.y_test, dtype=np.float64))
    return RowPredictions(
        mean=model.predict(rows),
        log_density=model.log_predictive(rows, response),
        quantiles=model.predict_quantiles(rows, LEVELS.tolist()).T,
    )


def given_rows(model: Model, prepared: RunRows) -> dict[Form, SplitRows]:
    """The rows of one of our models in both forms, as its encoder has read them.

    Where a column becomes averages of the target, a training row's own target is not in its input.
    """
    encoder = model.encoder_
    assert isinstance(encoder, TableEncoder)
    n_classes = len(model.classes_) if isinstance(model, PMCNetClassifier) else None
    y_train, y_test = _targets(model, prepared.y_train), _targets(model, prepared.y_test)
    rows = [encoder.rows(x) for x in (prepared.x_train, prepared.x_test)]
    weight = np.ones(len(y_train))
    targets = level_targets(TrainingRows(rows[0], y_train, weight), n_classes)
    inputs = [encoder.encode_training(rows[0], weight, targets), encoder.encode(rows[1])]
    levels = [with_levels(encoder, *pair) for pair in zip(rows, inputs, strict=True)]
    return {
        "encoded": SplitRows(Rows(inputs[0]), y_train, Rows(inputs[1]), y_test),
        "levels": SplitRows(levels[0], y_train, levels[1], y_test),
    }


def with_levels(encoder: TableEncoder, rows: Matrix, inputs: Matrix) -> Rows:
    """Categorical columns as places of levels, the others as their inputs.

    What is missing, and a level that training had not, is not-a-number; there are no flags.

    Args:
        encoder: of the columns.
        rows: their numbers (N, R).
        inputs: of the networks (N, n_inputs).
    """
    parts: list[Matrix] = []
    categories: list[int] = []
    place = encoder.input_columns[: inputs.shape[1] - sum(encoder.flagged)]
    for i, (column, own) in enumerate(
        zip(encoder.columns.columns, encoder.columns.slices, strict=True)
    ):
        if column.of_levels:
            categories.append(sum(part.shape[1] for part in parts))
            parts.append(np.where(rows[:, own] < 0, np.nan, rows[:, own]))
        else:
            found = inputs[:, np.flatnonzero(place == i)]
            parts.append(np.where(column.missing(rows[:, own]), np.nan, found))
    return Rows(np.hstack(parts), tuple(categories))


def _targets(model: Model, y: NDArray[np.generic]) -> Matrix:
    """Numbers, or places of classes."""
    if isinstance(model, PMCNetClassifier):
        return class_labels(model, y).double().numpy()
    return np.asarray(y, dtype=np.float64)
