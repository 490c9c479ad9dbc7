"""A competitor in a comparison: fitted in a process of its own, scored as our methods are."""

from collections.abc import Mapping
from typing import NamedTuple

from pmcnet.competitors import COMPETITORS, RowPredictions
from pmcnet.competitors.measurement import SplitRows, measured
from pmcnet.competitors.registry import Form, Task
from pmcnet.errors import CompetitorFailed
from pmcnet.estimators.evaluation.scores import Record
from pmcnet.runs.prepare import RunRows
from pmcnet.runs.significance import Truth

_OTHER: dict[Task, str] = {"regression": "classes", "classification": "numbers"}


class Outcome(NamedTuple):
    """An entry of `comparison.json`, and what was predicted for the test rows, if anything."""

    entry: Record
    rows: RowPredictions | None

    @property
    def remark(self) -> str:
        """How it went, in a line."""
        if self.rows is None:
            return f"{self.entry['method']} is not compared: {self.entry['failed']}"
        return f"fitted in {self.entry['seconds']:.2g} s"


def competitor_outcome(
    name: str, prepared: RunRows, given: Mapping[Form, SplitRows], truth: Truth, *, limit: float
) -> Outcome:
    """Fit it and predict the test rows; one that fails gives its reason.

    Args:
        name: of the competitor.
        prepared: the rows.
        given: these in the forms that competitors take.
        truth: of the test rows.
        limit: seconds that it may take.
    """
    entry: Record = {
        "method": name,
        "library": None,
        "failed": None,
        "verdict": None,
        "metrics": {},
        "per_draw": {},
        "ess": None,
        "seconds": None,
        "chosen": {},
        "chosen_by": None,
        "trials": [],
        "tuning_seconds": 0.0,
    }
    try:
        _check(name, prepared)
        rows = given[COMPETITORS[name].form]
        found = measured(name, prepared.task, rows, seed=prepared.settings.seed, limit=limit)
    except CompetitorFailed as error:
        return Outcome(entry | {"failed": str(error)}, None)
    measures: Record = {
        "library": found.versions,
        "note": found.note,
        "metrics": truth.metrics(found.rows),
        "seconds": found.fit_seconds,
        "milliseconds_per_row": 1e3 * found.predict_seconds / len(prepared.y_test),
        "peak_mib": found.peak_mib,
    }
    return Outcome(entry | measures, found.rows)


def _check(name: str, prepared: RunRows) -> None:
    """Refuse a target that it cannot have."""
    if prepared.second_train.columns:
        raise CompetitorFailed("it takes neither exposures nor events")
    if COMPETITORS[name].model(prepared.task) is None:
        raise CompetitorFailed(f"it predicts {_OTHER[prepared.task]} only")
