"""The report of a run: one HTML file that needs nothing else, from the plain data of the run."""

import os
import secrets
from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from pmcnet.errors import InputError
from pmcnet.io.atomic import sync
from pmcnet.reports import (
    calibration_section,
    column_table,
    comparison,
    curve_sections,
    decision_section,
    figure_sections,
    history_section,
    model_choice,
    new_rows,
    sections,
    uncertain_rows,
)
from pmcnet.reports.html import Markup, joined, setting, tag
from pmcnet.reports.record import REMEDY, checked_record
from pmcnet.reports.sections import Section

_ORDER = (
    sections.facts,
    sections.metrics,
    new_rows.update,
    curve_sections.roc,
    curve_sections.precision_recall,
    decision_section.decision,
    figure_sections.scatter,
    figure_sections.quantile_fan,
    calibration_section.calibration,
    figure_sections.histograms,
    uncertain_rows.uncertain,
    sections.confusion,
    history_section.history,
    model_choice.model_choice,
    column_table.columns,
    comparison.comparison,
    sections.settings,
    sections.diagnostics,
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
    parts = [part for make in _ORDER if (part := _made(make, record)) is not None]
    body = tag(
        "body",
        tag("a", "To the verdict", href="#verdict", class_="skip"),
        _header(record),
        tag(
            "div",
            _contents(parts),
            tag("main", sections.verdict(record), *map(_section, parts)),
            class_="columns",
        ),
        _footer(record),
    )
    return f'<!DOCTYPE html>\n<html lang="en">\n{_head(str(record["title"]))}\n{body}\n</html>\n'


def _made(
    make: Callable[[Mapping[str, Any]], Section | None], record: Mapping[str, Any]
) -> Section | None:
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
    style = files("pmcnet.reports").joinpath("files", "report.css").read_text(encoding="utf-8")
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


def _contents(parts: list[Section]) -> Markup:
    links = [
        tag("li", tag("a", title, href=f"#{key}"))
        for key, title in [("verdict", "Verdict"), *(p[:2] for p in parts)]
    ]
    return tag("nav", tag("ul", *links), aria_label="Contents")


def _section(part: Section) -> Markup:
    return tag("section", tag("h2", part.title), part.body, id=part.key)


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
