"""Some rows of a table explained by the model of a run."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pmcnet.data import TableFile
from pmcnet.data import names as built_in_names
from pmcnet.errors import InputError
from pmcnet.estimators.evaluation.explained_rows import Effort, explained_rows
from pmcnet.estimators.evaluation.scores import Model, Record
from pmcnet.estimators.evaluation.training_table import TrainingTable, plain_cell
from pmcnet.runs.config import RunSettings, read_config
from pmcnet.runs.folder import RunFolder, write_json
from pmcnet.runs.predict import selected, table_pieces
from pmcnet.runs.prepare import RunRows, prepare

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]

MOST_ROWS = 100
"""That are explained at once."""

_MOST_OPERATIONS = 2e12  # of all contributions


class _Chosen(NamedTuple):
    """Rows of a table with the model's columns, and their targets where the table has them."""

    x: "DataFrame"
    target: list[Any] | None


class _Known(NamedTuple):
    """The training rows, if they can be had, or a remark that says why not; and their place."""

    table: TrainingTable | None
    remark: str
    place: str = ""


def explain_run(
    model: Model, run: Path, table: TableFile, rows: Sequence[int], *, n_networks: int
) -> Record:
    """What there is to say of some rows of a table.

    Args:
        model: of the run.
        run: the run's folder.
        table: as `data.open_table` gives it.
        rows: their numbers, from 1.
        n_networks: behind contributions, at most.
    """
    wanted = _checked(rows)
    config = _config(run)
    target = str(config.get("target", ""))
    chosen = _chosen(model, table, wanted, target)
    known = _known(model, run, config)
    effort = Effort.within(model, len(wanted), _MOST_OPERATIONS, n_networks)
    remarks = [known.remark] if known.remark else []
    if effort is None:
        remarks.append(
            "contributions are left out: the model has too many columns for so many rows. Explain "
            "fewer rows, or use --passes 25."
        )
    own = np.array(wanted) if known.place == table.place else None
    found = explained_rows(model, chosen.x, model.encoded(chosen.x), effort, known.table, own=own)
    for i, (record, row) in enumerate(zip(found, wanted, strict=True)):
        record |= {"row": row}
        if chosen.target is not None:
            record |= {"truth": chosen.target[i]}
    return {
        "data": table.where,
        "target": target or None,
        "task": "classification" if hasattr(model, "classes_") else "regression",
        "rows": found,
        "remarks": remarks,
    }


def training_table(model: Model, prepared: RunRows) -> TrainingTable | None:
    """The training rows of a run; None after an update, when they are not all of them."""
    if model.update_ is not None:
        return None
    return TrainingTable.of(model, prepared.x_train, prepared.y_train, prepared.train_rows + 1)


def _checked(rows: Sequence[int]) -> list[int]:
    wanted = list(dict.fromkeys(rows))
    if not wanted:
        raise InputError("no row was named. Give --row 17, or --rows 3,17,20-25.")
    if len(wanted) > MOST_ROWS:
        raise InputError(
            f"at most {MOST_ROWS} rows are explained at once; got {len(wanted)}. Give fewer."
        )
    return wanted


def _config(run: Path) -> dict[str, Any]:
    """The settings of the run; none of a folder that `save` wrote."""
    file = RunFolder(run).config
    return read_config(file) if file.is_file() else {}


def _chosen(model: Model, table: TableFile, wanted: list[int], target: str) -> _Chosen:
    """Find the rows, a piece of the table after the other."""
    from pandas import concat

    parts: list[DataFrame] = []
    targets: dict[int, Any] = {}
    order: list[int] = []
    n_rows = 0
    for raw, chunk in table_pieces(model, table):
        inside = [row for row in wanted if n_rows < row <= n_rows + len(chunk)]
        if inside:
            places = [row - n_rows - 1 for row in inside]
            parts.append(selected(model, chunk).iloc[places])
            order += inside
            if target in raw.columns:
                cells = raw[target].iloc[places]
                targets |= dict(zip(inside, map(plain_cell, cells), strict=True))
        n_rows += len(chunk)
    outside = [row for row in wanted if not 1 <= row <= n_rows]
    if outside:
        raise InputError(
            f"{table.where} has {n_rows} rows, numbered from 1; there is no row {outside[0]}. Give "
            f"a row from 1 to {n_rows}."
        )
    found = concat(parts, ignore_index=True).iloc[[order.index(row) for row in wanted]]
    known = [targets[row] for row in wanted] if targets else None
    return _Chosen(found.reset_index(drop=True), known)


def _known(model: Model, run: Path, config: dict[str, Any]) -> _Known:
    """The training rows, where the table of the run is there and has not changed."""
    provenance = config.pop("provenance", {})
    data = str(config.get("data", ""))
    why = ""
    if not config:
        why = f"{run} does not name its table"
    elif model.update_ is not None:
        why = "the model was updated, so the table of the run is not all of its rows"
    elif data not in built_in_names() and not Path(data).is_file():
        why = f"{data} is not a file here"
    if not why:
        try:
            prepared = prepare(RunSettings.of(config))
        except InputError:
            why = f"{data} cannot be read as it was"
        else:
            if provenance.get("data_fingerprint") == prepared.fingerprint:
                return _Known(training_table(model, prepared), "", prepared.settings.data)
            why = f"{data} has changed since"
    n_kept = 0 if model.reference_rows_ is None else len(model.reference_rows_.inputs)
    among = f"nearest rows are among {n_kept} that the model keeps, without values: {why}."
    return _Known(None, among)


def write_explained(found: Record, out: Path) -> None:
    """Write the JSON of explained rows, where nothing is yet."""
    try:
        if out.exists():
            raise InputError(f"{out} exists already. Choose another -o, or remove it.")
        write_json(out, found)
    except OSError as error:
        raise InputError(
            f"{out} cannot be written ({error.strerror}). Choose another -o, in a folder that "
            "exists and is yours."
        ) from error
