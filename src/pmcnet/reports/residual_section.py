"""The section of residuals: against the prediction, and against features."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from pmcnet.errors import InputError
from pmcnet.reports.figures.arrays import Array, entry, finite_list
from pmcnet.reports.figures.panels import Panel, figure
from pmcnet.reports.figures.residual_panels import RESIDUAL_LEGEND, residual_panel
from pmcnet.reports.html import Markup, count, folded, joined, number, real, setting, share, table
from pmcnet.reports.sections import Section

_MOST_LEVELS = 8


def residuals(record: Mapping[str, Any]) -> Section | None:
    """Return residuals against the prediction and the features that they follow most."""
    data = record.get("residuals")
    if not data:
        return None
    prediction = finite_list(entry(data, "prediction", "residuals"), "residuals prediction")
    residual = _as_long(entry(data, "residual", "residuals"), prediction.size, "residual")
    trends = {str(line["against"]): line for line in data.get("trends") or ()}
    panels = [_panel("prediction", prediction, residual, (), trends)]
    for item in data.get("features") or ():
        values = _as_long(entry(item, "values", "residuals"), prediction.size, "values")
        levels = tuple(str(level) for level in item.get("levels") or ())
        panels.append(
            _panel(setting(entry(item, "name", "residuals")), values, residual, levels, trends)
        )
    caption = _caption(data, residual, trends, len(panels) - 1)
    body = [figure("residuals", panels, caption, RESIDUAL_LEGEND)]
    if trends:
        body.append(folded("The numbers", _table(trends)))
    return Section("residuals", "Residuals", joined(body))


def _panel(
    name: str,
    values: Array,
    residual: Array,
    levels: tuple[str, ...],
    trends: Mapping[str, Mapping[str, Any]],
) -> Panel:
    few = ", ".join(f"{i + 1} {level}" for i, level in enumerate(levels[:_MOST_LEVELS]))
    title = f"{name} ({few})" if 0 < len(levels) <= _MOST_LEVELS else name
    clear = "a clear trend" if (trends.get(name) or {}).get("clear") else "no clear trend"
    draw = partial(residual_panel, values=values, residual=residual, n_levels=len(levels))
    x = "predicted value" if name == "prediction" else "level" if levels else "value"
    return Panel(title, f"residuals against {name}: {clear}", x, "residual", draw)


def _caption(
    data: Mapping[str, Any], residual: Array, trends: Mapping[str, Mapping[str, Any]], n_shown: int
) -> str:
    n, given = data.get("n_rows"), data.get("n_given")
    rows = "training rows, which the fit has seen" if data.get("seen") else "test rows"
    some = f" of {count(given)}" if given and given != n else ""
    words = (
        f"Observed minus predicted, in standard deviations of the prediction, of {count(n)}{some} "
        f"{rows}. Good is a cloud without a pattern around 0, as wide everywhere, with about 95 % "
        "within ±2. "
    )
    if real(data.get("inside")):
        words += f"Here {share(data['inside'])} are within ±2. "
    words += _followed(trends)
    n_features = data.get("n_features") or n_shown
    if n_features > n_shown:
        words += (
            f"Of {count(n_features)} features the {n_shown} with the clearest trends are drawn. "
        )
    if n and residual.size < n:
        words += f"{count(residual.size)} rows are drawn; means and tests are of all."
    return words.strip()


def _followed(trends: Mapping[str, Mapping[str, Any]]) -> str:
    """What residuals follow, by their mean or by their size."""
    clear = {name: line for name, line in trends.items() if line.get("clear")}
    sizes = [name for name, line in clear.items() if line["p_spread"] < line["p_mean"]]
    means = [name for name in clear if name not in sizes]
    words = ""
    if means:
        words += f"Residuals follow {', '.join(means[:5])}: the model misses something there. "
    if sizes:
        words += f"Their size follows {', '.join(sizes[:5])}: the noise differs from row to row "
        words += "in a way that the model has not learned (noise by-row could). "
    if trends and not clear:
        words += "They follow neither the prediction nor a feature more than by chance. "
    return words


def _table(trends: Mapping[str, Mapping[str, Any]]) -> Markup:
    keys = ("p_mean", "p_spread")
    rows = [
        [name, *(number(line.get(key)) for key in keys), share(line.get("p_value"))]
        for name, line in trends.items()
    ]
    header = ["against", "p, same mean", "p, same spread", "replicates with one as clear"]
    return table(header, rows, "Trends of residuals in numbers")


def _as_long(values: Any, n: int, name: str) -> Array:
    """The values (n,), not-a-number where there is none."""
    listed = [np.nan if value is None else value for value in values]
    found = np.asarray(listed, dtype=np.float64)
    if found.shape != (n,):
        raise InputError(f"residuals {name} must be {n} numbers; got shape {found.shape}.")
    return found
