"""What the page asks of a record: its form, before anything is drawn."""

from collections.abc import Mapping, Sequence
from sys import float_info
from typing import Any, TypeGuard

from pmcnet.errors import InputError

FORMAT = 1
TASKS = ("binary", "multiclass", "regression")
STATUSES = ("trustworthy", "doubtful", "degenerate")

_FORMS: dict[str, type] = {
    "title": str,
    "task": str,
    "target": str,
    "verdict": Mapping,
    "summary": Mapping,
    "metrics": list,
    "diagnostics": Mapping,
    "settings": Mapping,
}
_OPTIONAL: dict[str, type] = {
    "classes": list,
    "roc": list,
    "calibration": Mapping,
    "confusion": list,
    "histograms": list,
    "scatter": list,
    "uncertain": list,
    "history": list,
    "comparison": list,
}
_WORDS: dict[type, str] = {str: "text", Mapping: "a mapping", list: "a list"}
REMEDY = "Give the record of a finished run, as its JSON file holds it."


def checked_record(record: Any) -> Mapping[str, Any]:
    """Return `record`; refuse what is no record of a run, or one of a newer format."""
    if not isinstance(record, Mapping):
        raise InputError(f"a record must be a mapping; got {type(record).__name__}. {REMEDY}")
    _check_format(record.get("format"))
    for key, form in _FORMS.items():
        _check_form(record, key, form)
    for key, form in _OPTIONAL.items():
        if record.get(key) is not None:
            _check_form(record, key, form)
    _check_word(record["task"], TASKS, "task")
    _check_word(record["verdict"].get("status"), STATUSES, "verdict status")
    for key in ("metrics", "uncertain", "history", "comparison", "scatter", "histograms", "roc"):
        _check_entries(record.get(key) or (), key)
    for i, metric in enumerate(record["metrics"]):
        _check_metric(metric, f"metrics[{i}]")
    return record


def class_names(record: Mapping[str, Any]) -> list[str]:
    """Return the names of the classes as text."""
    return [str(name) for name in record.get("classes") or ()]


def real(value: Any) -> TypeGuard[float]:
    """Say whether `value` is a finite number that double precision can hold."""
    return (
        isinstance(value, (int, float))
        and not isinstance(value, bool)
        and abs(value) <= float_info.max
    )


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


def _check_form(record: Mapping[str, Any], key: str, form: type) -> None:
    if key not in record:
        raise InputError(
            f"a record must have the key {key!r}; got the keys {sorted(map(str, record))!r:.200}. "
            f"{REMEDY}"
        )
    if not isinstance(record[key], form):
        raise InputError(
            f"{key} of a record must be {_WORDS[form]}; got {type(record[key]).__name__}. {REMEDY}"
        )


def _check_word(given: Any, allowed: Sequence[str], name: str) -> None:
    if given not in allowed:
        raise InputError(
            f"{name} of a record must be one of {', '.join(allowed)}; got {given!r:.40}. {REMEDY}"
        )


def _check_entries(entries: Sequence[Any], key: str) -> None:
    for i, item in enumerate(entries):
        if not isinstance(item, Mapping):
            raise InputError(
                f"{key}[{i}] of a record must be a mapping; got {type(item).__name__}. {REMEDY}"
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
