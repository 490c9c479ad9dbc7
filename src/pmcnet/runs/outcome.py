"""What a finished run is: its model scored on the test rows, and its files."""

from pathlib import Path
from typing import NamedTuple

from pmcnet.estimators.checks.checks_record import KnownTable, checks_record
from pmcnet.estimators.evaluation.driver_records import KnownRows as BothRows
from pmcnet.estimators.evaluation.explained_rows import explained_tests
from pmcnet.estimators.evaluation.report_record import Source, metrics_record, report_record
from pmcnet.estimators.evaluation.row_predictions import Predictions, predictions_of
from pmcnet.estimators.evaluation.scores import Model, Record, Scores
from pmcnet.estimators.evaluation.start_rows import KnownRows
from pmcnet.estimators.evaluation.what_if_record import what_if_record
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
        BothRows(
            prepared.x_train,
            prepared.y_train,
            prepared.second_train,
            prepared.x_test,
            prepared.y_test,
            prepared.second_test,
        ),
    )
    report = report_record(model, source, metrics, scored)
    if settings.what_if:
        rows = (prepared.x_train, prepared.x_test, prepared.y_test, prepared.second_test)
        known = KnownRows(*rows, source.rows)
        report["what_if"] = what_if_record(model, known, exposed=bool(settings.exposure))
    report |= checks_record(model, *_known_tables(prepared), settings.seed)
    report |= _explained(model, prepared, predictions)
    write_text(folder.history, lines_text(model.history_))
    write_json(folder.report_data, report)
    write_report(report, folder.report)
    write_json(folder.metrics, metrics)
    return FinishedRun(folder, model, metrics, report)


def _known_tables(prepared: RunRows) -> tuple[KnownTable, KnownTable]:
    """Rows to check a model on, those of the test where there are any, and those of the fit."""
    trained = KnownTable(
        prepared.x_train,
        prepared.y_train,
        prepared.second_train,
        prepared.train_rows + 1,
        seen=True,
    )
    if not len(prepared.y_test):
        return trained, trained
    numbers = prepared.test_rows + 1
    return KnownTable(prepared.x_test, prepared.y_test, prepared.second_test, numbers), trained


def _explained(model: Model, prepared: RunRows, predictions: Predictions | None) -> Record:
    """What the page says of some test rows."""
    if predictions is None:
        return {}
    known, numbers = training_table(model, prepared), prepared.test_rows + 1
    return explained_tests(
        model, predictions, prepared.x_test, prepared.y_test, numbers=numbers, known=known
    )
