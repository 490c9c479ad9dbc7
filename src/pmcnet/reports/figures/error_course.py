"""How the error of predictions fell while a run computed, and the limits that it is judged by."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

from pmcnet.reports.figures import canvas
from pmcnet.reports.figures.arrays import LARGEST, Array
from pmcnet.reports.html import real

MEDIAN, UPPER = "error", "error_upper"
"""The keys of a step and of the limits: the median row, and the 90th percentile of the rows."""
_STEPS = (1.0, 2.0, 5.0)  # of ticks, times powers of ten
_MOST_TICKS = 6


class ErrorCourse(NamedTuple):
    """One error after so many seconds, and its limit where it has one."""

    seconds: Array  # (n,)
    error: Array  # (n,)
    limit: float | None

    @property
    def reached(self) -> float | None:
        """The seconds from which on the error stayed within its limit; None if it does not."""
        if self.limit is None or self.error[-1] > self.limit:
            return None
        above = np.flatnonzero(self.error > self.limit)
        return float(self.seconds[above[-1] + 1 if above.size else 0])


def error_course(
    history: Sequence[Mapping[str, Any]], key: str, limit: float | None
) -> ErrorCourse | None:
    """Return the known errors of a run whose steps say how long they took; None without any."""
    spent, pairs = 0.0, []
    for step in history:
        took, error = step.get("seconds"), step.get(key)
        if not real(took) or took < 0 or spent + took > LARGEST:
            return None
        spent += took
        if real(error) and 1 / LARGEST <= error <= LARGEST:
            pairs.append((spent, error))
    if not pairs:
        return None
    found = np.asarray(pairs, dtype=np.float64).T
    return ErrorCourse(
        found[0], found[1], limit if limit is not None and 1 / LARGEST <= limit <= LARGEST else None
    )


def error_panel(ax: Axes, median: ErrorCourse, upper: ErrorCourse | None) -> None:
    """Draw errors against seconds on a logarithmic axis, each limit as a dashed line."""
    drawn = [(median, canvas.ACCENT, 2.0), *([(upper, canvas.INK, 1.4)] if upper else [])]
    for course, colour, width in drawn:
        mark = "o" if course.error.size <= 40 else ""
        ax.plot(
            course.seconds, course.error, color=colour, linewidth=width, marker=mark, markersize=3.5
        )
        if course.limit is not None:
            ax.axhline(course.limit, color=colour, linewidth=1, linestyle=(0, (4, 3)))
    ends = [value for course, _, _ in drawn for value in (course.error.min(), course.error.max())]
    ends += [course.limit for course, _, _ in drawn if course.limit is not None]
    _logarithmic(ax, min(ends), max(ends))
    ax.set_xlim(0, 1.04 * float(median.seconds[-1]) or 1.0)
    ax.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    ax.grid(axis="y", color=canvas.PALE, linewidth=0.6)


def _logarithmic(ax: Axes, low: float, high: float) -> None:
    """Powers of ten, with 2 and 5 between them where few powers are shown; ends are ticks."""
    ax.set_yscale("log")
    powers = np.arange(np.floor(np.log10(low)) - 1, np.ceil(np.log10(high)) + 2)
    for steps in (_STEPS, (1.0,)):
        ticks = np.asarray([step * 10.0**power for power in powers for step in steps])
        first = int(np.searchsorted(ticks, low, side="right")) - 1
        shown = ticks[first : max(int(np.searchsorted(ticks, high)), first + 1) + 1]
        if shown.size <= _MOST_TICKS:
            break
    ax.set_ylim(shown[0], shown[-1])
    ax.yaxis.set_major_locator(FixedLocator(shown[:: -(-shown.size // _MOST_TICKS)].tolist()))
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.yaxis.set_minor_locator(NullLocator())
