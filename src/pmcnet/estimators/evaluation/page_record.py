"""The whole record of a page: what the fit knows, and everything that rows allow to say."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pmcnet.estimators.checks.checks_record import checks_record
from pmcnet.estimators.encoding import TableEncoder
from pmcnet.estimators.evaluation.driver_records import LEAST_ROWS, driver_records
from pmcnet.estimators.evaluation.explained_rows import explained_tests
from pmcnet.estimators.evaluation.known_table import KnownTable
from pmcnet.estimators.evaluation.report_record import Source, report_record
from pmcnet.estimators.evaluation.row_predictions import Predictions
from pmcnet.estimators.evaluation.scores import Model, Record, Scores
from pmcnet.estimators.evaluation.training_table import TrainingTable
from pmcnet.estimators.evaluation.what_if_record import what_if_record
from pmcnet.estimators.update import islands_of
from pmcnet.io.plain import plain


class PageRows(NamedTuple):
    """The rows that a page can be made of, as far as they are at hand.

    Args:
        tested: those whose predictions are judged; a run without test rows takes those of the fit.
        trained: those of the fit, with their targets.
        neighbours: those of the fit, as the network sees them.
        predictions: of the rows that the fit has not seen.
        scored: the same, judged.
    """

    tested: KnownTable | None = None
    trained: KnownTable | None = None
    neighbours: TrainingTable | None = None
    predictions: Predictions | None = None
    scored: Scores | None = None


def page_record(
    model: Model,
    source: Source,
    metrics: Mapping[str, Any],
    rows: PageRows,
    *,
    seed: int,
    what_if: bool = True,
) -> Record:
    """What a page is drawn from, of a run and of a model alike.

    Args:
        model: fitted.
        source: of its rows.
        metrics: as `metrics_record` made them.
        rows: that are at hand.
        seed: of the checks.
        what_if: whether the page predicts by itself.
    """
    record = report_record(model, source, metrics, rows.scored)
    if rows.tested is not None:
        record |= plain(driver_records(model, rows.tested, rows.trained))
    if what_if and rows.tested is not None:
        record["what_if"] = what_if_record(model, rows.tested, rows.trained)
    record |= checks_record(model, rows.tested, rows.trained, seed)
    if rows.tested is not None and rows.predictions is not None:
        record |= explained_tests(model, rows.predictions, rows.tested, rows.neighbours)
    return record | {"omissions": list(_omissions(model, rows, record))}


def _omissions(model: Model, rows: PageRows, record: Record) -> Iterator[str]:
    """Why parts of the page are not there, where the reader could change that."""
    if rows.tested is None:
        yield (
            "Metrics, what drives predictions and most checks need rows whose truth is known: give "
            "X and y to report."
        )
    elif len(rows.tested.y) < LEAST_ROWS:
        yield (
            f"Replicated data and residuals are shown of {LEAST_ROWS} test rows or more, and so "
            "are effects where the rows of the fit are not at hand."
        )
    elif isinstance(model.encoder_, TableEncoder) and "importance" not in record:
        exposed = rows.tested.second.exposure is not None
        yield "Importance and effects are left out: " + (
            "they are not known for counts with an exposure."
            if exposed
            else "they would take too long for networks as large as these."
        )
    forgotten = rows.trained is None and model.training_rows_ is None
    if forgotten and model.posterior_.is_posterior and model.calibration_ is None:
        saved = "" if islands_of(model) is None else "save it with training_rows=True, or "
        yield (
            "Leaving one row out needs the training rows, which this model does not hold: "
            f"{saved}give them back with restore_rows(X, y)."
        )
