"""Predictions as columns, for a whole table or streamed from file to file in bounded memory."""

import csv
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np
from numpy.typing import NDArray

from pmcnet import data
from pmcnet.data import Kind
from pmcnet.errors import InputError
from pmcnet.estimators import PMCNetClassifier
from pmcnet.estimators.encoding import TableEncoder
from pmcnet.runs.scoring import Model

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]

CHUNK_ROWS = 50_000


def predicted_columns(model: Model, x: Any, *, coverage: float) -> dict[str, NDArray[Any]]:
    """What `pmcnet predict` adds to each row, by column name."""
    predictive = model.predictive(x)
    if isinstance(model, PMCNetClassifier):
        best = predictive.mean.argmax(1)
        names = [f"probability_{name}" for name in model.classes_]
        return {
            "prediction": model.classes_[best],
            **dict(zip(names, predictive.mean.T, strict=True)),
            "epistemic": predictive.epistemic,
            "aleatoric": predictive.aleatoric,
        }
    interval = model.predict_interval(x, coverage)
    return {
        "prediction": predictive.mean[:, 0],
        "std": np.sqrt(predictive.total),
        "lower": interval[:, 0],
        "upper": interval[:, 1],
        "epistemic": predictive.epistemic,
        "aleatoric": predictive.aleatoric,
    }


def feature_kinds(model: Model) -> dict[str, Kind]:
    """The columns that a model needs, and what each holds."""
    encoder = model.encoder_
    if not isinstance(encoder, TableEncoder):
        raise InputError("this model was fitted to images; tables cannot be predicted with it.")
    return {column.name: column.kind for column in encoder.columns.columns}


def selected(model: Model, frame: "DataFrame") -> "DataFrame":
    """The model's columns of a table, in the model's order; others are ignored, missing ones refused."""
    names = list(feature_kinds(model))
    missing = [name for name in names if name not in frame.columns]
    if missing:
        shown = ", ".join(map(repr, missing[:5])) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
        raise InputError(f"the table lacks the column(s) {shown}, which the model was trained on. Add them.")
    return frame[names]


def predict_file(
    model: Model,
    source: str,
    out: Path | None,
    *,
    coverage: float,
    n_passes: int | None,
    progress: Callable[[int], None],
) -> int:
    """Add predictions to each row of a table and write it as CSV; returns the number of rows.

    Args:
        model: a fitted model of a table.
        source: a file or the name of a built-in dataset.
        out: where to write, through a temporary file; standard output when absent.
        coverage: of the intervals of a regression.
        n_passes: networks to use; all when absent.
        progress: told the number of rows done.
    """
    kinds = feature_kinds(model)
    if out is not None and out.exists():
        raise InputError(f"{out} exists already. Choose another -o, or remove it.")
    if n_passes is not None:
        model = model.thinned(n_passes)
    if out is None:
        return _write(model, source, sys.stdout, kinds, coverage, progress)
    part = out.with_name(f".{out.name}.part")
    try:
        with part.open("w", encoding="utf-8", newline="") as file:
            n_rows = _write(model, source, file, kinds, coverage, progress)
        os.replace(part, out)
    except OSError as error:
        raise InputError(f"{out} cannot be written ({error.strerror}). Choose another -o.") from error
    finally:
        part.unlink(missing_ok=True)
    return n_rows


def _write(
    model: Model,
    source: str,
    file: TextIO,
    kinds: dict[str, Kind],
    coverage: float,
    progress: Callable[[int], None],
) -> int:
    from pandas import DataFrame  # slow to import

    n_rows = 0
    for chunk in _chunks(source, kinds):
        added = predicted_columns(model, selected(model, chunk), coverage=coverage)
        clash = [name for name in added if name in chunk.columns]
        if clash:
            raise InputError(f"the table has a column {clash[0]!r} already, as predictions are called. Rename it.")
        columns = {name: chunk[name].to_numpy() for name in chunk.columns} | added
        DataFrame(columns).to_csv(
            file, index=False, header=n_rows == 0, lineterminator="\n", quoting=csv.QUOTE_MINIMAL, float_format="%.8g"
        )
        n_rows += len(chunk)
        progress(n_rows)
    return n_rows


def _chunks(source: str, kinds: dict[str, Kind]) -> Any:
    """The table in pieces; columns that the model needs and the table lacks are refused with the model's own words."""
    head = next(iter(data.frame_chunks(source, n_rows=1)), None)
    present = {} if head is None else {name: kind for name, kind in kinds.items() if name in head.columns}
    return data.frame_chunks(source, n_rows=CHUNK_ROWS, columns=present)
