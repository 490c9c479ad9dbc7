"""The settings with which each compared method was fitted, and how they were chosen."""

from collections.abc import Mapping, Sequence
from typing import Any

from pmcnet.errors import InputError
from pmcnet.reports.html import MISSING, Markup, joined, real, seconds, setting, table, tag

_WORDS = (
    "Each was fitted with the best of the settings tried: by the likelihood of validation rows, "
    "held out of the training rows, or by the evidence. Test rows were not used. The time of the "
    "search is not in that of the fit."
)


def chosen_settings(entries: Sequence[Mapping[str, Any]]) -> Markup | None:
    """Return a table of what was chosen for each method, where anything was."""
    found = [item for item in entries if item.get("chosen")]
    if not found:
        return None
    listed = table(
        ["method", "settings", "chosen by", "tried", "time"],
        [_row(item) for item in found],
        "Chosen settings",
        numbers_from=3,
    )
    return joined(
        [tag("h4", "Chosen settings", class_="part"), listed, tag("p", _WORDS, class_="note")]
    )


def _row(item: Mapping[str, Any]) -> list[str]:
    chosen, trials = item["chosen"], item.get("trials") or []
    if not isinstance(chosen, Mapping) or not isinstance(trials, (list, tuple)):
        raise InputError(
            f"chosen must hold settings by name and trials a list; got {chosen!r:.40}, "
            f"{trials!r:.40}."
        )
    listed = ", ".join(f"{name} {_value(value)}" for name, value in chosen.items())
    how = setting(item.get("chosen_by")) if trials else "as given"
    spent = item.get("tuning_seconds")
    return [
        setting(item.get("method")),
        listed,
        how,
        str(len(trials)) if trials else MISSING,
        seconds(spent or None),
    ]


def _value(value: Any) -> str:
    return f"{value:.3g}" if real(value) else setting(value)
