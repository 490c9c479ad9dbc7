"""What was observed of each class beside a range for it, drawn and as a table."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from pmcnet.reports.figures.arrays import Array, entry, finite_list
from pmcnet.reports.figures.class_ranges import MOST_CLASSES, RANGE_LEGEND, ranges_panel
from pmcnet.reports.figures.panels import Panel, figure
from pmcnet.reports.html import Markup, folded, joined, number, share, table


def class_columns(data: Mapping[str, Any], name: str) -> tuple[list[str], Array, Array, Array]:
    """Return names of classes, observed numbers, and ends of the ranges."""
    lines = data["classes"]
    parts = [
        finite_list([entry(line, key, name) for line in lines], f"{name} {key}")
        for key in ("observed", "low", "high")
    ]
    return [str(entry(line, "class", name)) for line in lines], *parts  # type: ignore[return-value]


def class_ranges(data: Mapping[str, Any], name: str, x: str, caption: str) -> Markup:
    """Return the figure of the first classes, and the table of all."""
    names, observed, low, high = class_columns(data, name)
    n = MOST_CLASSES
    draw = partial(ranges_panel, names=names[:n], observed=observed[:n], low=low[:n], high=high[:n])
    panel = Panel(None, caption, x, "class", draw)
    shown = share if x.startswith("share") else number
    rows = [
        [
            str(i + 1),
            own,
            shown(float(observed[i])),
            f"{shown(float(low[i]))} to {shown(float(high[i]))}",
        ]
        for i, own in enumerate(names)
    ]
    header = ["place", "class", "observed", "95 % of replicates"]
    label = f"Classes in numbers, {name.replace('_', ' ')}"
    listed = table(header, rows, label, numbers_from=2)
    return joined([figure(name, [panel], caption, RANGE_LEGEND), folded("The numbers", listed)])
