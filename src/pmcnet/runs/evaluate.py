"""A finished model on a table whose truth is known."""

from pathlib import Path

from pmcnet.data import TableFile
from pmcnet.data.readers.cells import listed, replaced
from pmcnet.errors import InputError
from pmcnet.estimators import PMCNetClassifier
from pmcnet.runs.config import read_config
from pmcnet.runs.folder import RunFolder
from pmcnet.runs.predict import read_rows
from pmcnet.runs.row_predictions import predictions_of
from pmcnet.runs.run_record import metrics_record
from pmcnet.runs.scores import Model, Record
from pmcnet.runs.second_column import ColumnNames, second_of
from pmcnet.runs.target_cells import target_cells
from pmcnet.runs.target_column import numbers_of, present


def evaluate_file(
    model: Model,
    run: Path,
    table: TableFile,
    *,
    target: str | None,
    exposure: str | None = None,
    event: str | None = None,
    n_passes: int,
    seed: int,
) -> Record:
    """Metrics as `metrics.json` has them.

    Args:
        model: of the run.
        run: the run's folder, which knows the target.
        table: as `data.open_table` gives it.
        target: the column with the truth, if other than the run's.
        exposure: that of exposures, likewise; "" for none.
        event: that of events, likewise.
        n_passes: draws behind the credible intervals.
        seed: of those draws.
    """
    folder = RunFolder(run)
    if target is None and folder.config.is_file():
        target = read_config(folder.config).get("target")
    frame, source = table.frame(), table.where
    if not target or target not in frame.columns:
        named = (
            f"has no target column {target!r}"
            if target
            else "has a target column that the run does not name"
        )
        raise InputError(
            f"{source} {named}; its columns are {listed(tuple(map(str, frame.columns)))}. Use "
            "--target."
        )
    task = "classification" if isinstance(model, PMCNetClassifier) else "regression"
    frame = replaced(frame, {target: target_cells(frame[target], task).column})
    known = frame[target].notna().to_numpy()
    if not known.any():
        raise InputError(f"{source} has no row with a target {target!r}. Give rows that have one.")
    frame = frame[known]
    truth = present(frame[target], target)
    if not isinstance(model, PMCNetClassifier):
        truth = numbers_of(truth, target)
    names = ColumnNames.of_run(model, run, exposure, event)
    second = second_of(frame, names, target, source)
    rows = read_rows(model, table)[known]
    predictions = predictions_of(model, rows, truth, second, n_passes=n_passes, seed=seed)
    return metrics_record(model, predictions.scored(), n_test=len(frame), fit_seconds=None)
