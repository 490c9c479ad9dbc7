"""The section in which the page itself predicts, for values that its reader chooses."""

from collections.abc import Mapping
from typing import Any

from pmcnet.reports.html import Markup, count, joined, number, real, tag
from pmcnet.reports.record import class_names
from pmcnet.reports.scripts import script
from pmcnet.reports.sections import Section

_INTRODUCTION = (
    "Choose values and see what the model predicts for them. It says what goes together in the "
    "data, not what would happen if someone changed a value in the world."
)
_WITHOUT = "This section needs JavaScript, which is off here. All other sections are complete."
_BROKEN = "The networks of this page cannot be read. Write the report again."
_CHART = "Density of the predicted target"
_WIDTH, _HEIGHT = 360, 214
_FEW = 4
"""Classes whose bars stay in sight on a phone while values are chosen."""


def what_if(record: Mapping[str, Any]) -> Section | None:
    """Return the controls, the networks and the script, where the record has networks."""
    found = record.get("what_if")
    if not found:
        return None
    if "left_out" in found:
        return Section("what_if", "What if", tag("p", str(found["left_out"])))
    classes = class_names(record)
    data = {**found, "target": str(record["target"]), "classes": classes}
    parts = [
        tag("p", _INTRODUCTION),
        tag("noscript", tag("p", _WITHOUT)),
        tag("p", _BROKEN, id="what_if_broken", hidden="hidden"),
        tag(
            "div",
            tag("div", _answer(classes), class_="answer"),
            tag("div", id="what_if_controls", class_="controls"),
            id="what_if_page",
            class_="ask",
            hidden="hidden",
        ),
        tag("p", _note(found), class_="note"),
        script("what_if", data),
    ]
    return Section("what_if", "What if", joined(parts))


def _answer(classes: list[str]) -> Markup:
    """Return where the script writes: numbers, and a curve or bars."""
    drawing = Markup(
        f'<svg class="drawing" role="img" aria-label="{_CHART}" viewBox="0 0 {_WIDTH} {_HEIGHT}">'
        f"<title>{_CHART}</title></svg>"
    )
    seen = [
        tag("p", id="what_if_now", class_="now"),
        tag("p", id="what_if_spread", class_="spread"),
        tag("ol", id="what_if_bars", class_="bars")
        if classes
        else tag("div", drawing, id="what_if_curve"),
    ]
    told = tag("p", id="what_if_told", class_="told", role="status", aria_live="polite")
    kind = "seen" if len(classes) <= _FEW else "seen long"
    legend = _legend(_CLASS_MARKS if classes else _NUMBER_MARKS)
    return joined([tag("div", *seen, class_=kind), legend, told])


_NUMBER_MARKS = (
    ("tint-80", "50 % interval"),
    ("tint-95", "90 % interval"),
    ("stroke", "mean"),
    ("dashes", "at the start"),
    ("rug", "means of single networks"),
)
_CLASS_MARKS = (
    ("tint-80", "probability"),
    ("band", "90 % of the networks"),
    ("was", "at the start"),
)


def _legend(marks: tuple[tuple[str, str], ...]) -> Markup:
    items = [tag("li", tag("span", class_=f"mark {kind}"), words) for kind, words in marks]
    return tag("ul", *items, class_="legend")


def _note(found: Mapping[str, Any]) -> str:
    """Return how many networks there are, and how far their average is from that of all."""
    networks, difference = found["networks"], found.get("difference")
    words = f"The average of {count(sum(networks['weight']))} networks"
    if real(networks.get("of")) and networks["of"] > sum(networks["weight"]):
        words += f" drawn from the {count(networks['of'])} of the posterior"
    words += ", computed in this page."
    if real(difference) and difference > 0:
        words += (
            f" For the rows to start from it differs by at most {number(difference)} from the "
            "average of all."
        )
    order = "Features come in the order in which they move the prediction of the typical row."
    return " ".join([words, order, *map(str, found.get("notes") or ())])
