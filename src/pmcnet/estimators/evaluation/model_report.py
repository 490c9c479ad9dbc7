"""The page of a fitted model, and the card of it that a notebook shows."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import (  # type: ignore[import-untyped]
    check_consistent_length,
)

from pmcnet.errors import InputError
from pmcnet.estimators.classifier import PMCNetClassifier
from pmcnet.estimators.evaluation.known_table import KnownTable
from pmcnet.estimators.evaluation.page_record import PageRows, page_record
from pmcnet.estimators.evaluation.report_record import Source, metrics_record, report_record
from pmcnet.estimators.evaluation.row_predictions import predictions_of
from pmcnet.estimators.evaluation.scores import Model, Record
from pmcnet.estimators.evaluation.second_column import NO_COLUMN, SecondColumn
from pmcnet.estimators.exposure import checked_exposure
from pmcnet.estimators.input_rows import checked_rows
from pmcnet.estimators.two_columns import as_numbers
from pmcnet.io.plain import plain
from pmcnet.reports.first_card import card_of
from pmcnet.reports.notebook_card import notebook_card

_MOST_VALUES = 20  # of a setting with many


class Asked(NamedTuple):
    """What `FittedModel.report` takes beside the rows."""

    title: str | None
    exposure: ArrayLike | None
    n_passes: int
    random_state: int
    what_if: bool


def write_page(model: Model, path: str | Path, X: Any, y: Any, asked: Asked) -> Path:
    """Write the page of a fitted model, of test rows where there are any."""
    from pmcnet.reports.page import write_report  # waits for matplotlib

    if (X is None) != (y is None):
        raise InputError(
            "a report takes X and y of the same test rows, or neither; got "
            f"{'y' if X is None else 'X'} alone. Give both, or leave both out."
        )
    rows = PageRows() if X is None else _page_rows(model, X, y, asked)
    n_test = 0 if rows.tested is None else len(rows.tested.y)
    metrics = metrics_record(model, rows.scored, n_test=n_test, fit_seconds=None)
    source = _source(model, n_test, "y" if y is None else _name(y))
    record = page_record(
        model, source, metrics, rows, seed=asked.random_state, what_if=asked.what_if
    )
    return write_report(_named(model, record, asked.title), path)


def unscored_record(model: Model) -> Record:
    """What the first card says of a model without test rows; no prediction is made."""
    metrics = metrics_record(model, None, n_test=0, fit_seconds=None)
    return _named(model, report_record(model, _source(model, 0, "y"), metrics, None), None)


def card_html(model: Model) -> str:
    """The first card of a fitted model, for a notebook."""
    return notebook_card(card_of(unscored_record(model)), repr(model))


def _page_rows(model: Model, X: Any, y: Any, asked: Asked) -> PageRows:
    """The test rows with their predictions."""
    check_consistent_length(X, y)
    X = checked_rows(model, X, reset=False)
    values, second = _truth(model, y, asked.exposure)
    settings = {"n_passes": asked.n_passes, "seed": asked.random_state}
    found = predictions_of(model, X, values, second, **settings)
    tested = KnownTable(X, values, second)
    return PageRows(tested, predictions=found, scored=found.scored())


def _source(model: Model, n_test: int, target: str) -> Source:
    rows = range(1, n_test + 1)
    return Source(type(model).__name__, target, _n_training(model), rows, _settings(model))


def _named(model: Model, record: Record, title: str | None) -> Record:
    """The record without what a model does not know: the name of its table, test rows."""
    record["summary"]["data"] = None
    record["summary"]["n_test"] = record["summary"]["n_test"] or None
    return record | {"title": title or type(model).__name__}


def _truth(
    model: Model, y: Any, exposure: ArrayLike | None
) -> tuple[np.ndarray[Any, Any], SecondColumn]:
    """The target (N,), and what is known beside it."""
    if isinstance(model, PMCNetClassifier):
        if exposure is not None:
            raise InputError("exposure is for counts, and this model predicts classes. Leave it.")
        return np.array(y).reshape(len(y)), NO_COLUMN
    numbers = as_numbers(y).copy()  # that of a table may be read-only
    given = None if exposure is None else checked_exposure(exposure, len(numbers))
    if numbers.ndim == 1:
        return numbers, SecondColumn(exposure=given)
    return numbers[:, 0], SecondColumn(exposure=given, event=numbers[:, 1])


def _n_training(model: Model) -> int | None:
    """Rows of the fit, where the model keeps them."""
    kept = model.training_rows_
    return None if kept is None else round(float(kept.weight.sum()))


def _name(y: Any) -> str:
    name = getattr(y, "name", None)
    return name if isinstance(name, str) and name else "y"


def _settings(model: Model) -> Record:
    """The settings of an estimator as plain data: objects by their type, long lists by length."""
    return {name: _setting(value) for name, value in model.get_params(deep=False).items()}


def _setting(value: Any) -> Any:
    if isinstance(value, (list, tuple, np.ndarray)) and len(value) > _MOST_VALUES:
        return f"{len(value)} values"
    try:
        return plain(value)
    except InputError:
        return type(value).__name__
