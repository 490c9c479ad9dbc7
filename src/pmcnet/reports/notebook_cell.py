"""A bar and a line of text in a notebook, updated in place."""

import time
from typing import Any

from pmcnet.reports.html import Markup, joined, tag

SECONDS_BETWEEN_UPDATES = 0.25
"""A notebook stores what it is sent, so that updates are at least this far apart."""
_STYLE = (
    "display: flex; flex-wrap: wrap; align-items: center; gap: .25em .75em; "
    "font: 13px/1.6 ui-monospace, Menlo, Consolas, monospace"
)


class NotebookCell:
    """One output of a notebook, whatever is shown in it; it begins with the first thing shown."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._updated = self._begun - SECONDS_BETWEEN_UPDATES
        self._handle: Any = None
        self._text = ""

    def say(self, text: str) -> None:
        """Show what is being done, at once."""
        self._text = text
        self._update(self._bar(None))

    def show(self, share: float | None, text: str) -> None:
        """Show how far it is, unless something was shown a moment ago.

        Args:
            share: that is done, None where unknown.
            text: the latest step.
        """
        self._text = text
        if time.monotonic() - self._updated >= SECONDS_BETWEEN_UPDATES:
            self._update(self._bar(share))

    def close(self, *, failed: bool) -> None:
        """Leave the latest text without a bar, and the time."""
        if self._handle is not None:
            words = f"stopped after {self._seconds}" if failed else f"done in {self._seconds}"
            self._update(tag("span", words))

    @property
    def _seconds(self) -> str:
        seconds = round(time.monotonic() - self._begun)
        return f"{seconds // 60}:{seconds % 60:02d}"

    def _bar(self, share: float | None) -> Markup:
        value = None if share is None else f"{share:.3f}"
        bar = tag("progress", max="1", value=value, aria_label="share that is done")
        return joined([bar, tag("span", self._seconds)])

    def _update(self, before: Markup) -> None:
        from IPython.display import display  # where there is a notebook, there is IPython

        self._updated = time.monotonic()
        shown = {
            "text/plain": f"{self._seconds} {self._text}",
            "text/html": str(tag("div", before, tag("span", self._text), style=_STYLE)),
        }
        if self._handle is None:
            self._handle = display(shown, raw=True, display_id=True)
        else:
            self._handle.update(shown, raw=True)
