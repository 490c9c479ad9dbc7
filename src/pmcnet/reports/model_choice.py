"""How likelihood, noise and prior were chosen: every alternative with its log Z."""

from collections.abc import Mapping
from typing import Any

from pmcnet.reports.html import joined, number, real, seconds, table, tag
from pmcnet.reports.sections import Section

_WORDS = (
    "Each model was annealed by a few small, independent populations on some of the training rows. "
    "The simplest whose log Z is within two errors of the largest was fitted; log Z already counts "
    "how many parameters a model has. No test row was used."
)


def model_choice(record: Mapping[str, Any]) -> Section | None:
    """Return the alternatives that were compared by the evidence, where any were."""
    found = record.get("model_choice")
    if not found:
        return None
    listed = table(
        ["model", "log Z", "time"], [_row(item) for item in found], "Models", numbers_from=2
    )
    reason = record["summary"].get("formulation_reason")
    first = tag("p", str(reason)) if reason else None
    body = joined([first, listed, tag("p", _WORDS, class_="note")])
    return Section("model_choice", "How the model was chosen", body)


def _row(item: Mapping[str, Any]) -> list[str]:
    error = item.get("log_evidence_error")
    noise = f" ± {number(error)}" if real(error) else ""
    log_z = f"{number(item.get('log_evidence'))}{noise}"
    return [str(item["name"]), log_z, seconds(item.get("seconds"))]
