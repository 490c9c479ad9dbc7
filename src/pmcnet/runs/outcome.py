"""What a finished run is: its model scored on the test rows, and its files."""

from pathlib import Path
from typing import NamedTuple

from pmcnet.estimators.evaluation.known_table import KnownTable
from pmcnet.estimators.evaluation.page_record import PageRows, page_record
from pmcnet.estimators.evaluation.report_record import Source, metrics_record
from pmcnet.estimators.evaluation.row_predictions import Predictions, predictions_of
from pmcnet.estimators.evaluation.scores import Model, Record, Scores
from pmcnet.runs.config import RunSettings
from pmcnet.runs.explain import training_table
from pmcnet.runs.folder import RunFolder, lines_text, write_json, write_text
from pmcnet.runs.prediction_files import write_missing, write_predictions
from pmcnet.runs.prepare import RunRows


class FinishedRun(NamedTuple):
    """The folder of a finished run, its model and its two records."""

    folder: RunFolder
    model: Model
    metrics: Record
    report: Record


def finish(
    model: Model,
    prepared: RunRows,
    settings: RunSettings,
    folder: RunFolder,
    seconds: float,
    *,
    n_more: int = 0,
    training_rows: bool = False,
) -> FinishedRun:
    """Score, and write everything that a finished run has.

    Args:
        model: fitted.
        prepared: the rows of its fit, and those it is scored on.
        settings: of the run.
        folder: where to write.
        seconds: that the fit took, or the update.
        n_more: training rows that followed the fit.
        training_rows: whether the model's file holds them.
    """
    from pmcnet.reports.page import write_report

    scored: Scores | None = None
    predictions: Predictions | None = None
    if len(prepared.y_test):
        draws = {"n_passes": settings.n_passes, "seed": settings.seed}
        predictions = predictions_of(
            model, prepared.x_test, prepared.y_test, prepared.second_test, **draws
        )
        scored = predictions.scored()
        write_predictions(predictions, prepared, folder.predictions)
    if prepared.x_missing is not None and len(prepared.x_missing):
        write_missing(model, prepared, folder.missing_targets)
    model.save(folder.model, training_rows=training_rows)
    metrics = metrics_record(model, scored, n_test=len(prepared.y_test), fit_seconds=seconds)
    source = Source(
        Path(settings.data).name,
        settings.target,
        len(prepared.y_train) + n_more,
        (prepared.test_rows + 1).tolist(),
        vars(settings),
    )
    rows = _page_rows(model, prepared, predictions, scored)
    report = page_record(model, source, metrics, rows, seed=settings.seed, what_if=settings.what_if)
    write_text(folder.history, lines_text(model.history_))
    write_json(folder.report_data, report)
    write_report(report, folder.report)
    write_json(folder.metrics, metrics)
    return FinishedRun(folder, model, metrics, report)


def _page_rows(
    model: Model, prepared: RunRows, predictions: Predictions | None, scored: Scores | None
) -> PageRows:
    """The rows of the page: those of the test where there are any, and those of the fit."""
    trained = KnownTable(
        prepared.x_train,
        prepared.y_train,
        prepared.second_train,
        prepared.train_rows + 1,
        seen=True,
    )
    if predictions is None:
        return PageRows(trained, trained)
    numbers = prepared.test_rows + 1
    tested = KnownTable(prepared.x_test, prepared.y_test, prepared.second_test, numbers)
    return PageRows(tested, trained, training_table(model, prepared), predictions, scored)
