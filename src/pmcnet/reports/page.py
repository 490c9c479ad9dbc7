"""The report of a run: one HTML file that needs nothing else, from the plain data of the run."""

import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pmcnet.errors import InputError
from pmcnet.io.atomic import sync
from pmcnet.reports import (
    calibration_section,
    check_sections,
    column_table,
    comparison,
    curve_sections,
    decision_section,
    driver_sections,
    figure_sections,
    history_section,
    model_choice,
    new_rows,
    omissions,
    prior_section,
    residual_section,
    row_explanations,
    sections,
    uncertain_rows,
    what_if,
)
from pmcnet.reports.first_card import first_card
from pmcnet.reports.html import Markup, joined, setting, tag
from pmcnet.reports.record import REMEDY, checked_record
from pmcnet.reports.sections import Section
from pmcnet.reports.style_sheets import style_sheet

T = TypeVar("T")
Maker = Callable[[Mapping[str, Any]], Section | None]


class Group(NamedTuple):
    """Sections that answer one question: its anchor, the question, what makes each section."""

    key: str
    title: str
    makers: tuple[Maker, ...]


_GROUPS = (
    Group(
        "group-good",
        "How good is it?",
        (
            sections.metrics,
            figure_sections.scatter,
            figure_sections.quantile_fan,
            curve_sections.roc,
            curve_sections.precision_recall,
            decision_section.decision,
            sections.confusion,
            figure_sections.histograms,
            uncertain_rows.uncertain,
            comparison.comparison,
        ),
    ),
    Group(
        "group-why",
        "What drives it?",
        (
            driver_sections.importance,
            driver_sections.effects,
            driver_sections.interaction,
            what_if.what_if,
            row_explanations.explained,
        ),
    ),
    Group(
        "group-trust",
        "Can it be trusted?",
        (
            calibration_section.calibration,
            check_sections.posterior_predictive,
            residual_section.residuals,
            check_sections.loo,
            prior_section.prior_predictive,
            sections.diagnostics,
            history_section.history,
            new_rows.update,
        ),
    ),
    Group(
        "group-made",
        "How was it made?",
        (
            sections.facts,
            model_choice.model_choice,
            column_table.columns,
            sections.settings,
            omissions.omissions,
        ),
    ),
)


def write_report(record: Mapping[str, Any], path: Path | str) -> Path:
    """Write the page of `record` to `path`, making the folder if needed, and return the path.

    The file appears whole or not at all, and is the same, byte for byte, for the same record.

    Args:
        record: the record of a finished run as its JSON file holds it; `format` is 1.
        path: where to write.
    """
    path = Path(path)
    text = render(record)
    path.parent.mkdir(parents=True, exist_ok=True)
    _replace(path, text.encode("utf-8", errors="xmlcharrefreplace"))
    return path


def render(record: Mapping[str, Any]) -> str:
    """Return the page of `record` as HTML."""
    record = checked_record(record)
    groups = list(_made_groups(record))
    body = tag(
        "body",
        tag("a", "To the verdict", href="#verdict", class_="skip"),
        _header(record),
        tag(
            "main",
            _card(record),
            _contents(groups),
            tag("div", *(_group(*made) for made in groups), class_="groups"),
            class_="columns",
        ),
        _footer(record),
    )
    return f'<!DOCTYPE html>\n<html lang="en">\n{_head(str(record["title"]))}\n{body}\n</html>\n'


def _made_groups(record: Mapping[str, Any]) -> Iterator[tuple[Group, list[Section]]]:
    """Groups that have anything to say of this record, with their sections."""
    for group in _GROUPS:
        parts = [part for make in group.makers if (part := _made(make, record)) is not None]
        if parts:
            yield group, parts


def _card(record: Mapping[str, Any]) -> Markup:
    status = str(record["verdict"]["status"])
    heading = tag("h2", "In short")
    body = _made(first_card, record)
    return tag("section", heading, body, id="verdict", class_=f"first-card {status}")


def _made(make: Callable[[Mapping[str, Any]], T], record: Mapping[str, Any]) -> T:
    try:
        return make(record)
    except InputError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        words = f"{type(error).__name__}: {error}"
        raise InputError(
            f"the {make.__name__} of this record cannot be read ({words:.120}). {REMEDY}"
        ) from error


def _head(title: str) -> Markup:
    style = "".join(style_sheet(name) for name in ("report.css", "first_card.css"))
    metas = [
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        '<meta name="generator" content="pmcnet">',
    ]
    return tag("head", Markup("".join(metas)), tag("title", title), tag("style", Markup(style)))


def _header(record: Mapping[str, Any]) -> Markup:
    kind = {
        "binary": "classification, two classes",
        "multiclass": "classification",
        "regression": "regression",
    }
    words = f"Report of a Bayesian neural network · {kind[record['task']]}"
    return tag("header", tag("p", words, class_="kind"), tag("h1", str(record["title"])))


def _contents(groups: Sequence[tuple[Group, list[Section]]]) -> Markup:
    """Links to the first card, to every group and to its sections."""
    first = tag("li", tag("a", "In short", href="#verdict"))
    items = (
        tag(
            "li",
            tag("a", group.title, href=f"#{group.key}"),
            tag("ul", *(tag("li", tag("a", part.title, href=f"#{part.key}")) for part in parts)),
        )
        for group, parts in groups
    )
    return tag("nav", tag("ul", first, *items), aria_label="Contents")


def _group(group: Group, parts: Sequence[Section]) -> Markup:
    heading = tag("h2", group.title, id=group.key)
    return tag("div", heading, *map(_section, parts), class_="group")


def _section(part: Section) -> Markup:
    return tag("section", tag("h3", part.title), part.body, id=part.key)


def _footer(record: Mapping[str, Any]) -> Markup:
    version = record["summary"].get("version")
    words = (
        f"Written by pmcnet {setting(version)}." if version is not None else "Written by pmcnet."
    )
    return tag(
        "footer",
        tag("p", joined([words, " This page is one file and loads nothing from elsewhere."])),
    )


def _replace(path: Path, content: bytes) -> None:
    """Write beside `path`, then put it in place at once, so that no one sees half a page."""
    part = path.with_name(f".{path.name[:40]}.{secrets.token_hex(4)}.part")
    try:
        part.write_bytes(content)
        sync(part)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
