"""The predictions that a finished run writes: of test rows, and of rows without a target."""

from pathlib import Path

from pmcnet.estimators.evaluation.row_predictions import Predictions
from pmcnet.estimators.evaluation.scores import Model
from pmcnet.runs.folder import write_text
from pmcnet.runs.predict import COVERAGE, predicted_columns, written
from pmcnet.runs.prepare import RunRows


def write_predictions(predictions: Predictions, prepared: RunRows, path: Path) -> None:
    """Those of the test rows beside the truth."""
    from pandas import DataFrame  # type: ignore[import-untyped]

    known = {"row": prepared.test_rows + 1, "truth": prepared.y_test}
    known |= prepared.second_test.columns
    table = DataFrame(known | written(predictions.columns()))
    write_text(path, table.to_csv(index=False, lineterminator="\n"))


def write_missing(model: Model, prepared: RunRows, path: Path) -> None:
    """Predictions of the rows whose target is missing; of counts, for an exposure of 1."""
    from pandas import DataFrame

    added = written(predicted_columns(model, prepared.x_missing, coverage=COVERAGE))
    table = DataFrame({"row": prepared.missing_rows + 1} | added)
    write_text(path, table.to_csv(index=False, lineterminator="\n"))
