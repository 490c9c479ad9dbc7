"""Rows of another table whose truth is known, as the model of a run takes them."""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pmcnet import data
from pmcnet.data import TableFile
from pmcnet.data.readers.cells import listed, replaced
from pmcnet.errors import InputError
from pmcnet.estimators import PMCNetClassifier
from pmcnet.estimators.evaluation.scores import Model
from pmcnet.estimators.evaluation.second_column import SecondColumn
from pmcnet.runs.config import read_config
from pmcnet.runs.exposures_and_events import ColumnNames, second_of
from pmcnet.runs.folder import RunFolder
from pmcnet.runs.predict import read_rows
from pmcnet.runs.target_cells import target_cells
from pmcnet.runs.target_column import numbers_of, present

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]


class KnownRows(NamedTuple):
    """Rows with a target; how many have none, and the fingerprint of the whole table."""

    x: "DataFrame"
    y: NDArray[np.generic]
    second: SecondColumn
    n_missing: int
    fingerprint: str


def known_rows(
    model: Model,
    run: Path,
    table: TableFile,
    *,
    target: str | None = None,
    exposure: str | None = None,
    event: str | None = None,
) -> KnownRows:
    """Read a table; rows without a target are left out.

    Args:
        model: of the run.
        run: the run's folder, which knows the target.
        table: as `data.open_table` gives it.
        target: the column with the truth, if other than the run's.
        exposure: that of exposures, likewise; "" for none.
        event: that of events, likewise.
    """
    folder = RunFolder(run)
    if target is None and folder.config.is_file():
        target = read_config(folder.config).get("target")
    whole, source = table.frame(), table.where
    if not target or target not in whole.columns:
        named = (
            f"has no target column {target!r}"
            if target
            else "has a target column that the run does not name"
        )
        raise InputError(
            f"{source} {named}; its columns are {listed(tuple(map(str, whole.columns)))}. Use "
            "--target."
        )
    task = "classification" if isinstance(model, PMCNetClassifier) else "regression"
    cells = target_cells(whole[target], task).column
    known = cells.notna().to_numpy()
    if not known.any():
        raise InputError(f"{source} has no row with a target {target!r}. Give rows that have one.")
    frame = replaced(whole, {target: cells})[known]
    truth = present(frame[target], target)
    if not isinstance(model, PMCNetClassifier):
        truth = numbers_of(truth, target)
    names = ColumnNames.of_run(model, run, exposure, event)
    second = second_of(frame, names, target, source)
    rows = read_rows(model, table)[known].reset_index(drop=True)
    return KnownRows(rows, truth, second, int((~known).sum()), data.fingerprint(whole))
