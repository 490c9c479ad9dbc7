"""Predictions as columns, for a whole table or streamed from file to file in bounded memory."""

import csv
import os
import shutil
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO, TypeVar

import numpy as np
from numpy.typing import NDArray

from pmcnet.data import Kind, TableFile
from pmcnet.data.csv_injection import guarded, guarded_column, has_carriage_return
from pmcnet.errors import InputError, UnseenLevelsWarning
from pmcnet.estimators import PMCNetClassifier
from pmcnet.estimators.encoding import TableEncoder
from pmcnet.estimators.evaluation.calibrated_scores import sets_of
from pmcnet.estimators.evaluation.class_predictions import class_columns
from pmcnet.estimators.evaluation.known_columns import NOVELTY
from pmcnet.estimators.evaluation.number_predictions import number_columns
from pmcnet.estimators.evaluation.scores import Model
from pmcnet.estimators.exposure import with_exposure
from pmcnet.estimators.predictions import EncodedRows
from pmcnet.runs.exposures_and_events import ColumnNames, exposures, missing

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]

CHUNK_ROWS = 50_000
COVERAGE = 0.95
"""Of intervals, where none is asked for."""
T = TypeVar("T")


class PredictedRows(NamedTuple):
    """How many rows were predicted, and how many of them are unlike those of training.

    The latter is None where the model cannot know.
    """

    n_rows: int
    n_novel: int | None


def predicted_columns(model: Model, x: Any, *, coverage: float) -> dict[str, NDArray[Any]]:
    """What `pmcnet predict` adds to each row, by column name."""
    rows = model.encoded(x)
    if isinstance(model, PMCNetClassifier):
        sets, found = sets_of(model, rows, coverage), model.predictive(rows)
        return class_columns(model.classes_, found, sets, model.novelty_of(rows, found))
    found, interval = model.predictive_interval(rows, coverage)
    return number_columns(found, interval, model.novelty_of(rows, found))


def feature_kinds(model: Model) -> dict[str, Kind]:
    """The columns that a model needs, and what each holds."""
    return {column.name: column.read_as for column in _table_encoder(model).columns.columns}


def _table_encoder(model: Model) -> TableEncoder:
    encoder = model.encoder_
    if not isinstance(encoder, TableEncoder):
        raise InputError("this model was fitted to images; tables cannot be predicted with it.")
    return encoder


def selected(model: Model, frame: "DataFrame") -> "DataFrame":
    """The columns of training in their order; those the model needs must be there."""
    names = list(feature_kinds(model))
    missing = [name for name in names if name not in frame.columns]
    if missing:
        shown = ", ".join(map(repr, missing[:5]))
        shown += f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        raise InputError(
            f"the table lacks the column(s) {shown}, which the model was trained on. Add them, or "
            "correct their names."
        )
    every = list(_table_encoder(model).columns.names)
    return frame.reindex(columns=every)


def exposure_column(
    model: Model, run: Path, table: TableFile, asked: str | None
) -> tuple[str, str]:
    """The column of exposures, and a remark where the table lacks that of the run.

    Args:
        model: of the run.
        run: the run's folder.
        table: as for `predict_file`.
        asked: the column, if other than the run's; "" for none.
    """
    name = ColumnNames.of_run(model, run, asked, None).exposure
    if not name or name in table.names:
        return name, ""
    if asked:
        raise InputError(missing(table.names, name, table.where, "exposure"))
    return "", f"{table.where} has no column {name!r}: predictions are for an exposure of 1."


def predict_file(
    model: Model,
    table: TableFile,
    out: Path | None,
    *,
    exposure: str = "",
    coverage: float,
    n_passes: int | None,
    progress: Callable[[int], None],
) -> PredictedRows:
    """Add predictions to each row of a table and write it as CSV; returns how many there are.

    Args:
        model: a fitted model of a table.
        table: as `data.open_table` gives it.
        out: where to write, standard output when absent; either gets the whole table or nothing.
        exposure: the column of exposures, "" for an exposure of 1.
        coverage: of the intervals of a regression, and of the sets of a conformal classification.
        n_passes: networks to use; all when absent.
        progress: called with the number of rows done.
    """
    kinds = feature_kinds(model)
    _check_free(out)
    if n_passes is not None:
        model = model.thinned(n_passes)
    if out is None:  # not straight to standard output: a bad row may come late in the table
        with TemporaryFile("w+", encoding="utf-8", newline="") as spool:
            predicted = _write(model, table, spool, kinds, exposure, coverage, progress)
            spool.seek(0)
            shutil.copyfileobj(spool, sys.stdout)
        return predicted
    part = out.with_name(f".{out.name}.part")
    try:
        part.unlink(missing_ok=True)  # a link would be followed
        with part.open("w", encoding="utf-8", newline="") as file:
            predicted = _write(model, table, file, kinds, exposure, coverage, progress)
        os.replace(part, out)
    except OSError as error:
        raise InputError(
            f"{out} cannot be written ({error.strerror}). Choose another -o, in a folder that "
            "exists and is yours."
        ) from error
    finally:
        with suppress(OSError):
            part.unlink()
    return predicted


