"""The section that says why parts of the page are not there."""

from collections.abc import Mapping
from typing import Any

from pmcnet.reports.html import tag
from pmcnet.reports.sections import Section


def omissions(record: Mapping[str, Any]) -> Section | None:
    """Return a sentence for each part that its reader could have had."""
    reasons = record.get("omissions")
    if not reasons:
        return None
    body = tag("ul", *(tag("li", str(why)) for why in reasons))
    return Section("omissions", "What is not here", body)
