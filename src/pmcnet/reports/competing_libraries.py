"""What a comparison says of other libraries beside the table: how they were run, what failed."""

from collections.abc import Mapping, Sequence
from typing import Any

from pmcnet.reports.html import Markup, joined, setting, tag

_OTHERS = (
    "Models of other libraries had the same rows, and settings of their own. Each ran in a process "
    "of its own, whose peak of memory includes what it imports."
)
_QUANTILES = (
    "crps is twice the mean pinball loss of ten quantiles, pinball that at the ends of the 90 % "
    "interval, width90 the mean width of that interval."
)


def library_words(entries: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return sentences for the note below the table."""
    names = {name for item in entries for name in item.get("metrics") or {}}
    others = any(item.get("library") for item in entries)
    return [*([_QUANTILES] if "pinball" in names else []), *([_OTHERS] if others else [])]


def not_compared(entries: Sequence[Mapping[str, Any]]) -> Markup | None:
    """Return a list of the methods that came to no prediction, with the reasons."""
    failed = [item for item in entries if item.get("failed")]
    if not failed:
        return None
    lines = (
        tag("li", f"{setting(item.get('method'))}: {setting(item.get('failed'))}")
        for item in failed
    )
    return joined([tag("p", "Not compared:", class_="note"), tag("ul", *lines, class_="note")])
