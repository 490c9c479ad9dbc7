"""The exposures of counts and the events of times of a run: options, columns and checks."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from pmcnet.bnn.likelihoods.exposed_counts import COUNT_FAMILIES
from pmcnet.bnn.likelihoods.registry import family
from pmcnet.bnn.likelihoods.response import Array, Units
from pmcnet.errors import InputError
from pmcnet.estimators.evaluation.scores import Model
from pmcnet.estimators.evaluation.second_column import SecondColumn
from pmcnet.estimators.exposure import check_family, checked_exposure, likelihood_of_counts
from pmcnet.estimators.two_columns import TIMES
from pmcnet.runs.config import RunSettings, read_config
from pmcnet.runs.folder import RunFolder

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]

_EVENTS = {"1": 1.0, "true": 1.0, "yes": 1.0, "0": 0.0, "false": 0.0, "no": 0.0}


class ColumnNames(NamedTuple):
    """Of exposures and of events; "" for none."""

    exposure: str = ""
    event: str = ""

    @classmethod
    def of_run(cls, model: Model, run: Path, exposure: str | None, event: str | None) -> Self:
        """Those that are given, else those that a finished run was fitted with.

        Args:
            model: of the run, whose likelihood must know them.
            run: the run's folder.
            exposure: a name, "" for none, or None for the run's own.
            event: likewise.
        """
        likelihood, config = model.likelihood_, RunFolder(run).config
        if exposure:
            check_family(likelihood)
        if event:
            _check_times(likelihood)
        known = likelihood in COUNT_FAMILIES or likelihood.startswith(TIMES)
        own = read_config(config) if known and config.is_file() else {}
        return cls(
            own.get("exposure", "") if exposure is None else exposure,
            own.get("event", "") if event is None else event,
        )


def likelihood_of(settings: RunSettings) -> str:
    """The likelihood, which for "auto" and events is that of censored times."""
    name = settings.likelihood
    if settings.exposure:
        likelihood_of_counts(name)
    if not settings.event:
        return name
    if name == "auto":
        return TIMES
    _check_times(name)
    return name


def _check_times(likelihood: str) -> None:
    if not likelihood.startswith(TIMES):
        raise InputError(
            "event is for times, likelihood censored or censored-loglogistic; got likelihood "
            f"{likelihood:.60}. Leave event out."
        )


def task_of(settings: RunSettings) -> str:
    """The task: counts with exposures and times with events are numbers."""
    named = settings.exposure or settings.event
    if named and settings.task == "classification":
        raise InputError(
            f"exposures are of counts and events of times, which are numbers; got {named!r} with "
            "task classification. Use --task regression."
        )
    return "regression" if named else settings.task


def second_of(frame: "DataFrame", names: ColumnNames, target: str, data: str) -> SecondColumn:
    """The columns of these names, which must be in the table and not be the target.

    Args:
        frame: the whole table.
        names: of its columns.
        target: the column that is predicted.
        data: the table's name.
    """
    for option, name in names._asdict().items():
        if name and name not in frame.columns:
            raise InputError(missing(frame.columns, name, data, option))
        if name and name == target:
            raise InputError(
                f"{name!r} is both target and {option}. Use --{option} with another column."
            )
    exposure, event = names
    return SecondColumn(
        exposures(frame[exposure], exposure) if exposure else None,
        _events(frame[event], event) if event else None,
    )


def missing(names: Iterable[object], name: str, data: str, option: str) -> str:
    """Says that there is no such column, and which there are."""
    columns = list(map(str, names))
    shown = ", ".join(columns[:10]) + (", ..." if len(columns) > 10 else "")
    asked = f"there is no column {name!r}" if name else f"no {option} column was named"
    return f"{asked} in {data}; its columns are {shown}. Use --{option} COLUMN."


def check_response(y: NDArray[Any], second: SecondColumn, settings: RunSettings) -> None:
    """Raise where the likelihood refuses a number, by its row in the whole table."""
    if second.event is not None and not second.event.any():
        raise InputError(
            f"no event was observed: {settings.event!r} is 0 in every row. Give rows with event 1."
        )
    name = likelihood_of(settings)
    if settings.exposure and name == "auto":
        name = COUNT_FAMILIES[0]
    if name != "auto":
        family(name, "regression").targets(second.response(y), Units())


def exposures(column: Any, name: str, first_row: int = 1) -> Array:
    """Positive numbers (N,).

    Args:
        column: of the table, or of a piece of it.
        name: of the column.
        first_row: number of its first row in errors.
    """
    values = _present(column, name, "exposure", first_row)
    if values.dtype.kind not in "biuf":
        raise InputError(
            f"the exposure {name!r} holds strings such as {str(values[0])!r:.60}; it must hold "
            "positive numbers. Correct them, or use another --exposure."
        )
    return checked_exposure(values, len(values), first_row=first_row)


def _events(column: Any, name: str) -> Array:
    """1 where the event was observed, 0 where the row is censored (N,)."""
    values = _present(column, name, "event", 1)
    found = [_EVENTS.get(_word(value)) for value in values.tolist()]
    if None in found:
        row = found.index(None)
        raise InputError(
            f"the event {name!r} holds {str(values[row])!r:.60} in row {row + 1}; it must hold 0 "
            "and 1, true and false, or yes and no. Correct that row, or use another --event."
        )
    return np.array(found, dtype=np.float64)


def _word(value: Any) -> str:
    """A cell as `_EVENTS` has it."""
    return f"{value:g}" if isinstance(value, float) else str(value).strip().lower()


def _present(column: Any, name: str, what: str, first_row: int) -> NDArray[Any]:
    """The values of a column of which none is missing."""
    gaps = np.flatnonzero(column.isna().to_numpy())
    if len(gaps):
        raise InputError(
            f"the {what} {name!r} is missing in {len(gaps)} of {len(column)} rows, first in row "
            f"{first_row + gaps[0]}. Fill those rows in or drop them."
        )
    values: NDArray[Any] = column.to_numpy()
    return values
