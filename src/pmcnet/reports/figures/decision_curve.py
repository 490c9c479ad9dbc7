"""The decision curve: what acting on rows beyond a threshold brings, against the threshold."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from pmcnet.errors import InputError
from pmcnet.reports.figures import canvas
from pmcnet.reports.figures.arrays import Array, entry, finite_list, probabilities
from pmcnet.reports.html import real

_BELOW = 0.12  # of the height above zero is shown below it
LEVELS = ("80", "95")


class DecisionCurve(NamedTuple):
    """Rows of a class that are found, and others that are taken for it, at each threshold."""

    label: int
    n: int
    n_positive: int
    threshold: Array  # (t,)
    true_positive: Array  # (t,)
    false_positive: Array  # (t,)
    bands: dict[str, tuple[Array, Array]]  # of the draws' net benefits; each end (t,)

    @property
    def odds(self) -> Array:
        """What a false positive costs, in true positives, (t,)."""
        return self.threshold / (1 - self.threshold)

    @property
    def net_benefit(self) -> Array:
        """TP / N - FP / N t / (1 - t), (t,)."""
        return (self.true_positive - self.odds * self.false_positive) / self.n

    @property
    def act_on_all(self) -> Array:
        """The net benefit of acting on every row, (t,)."""
        return (self.n_positive - self.odds * (self.n - self.n_positive)) / self.n

    @property
    def limits(self) -> tuple[float, float]:
        """What is shown of net benefits: below zero only a little."""
        highest = [self.n_positive / self.n, self.net_benefit.max()]
        top = 1.08 * float(max(highest + [high.max() for _, high in self.bands.values()]))
        return -_BELOW * top, top


def decision_curve(data: Mapping[str, Any]) -> DecisionCurve:
    """Return the checked curve."""
    n, n_positive = (entry(data, key, "decision") for key in ("n", "n_positive"))
    if not (real(n) and real(n_positive) and 0 < n_positive <= n):
        raise InputError(
            f"decision n_positive must lie between 1 and n; got {n_positive!r:.40} of {n!r:.40}."
        )
    threshold = probabilities(entry(data, "threshold", "decision"), "decision threshold")
    if np.any(np.diff(threshold) <= 0) or threshold[0] <= 0 or threshold[-1] >= 1:
        raise InputError("decision threshold must increase between 0 and 1, both excluded.")

    def along(values: Any, name: str) -> Array:
        array = finite_list(values, f"decision {name}")
        if array.size != threshold.size:
            raise InputError(
                f"decision {name} must have one value per threshold ({threshold.size}); got "
                f"{array.size}."
            )
        return array

    found, others = (
        along(entry(data, key, "decision"), key) for key in ("true_positive", "false_positive")
    )
    given = data.get("bands") or {}
    bands = {
        name: (along(given[name][0], f"band {name}"), along(given[name][1], f"band {name}"))
        for name in LEVELS
        if name in given
    }
    label = int(entry(data, "class", "decision"))
    return DecisionCurve(label, int(n), int(n_positive), threshold, found, others, bands)


def decision_panel(ax: Axes, curve: DecisionCurve) -> None:
    """Draw net benefits: with bands, of the averaged prediction, of all rows, of none."""
    for name in reversed(curve.bands):
        ax.fill_between(curve.threshold, *curve.bands[name], color=canvas.TINTS[name], linewidth=0)
    ax.axhline(0, color=canvas.GREY, linewidth=1)
    ax.plot(
        curve.threshold, curve.act_on_all, color=canvas.GREY, linewidth=1.3, linestyle=(0, (4, 3))
    )
    ax.plot(curve.threshold, curve.net_benefit, color=canvas.ACCENT, linewidth=2)
    ax.set(xlim=(-0.02, 1.02), ylim=curve.limits, xticks=(0, 0.25, 0.5, 0.75, 1))
    ax.set_xticklabels(("0", "25 %", "50 %", "75 %", "100 %"))
    ax.locator_params(axis="y", nbins=5)
