"""The section of the page on the prior: what the model held for possible before any data."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from pmcnet.reports.figures.arrays import entry, finite_list
from pmcnet.reports.figures.density_overlay import (
    functions_panel,
    overlay,
    overlay_panel,
)
from pmcnet.reports.figures.panels import Panel, figure
from pmcnet.reports.html import Markup, count, number, setting, share
from pmcnet.reports.range_tables import class_columns, class_ranges
from pmcnet.reports.sections import Section

_NARROW, _WIDE = 0.5, 10.0
"""Widths of the prior's interval over that of the data between which they are of one size."""
_LEGEND = (("stroke", "observed"), ("mark-thin", "by one network of the prior"))


def prior_predictive(record: Mapping[str, Any]) -> Section | None:
    """Return what the model held for possible before it saw any data."""
    data = record.get("prior_predictive")
    if not data:
        return None
    name = "prior_predictive"
    body = _prior_classes(data, name) if data.get("classes") else _prior_numbers(data, name)
    return Section(name, "Before any data", body)


def _prior_classes(data: Mapping[str, Any], name: str) -> Markup:
    names, observed, low, high = class_columns(data, name)
    n_out = int(((observed < low) | (observed > high)).sum())
    caption = (
        "The share of each class among the rows: observed, and the range that 95 % of networks "
        "drawn from the prior give. Good is a wide range with the dot inside: the prior has not "
        "decided beforehand. "
    )
    caption += (
        f"Here {n_out} of {len(names)} classes lie outside."
        if n_out
        else "Here every class is inside."
    )
    return class_ranges(data, name, "share of rows", caption)


def _prior_numbers(data: Mapping[str, Any], name: str) -> Markup:
    low, high = finite_list(entry(data, "interval", name), f"{name} interval")[:2]
    first, last = finite_list(entry(data, "data", name), f"{name} data")[:2]
    ratio = data.get("ratio")
    caption = (
        f"Values by {count(len(entry(data['densities'], 'replicates', name)))} networks drawn from "
        f"the prior, before any data. Of them 95 % lie between {number(low)} and {number(high)}, "
        f"and 95 % of the data between {number(first)} and {number(last)}. Good is a prior of the "
        "size of the data or somewhat wider. "
    )
    caption += _size_of(ratio, data.get("share_inside"))
    drawn = partial(overlay_panel, found=overlay(data["densities"], f"{name} densities"))
    panels = [Panel("values", caption, "value", "density", drawn)]
    functions = data.get("functions")
    if functions:
        grid = finite_list(entry(functions, "grid", name), f"{name} grid")
        means = np.stack([finite_list(one, f"{name} means") for one in functions["means"]])
        feature = setting(entry(functions, "feature", name))
        words = f"{len(means)} functions of the prior along {feature}, "
        words += "the other columns as in a typical row"
        draw = partial(functions_panel, grid=grid, means=means)
        panels.append(Panel(f"functions along {feature}", words, "feature", "mean", draw))
        caption += f" The second panel has {words}."
    return figure(name, panels, caption, _LEGEND)


def _size_of(ratio: Any, inside: Any) -> str:
    if not isinstance(ratio, float):
        return ""
    words = f"Here it is {number(ratio)} times as wide as the data, and {share(inside)} of them "
    words += "are inside."
    if ratio < _NARROW:
        return words + " That is narrow: the prior holds some of the data for hardly possible."
    if ratio > _WIDE:
        return words + " That is wide: more rows are needed to rule out what never happens."
    return words
