"""Effects as plain data, as figures take them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pmcnet.estimators.explanations.effect_grids import Grid
from pmcnet.estimators.explanations.effects import ColumnEffect
from pmcnet.estimators.explanations.interactions import Interaction
from pmcnet.estimators.explanations.spread import Spread
from pmcnet.estimators.predictions import Array

_MOST_LINES = 3
_LINES = (0.15, 0.5, 0.85)  # of the rows below


def effect_entry(effect: ColumnEffect, average: Array, outputs: Sequence[int]) -> dict[str, Any]:
    """The effect of a column on some outputs.

    Args:
        effect: of the column.
        average: prediction over the rows, by network (R, K).
        outputs: which of the K.
    """
    entry = grid_entry(effect.grid) | {"feature": effect.feature, "outputs": []}
    for k in outputs:
        found: dict[str, Any] = {
            "average": float(average[:, k].mean()),
            "partial": intervals(effect.partial[..., k]),
            "individual": [shortened(row) for row in effect.individual[..., k]],
        }
        if effect.accumulated is not None:
            found["accumulated"] = intervals(effect.accumulated[..., k])
        entry["outputs"].append(found)
    return entry


def interaction_entry(pair: Interaction, output: int) -> dict[str, Any]:
    """The joint effect of two columns on one output: curves of one at values of the other.

    The one that has no levels is on the axis, if there is one.
    """
    surface, (along, across), names = pair.surface[..., output], pair.grids, pair.features
    if along.scale == "level" and across.scale != "level":
        surface, (along, across), names = surface.swapaxes(1, 2), (across, along), names[::-1]
    lines = [
        {"value": _word(across.values[i]), "partial": intervals(surface[:, :, i])}
        for i in _chosen(across)
    ]
    return grid_entry(along) | {"features": list(names), "lines": lines}


def pair_entry(pair: Interaction) -> dict[str, Any]:
    """How far two columns act together."""
    found: dict[str, Any] = {"features": list(pair.features)}
    for name in ("strength", "share"):
        spread = Spread.of(getattr(pair, name))._asdict()
        found[name] = {key: float(f"{value:.6g}") for key, value in spread.items()}
    return found


def grid_entry(grid: Grid) -> dict[str, Any]:
    """The points of a column, and where its rows are."""
    return {
        "scale": grid.scale,
        "values": list(grid.labels) or shortened(grid.numbers),
        "share": shortened(grid.share),
        "counts": grid.counts.tolist(),
    }


def intervals(each: Array) -> dict[str, list[float]]:
    """Mean and intervals of numbers by network (R, m)."""
    return {key: shortened(values) for key, values in Spread.of(each)._asdict().items()}


def shortened(values: Array) -> list[float]:
    """With six digits, as a file needs no more."""
    return [float(f"{value:.6g}") for value in values.tolist()]


def _word(value: Any) -> str:
    """A point in a few letters: of a time its day."""
    if isinstance(value, str):
        return value
    return f"{value:.3g}" if isinstance(value, float) else f"{value:%Y-%m-%d}"


def _chosen(grid: Grid) -> list[int]:
    """Points for which there is a curve: the commonest levels, or a low, a middle, a high one."""
    if grid.scale == "level":
        return sorted(np.argsort(-grid.share, kind="stable")[:_MOST_LINES].tolist())
    below = np.cumsum(grid.share) / grid.share.sum()
    return sorted({int(np.searchsorted(below, part)) for part in _LINES})
