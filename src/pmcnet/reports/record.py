"""The record that the page is drawn from: its keys, what each holds, and the check of both."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pmcnet.ais.verdict import STATUSES
from pmcnet.errors import InputError
from pmcnet.reports.html import real

FORMAT = 1
TASKS = ("binary", "multiclass", "regression")
REMEDY = "Give the record of a finished run, as its JSON file holds it."


class Field(NamedTuple):
    """What a key of the record holds."""

    form: type
    required: bool = False
    of_mappings: bool = False


_FIELDS = {
    "title": Field(str, required=True),
    "task": Field(str, required=True),
    "target": Field(str, required=True),
    "verdict": Field(Mapping, required=True),
    "summary": Field(Mapping, required=True),
    "metrics": Field(list, required=True, of_mappings=True),
    "diagnostics": Field(Mapping, required=True),
    "settings": Field(Mapping, required=True),
    "classes": Field(list),
    "roc": Field(list, of_mappings=True),
    "precision_recall": Field(list, of_mappings=True),
    "decision": Field(Mapping),
    "fan": Field(Mapping),
    "calibration": Field(Mapping),
    "confusion": Field(list),
    "histograms": Field(list, of_mappings=True),
    "scatter": Field(list, of_mappings=True),
    "uncertain": Field(list, of_mappings=True),
    "explained": Field(list, of_mappings=True),
    "history": Field(list, of_mappings=True),
    "comparison": Field(list, of_mappings=True),
    "recommendation": Field(str),
    "model_choice": Field(list, of_mappings=True),
    "columns": Field(list, of_mappings=True),
    "update": Field(Mapping),
    "what_if": Field(Mapping),
    "importance": Field(Mapping),
    "effects": Field(Mapping),
    "interaction": Field(Mapping),
    "posterior_predictive": Field(Mapping),
    "residuals": Field(Mapping),
    "loo": Field(Mapping),
    "prior_predictive": Field(Mapping),
    "omissions": Field(list),
    "n_drawn": Field(int),
}
_WORDS: dict[type, str] = {str: "text", Mapping: "a mapping", list: "a list"}


def checked_record(record: Any) -> Mapping[str, Any]:
    """Return `record`; refuse what is no record of a run, or one of a newer format."""
    if not isinstance(record, Mapping):
        raise InputError(f"a record must be a mapping; got {type(record).__name__}. {REMEDY}")
    _check_format(record.get("format"))
    for key, field in _FIELDS.items():
        if field.required or record.get(key) is not None:
            _check_field(record, key, field)
    verdict = record["verdict"]
    _check_word(record["task"], TASKS, "task")
    _check_word(verdict.get("status"), STATUSES, "verdict status")
    if verdict.get("limits") is not None:
        _check_form(verdict["limits"], Mapping, "verdict limits")
    for i, metric in enumerate(record["metrics"]):
        _check_metric(metric, f"metrics[{i}]")
    return record


def limit(record: Mapping[str, Any], name: str) -> float | None:
    """Return the limit by which the verdict judged a diagnostic, or None where it names none."""
    value = (record["verdict"].get("limits") or {}).get(name)
    return value if real(value) else None


def metric_value(record: Mapping[str, Any], name: str) -> float | None:
    """Return the averaged prediction's value of a metric, or None where the record has none."""
    values = (metric["value"] for metric in record["metrics"] if metric["name"] == name)
    return next((float(value) for value in values if real(value)), None)


def class_names(record: Mapping[str, Any]) -> list[str]:
    """Return the names of the classes as text."""
    return [str(name) for name in record.get("classes") or ()]


def class_label(record: Mapping[str, Any], index: int) -> str:
    """Return the name of a class, or its number where it has none."""
    names = class_names(record)
    return names[index] if 0 <= index < len(names) else str(index)


def _check_format(given: Any) -> None:
    if not isinstance(given, int) or isinstance(given, bool):
        raise InputError(
            f"a record must say its format, 1 to {FORMAT}; got {given!r:.40}. {REMEDY}"
        )
    if given > FORMAT:
        raise InputError(
            f"this record has format {given}, and this pmcnet reads formats up to {FORMAT}. "
            "Upgrade pmcnet to read it."
        )
    if given < 1:
        raise InputError(f"a record has a format of 1 to {FORMAT}; got {given}. {REMEDY}")


def _check_field(record: Mapping[str, Any], key: str, field: Field) -> None:
    if key not in record:
        raise InputError(
            f"a record must have the key {key!r}; got the keys {sorted(map(str, record))!r:.200}. "
            f"{REMEDY}"
        )
    _check_form(record[key], field.form, key)
    for i, item in enumerate(record[key] if field.of_mappings else ()):
        _check_form(item, Mapping, f"{key}[{i}]")


def _check_form(value: Any, form: type, name: str) -> None:
    if not isinstance(value, form):
        raise InputError(
            f"{name} of a record must be {_WORDS[form]}; got {type(value).__name__}. {REMEDY}"
        )


def _check_word(given: Any, allowed: Sequence[str], name: str) -> None:
    if given not in allowed:
        raise InputError(
            f"{name} of a record must be one of {', '.join(allowed)}; got {given!r:.40}. {REMEDY}"
        )


def _check_metric(metric: Mapping[str, Any], name: str) -> None:
    for key in ("name", "value"):
        if key not in metric:
            raise InputError(
                f"{name} must have the key {key!r}; got the keys "
                f"{sorted(map(str, metric))!r:.200}. {REMEDY}"
            )
    value = metric["value"]
    if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
        raise InputError(f"{name} value must be a number or null; got {value!r:.40}. {REMEDY}")