def _check_free(out: Path | None) -> None:
    try:
        if out is not None and out.exists():
            raise InputError(f"{out} exists already. Choose another -o, or remove it.")
    except OSError as error:
        raise InputError(
            f"{out} cannot be written ({error.strerror}). Choose another -o."
        ) from error


def _write(
    model: Model,
    table: TableFile,
    file: TextIO,
    kinds: dict[str, Kind],
    exposure: str,
    coverage: float,
    progress: Callable[[int], None],
) -> PredictedRows:
    """Read, predict and write, each while the others go on."""
    n_rows, n_novel, writing = 0, 0, None
    unseen: Counter[str] = Counter()
    if exposure:
        kinds = {exposure: "number", **kinds}
    with ThreadPoolExecutor(1) as writer:
        for raw, chunk in ahead(_pairs(table, kinds)):
            rows = _encoded(model, selected(model, chunk), unseen, first_row=n_rows + 1)
            if exposure:
                found = exposures(chunk[exposure], exposure, n_rows + 1)
                rows = with_exposure(rows, found, model.likelihood_)
            added = predicted_columns(model, rows, coverage=coverage)
            clash = next((name for name in added if name in raw.columns), None)
            if clash is not None:
                raise InputError(
                    f"{table.where} has a column {clash!r} already, as predictions are called. "
                    "Rename or drop it."
                )
            if writing is not None:
                writing.result()
            writing = writer.submit(_write_rows, raw, added, file, n_rows == 0)
            n_rows += len(chunk)
            n_novel += int(added.get(NOVELTY[1], np.zeros(1)).sum())
            progress(n_rows)
        if writing is not None:
            writing.result()
    if unseen:
        warnings.warn(UnseenLevelsWarning(dict(unseen)), stacklevel=2)
    return PredictedRows(n_rows, None if model.novelty_scale_ is None else n_novel)


def _write_rows(
    raw: "DataFrame", added: Mapping[str, NDArray[Any]], file: TextIO, header: bool
) -> None:
    """Rows of CSV; strings that a spreadsheet would run are guarded."""
    from pandas import DataFrame  # slow to import

    columns = {name: raw[name].to_numpy() for name in raw.columns} | written(added)
    arrays = {name: values for name, values in columns.items() if isinstance(values, np.ndarray)}
    names = np.array(list(columns), dtype=object)
    broken = any(map(has_carriage_return, (*arrays.values(), names)))
    DataFrame(columns | {name: guarded_column(values) for name, values in arrays.items()}).to_csv(
        file,
        index=False,
        header=[guarded(name) for name in columns] if header else False,
        lineterminator="\n",
        quoting=csv.QUOTE_ALL if broken else csv.QUOTE_MINIMAL,
    )


def ahead(items: Iterator[T]) -> Iterator[T]:
    """The same items, the next one being made in another thread."""
    end = object()
    with ThreadPoolExecutor(1) as reader:
        following = reader.submit(next, items, end)
        while (item := following.result()) is not end:
            following = reader.submit(next, items, end)
            yield item  # type: ignore[misc]


def written(columns: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Columns as a CSV file has them: classes as they are, measured numbers with 8 digits.

    Numbers that are large beside their standard deviation get as many digits more as it takes to
    tell them apart.
    """
    digits = dict.fromkeys(columns, 8)
    if "std" in columns and len(columns["std"]):
        size, deviation = np.abs(columns["prediction"]).max(), columns["std"].min()
        more = int(np.log10(max(size / deviation, 1.0))) if deviation > 0 else 0
        digits |= dict.fromkeys(("prediction", "lower", "upper"), min(8 + more, 17))
    return {
        name: values
        if values.dtype.kind != "f"
        else [f"{value:.{digits[name]}g}" for value in values.tolist()]
        for name, values in columns.items()
    }


def _encoded(model: Model, x: "DataFrame", unseen: Counter[str], *, first_row: int) -> EncodedRows:
    """Rows as inputs; an error names the row by its number in the whole table.

    Rows with cells unlike those of training are added to `unseen`, by column.
    """
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UnseenLevelsWarning)
            rows = model.encoded(x)
        for warning in caught:
            if isinstance(warning.message, UnseenLevelsWarning):
                unseen.update(warning.message.counts)
        return rows
    except InputError:
        if isinstance(model.encoder_, TableEncoder):
            model.encoder_.columns.matrix(x, first_row=first_row)
        raise


def table_pieces(model: Model, table: TableFile) -> Iterator[tuple["DataFrame", "DataFrame"]]:
    """Pieces of the table: as it is stored, and the model's columns as the model needs them."""
    return _pairs(table, feature_kinds(model))


def _pairs(
    table: TableFile, kinds: Mapping[str, Kind]
) -> Iterator[tuple["DataFrame", "DataFrame"]]:
    """Pieces of the table: as it is stored, and the model's columns as the model needs them.

    A column that the table lacks is left for `selected` to refuse.
    """
    present = {name: kind for name, kind in kinds.items() if name in table.names}
    return table.pairs(present, CHUNK_ROWS)


def read_rows(model: Model, table: TableFile) -> "DataFrame":
    """The model's columns of a whole table, read as the model needs them."""
    from pandas import concat

    return concat([selected(model, chunk) for _, chunk in table_pieces(model, table)])
