"""What the latest update of the model was: its rows, and whether they were expected."""

from collections.abc import Mapping
from typing import Any

from pmcnet.reports.html import MISSING, count, joined, number, real, table, tag
from pmcnet.reports.sections import Section

_ORDINARY = "The new rows are about as probable as the model expected of such rows."
_DRIFT = (
    "The new rows are far less probable than the model expected: their source may have changed. "
    "Look at them, and fit again on rows of the new source if it has."
)
_UNKNOWN = "What the model expected of these rows is not known."


def update(record: Mapping[str, Any]) -> Section | None:
    """Return the evidence of the new rows beside what was expected, where there was an update."""
    found = record.get("update")
    if not found:
        return None
    known = real(found.get("expected"))
    expected = f"{number(found['expected'])} ± {number(found['std'])}" if known else MISSING
    evidence = f"{number(found['log_evidence'])} ± {number(found['log_evidence_error'])}"
    rows = [
        ["updates since the fit", count(found["number"]), ""],
        ["new rows", count(found["n_rows"]), "of the latest update"],
        ["log predictive evidence", evidence, "of all of them, given the rows before"],
        ["per row", number(found.get("log_predictive")), "mean log predictive density"],
        ["expected per row", expected, "of rows that the model itself simulates"],
    ]
    listed = table(["number", "value", "meaning"], rows, "Update", numbers_from=3)
    words = (_DRIFT if found["drift"] else _ORDINARY) if known else _UNKNOWN
    return Section("update", "Update", joined([tag("p", words), listed]))
