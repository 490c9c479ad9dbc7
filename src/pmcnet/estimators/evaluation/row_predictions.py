"""The predictions of a run's test rows: made once, read by metrics, table and page."""

from typing import Any

from numpy.typing import NDArray

from pmcnet.estimators.classifier import PMCNetClassifier
from pmcnet.estimators.evaluation.class_predictions import ClassPredictions
from pmcnet.estimators.evaluation.number_predictions import NumberPredictions
from pmcnet.estimators.evaluation.scores import Model
from pmcnet.estimators.evaluation.second_column import NO_COLUMN, SecondColumn

Predictions = ClassPredictions | NumberPredictions


def predictions_of(
    model: Model,
    x: Any,
    y: NDArray[Any],
    second: SecondColumn = NO_COLUMN,
    *,
    n_passes: int,
    seed: int,
) -> Predictions:
    """Predict rows whose truth is known.

    Args:
        model: fitted.
        x: rows.
        y: their truth (N,).
        second: what is known beside it.
        n_passes: draws behind the credible intervals.
        seed: of those draws.
    """
    if isinstance(model, PMCNetClassifier):
        return ClassPredictions.of(model, x, y, n_passes=n_passes, seed=seed)
    return NumberPredictions.of(model, x, y, second, n_passes=n_passes, seed=seed)
