"""Scripts of the page: plain JavaScript and its data, inside the page and fetched from nowhere."""

import json
from importlib.resources import files
from typing import Any

from pmcnet.reports.html import Markup


def script(name: str, data: Any) -> Markup:
    """Return `files/NAME.js`, and before it the data that it reads from the element NAME-data.

    Args:
        name: of the file, without its suffix.
        data: what JSON can hold.
    """
    text = json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    code = files("pmcnet.reports").joinpath("files", f"{name}.js").read_text(encoding="utf-8")
    block = f'<script type="application/json" id="{name}-data">{text}</script>'
    return Markup(f"{block}<script>{code}</script>")
