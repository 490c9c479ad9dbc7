"""A finished model on a table whose truth is known."""

from pmcnet.estimators.evaluation.report_record import metrics_record
from pmcnet.estimators.evaluation.row_predictions import predictions_of
from pmcnet.estimators.evaluation.scores import Model, Record
from pmcnet.runs.known_rows import KnownRows


def evaluate_rows(model: Model, rows: KnownRows, *, n_passes: int, seed: int) -> Record:
    """Metrics as `metrics.json` has them.

    Args:
        model: of a run.
        rows: with their truth.
        n_passes: draws behind the credible intervals.
        seed: of those draws.
    """
    predictions = predictions_of(model, rows.x, rows.y, rows.second, n_passes=n_passes, seed=seed)
    return metrics_record(model, predictions.scored(), n_test=len(rows.y), fit_seconds=None)
