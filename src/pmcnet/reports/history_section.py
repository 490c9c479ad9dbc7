"""The section of how the run went: the error against time, and other numbers step by step."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from pmcnet.reports.figures.error_course import (
    MEDIAN,
    UPPER,
    ErrorCourse,
    error_course,
    error_panel,
)
from pmcnet.reports.figures.history import Course, course, course_panel
from pmcnet.reports.figures.panels import Legend, Panel, figure
from pmcnet.reports.html import (
    Markup,
    count,
    folded,
    joined,
    number,
    real,
    seconds,
    setting,
    table,
    tag,
)
from pmcnet.reports.record import limit
from pmcnet.reports.sections import Section

_COURSES = {
    "ess": "effective draws",
    "temperature": "inverse temperature",
    "log_evidence": "log evidence",
    "acceptance": "acceptance",
    "step_size": "step size",
    "error": "error of predictions",
}
_MOST_ROWS = 60  # of the table of steps
_UNITS = {"values": "a share of the predictive spread", "probabilities": "total variation"}


def history(record: Mapping[str, Any]) -> Section | None:
    """Return effective draws, inverse temperature, evidence and the like along the run."""
    steps = record.get("history")
    if not steps:
        return None
    learning = _learning(record)
    found = {
        name: line
        for key, name in _COURSES.items()
        if not (learning and key == MEDIAN) and (line := course(steps, key)) is not None
    }
    if not found and not learning:
        return None
    panels = [
        Panel(name, _course_words(name, line), "step", "", partial(course_panel, found=line))
        for name, line in found.items()
    ]
    times = [step["seconds"] for step in steps if real(step.get("seconds"))]
    spent = f" in {seconds(sum(times))}" if times else ""
    caption = f"{count(len(steps))} step{'s' * (len(steps) > 1)}{spent}. "
    caption += " ".join(panel.words for panel in panels)
    drawn = figure("history", panels, caption) if panels else tag("p", caption, class_="note")
    body = [learning, drawn, folded("The numbers", _step_table(steps))]
    return Section("history", "Along the run", joined(body))


def _learning(record: Mapping[str, Any]) -> Markup | None:
    """Return the error of predictions against computing time, with the limits of the verdict."""
    median, upper = (
        error_course(record["history"], key, limit(record, key)) for key in (MEDIAN, UPPER)
    )
    if median is None:
        return None
    quantity = record["diagnostics"].get("quantity")
    unit = f", as {_UNITS[quantity]}" if quantity in _UNITS else ""
    caption = f"How far predictions may be from those of the exact posterior{unit}. "
    caption += _error_words("At the median row this is", median)
    legend: Legend = [("stroke", "median row")]
    if upper is not None:
        caption += f" {_error_words('Nine rows in ten are below', upper)}"
        legend = [*legend, ("stroke ink", "nine rows in ten are below")]
    if median.limit is not None:
        caption += " The dashed lines are the limits of the verdict."
        legend = [*legend, ("dashes", "limits of the verdict, in the same colours")]
    draw = partial(error_panel, median=median, upper=upper)
    panel = Panel(None, caption, "seconds of computing", "error of predictions", draw)
    heading = tag("h4", "How the error fell", class_="part first")
    return joined([heading, figure("learning", [panel], caption, legend)])


def _error_words(what: str, course: ErrorCourse) -> str:
    words = f"{what} {number(course.error[-1])} at the end, after {seconds(course.seconds[-1])}"
    if course.limit is None:
        return f"{words}."
    within = f"its limit of {number(course.limit)}"
    if course.reached is None:
        return f"{words}, and above {within}."
    return f"{words}, and within {within} from {seconds(course.reached)} on."


def _course_words(name: str, line: Course) -> str:
    first, last = number(line.value[0]), number(line.value[-1])
    start = name[0].upper() + name[1:]
    if line.step.size == 1:
        return f"{start}: {first}."
    return f"{start}: {first} at first, {last} at the end."


def _step_table(steps: Sequence[Mapping[str, Any]]) -> Markup:
    """Return at most 60 steps, evenly spread, the first and the last among them."""
    spread = np.linspace(0, len(steps) - 1, min(_MOST_ROWS, len(steps))).round()
    kept = sorted(set(spread.astype(int).tolist()))
    keys = dict.fromkeys(key for step in steps for key in step)
    names = [str(key) for key in keys if key != "step"]
    rows = [
        [setting(steps[i].get("step", 1 + i)), *(_measured(steps[i].get(name)) for name in names)]
        for i in kept
    ]
    note = None
    if len(kept) < len(steps):
        note = tag("p", f"{len(kept)} of {count(len(steps))} steps.", class_="note")
    header = ["step", *(_COURSES.get(name, name.replace("_", " ")) for name in names)]
    return joined([table(header, rows, "The run, step by step"), note])


def _measured(value: Any) -> str:
    return number(value) if isinstance(value, float) else setting(value)
