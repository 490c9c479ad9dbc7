"""The sections of the page that check the model: replicated data, and leave-one-out."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from pmcnet.reports.figures.arrays import Array, entry, finite_list
from pmcnet.reports.figures.density_overlay import OVERLAY_LEGEND, overlay, overlay_panel
from pmcnet.reports.figures.khat_panel import KHAT_LEGEND, khat_panel
from pmcnet.reports.figures.panels import Panel, figure
from pmcnet.reports.figures.pit_histogram import PIT_LEGEND, pit_panel, ranks
from pmcnet.reports.html import (
    Markup,
    count,
    folded,
    joined,
    number,
    setting,
    share,
    span,
    table,
    tag,
)
from pmcnet.reports.range_tables import class_columns, class_ranges
from pmcnet.reports.sections import Section

_MANY = 0.1
"""Share of influential rows from which they are not single cases."""
_UNEVEN = 0.01
"""The share of replicates as uneven below which a histogram is not called even."""


def posterior_predictive(record: Mapping[str, Any]) -> Section | None:
    """Return observed responses beside those that the fitted model would draw."""
    data = record.get("posterior_predictive")
    if not data:
        return None
    name = "posterior_predictive"
    if data.get("classes"):
        body = _class_counts(data, name)
    else:
        parts = [_pit(entry(data, "pit", name))]
        if data.get("densities"):
            parts.insert(0, _overlay(data, name))
        if data.get("statistics"):
            parts.append(folded("The numbers", _statistics(data["statistics"])))
        body = joined([_whose(data), *parts])
    return Section(name, "Replicated data", body)


def loo(record: Mapping[str, Any]) -> Section | None:
    """Return how well each training row is predicted without it, and which rows matter most."""
    data = record.get("loo")
    if not data:
        return None
    title = "Leaving one row out"
    if data.get("refused"):
        return Section("loo", title, tag("p", f"Not done: {data['refused']}"))
    khat = finite_list(entry(data, "khat", "loo"), "loo khat")
    limit, n_bad = float(entry(data, "limit", "loo")), int((khat > data["limit"]).sum())
    some = "" if khat.size == data["n_rows"] else f" of {count(data['n_rows'])}, drawn at random"
    caption = (
        f"{count(khat.size)} training rows{some}. k-hat says how far the posterior would move "
        f"without a row: up to {limit:.2f} its number can be trusted, and beyond it the row is "
        "influential. Good is a histogram that ends left of the dashed line. Here "
    )
    caption += _influence(n_bad, khat.size, data.get("n_draws"))
    panel = Panel(None, caption, "k-hat", "rows", partial(khat_panel, khat=khat, limit=limit))
    sum_words = (
        f"Expected log predictive density of new rows, from the training rows alone: "
        f"{number(data['elpd'])} ± {number(data['se'])} in all, "
        f"{number(data['elpd'] / data['n_rows'])} per row, with {number(data['p_loo'])} effective "
        "parameters. Larger is better; compare models by it where they have the same rows."
    )
    parts = [tag("p", sum_words), figure("loo", [panel], caption, KHAT_LEGEND)]
    if data.get("influential"):
        parts.append(_influential(data))
    return Section("loo", title, joined(parts))


def _influence(n_bad: int, n: int, n_draws: Any) -> str:
    """What influential rows mean, few or many."""
    if not n_bad:
        return "it does."
    words = f"{count(n_bad)} row{'s are' if n_bad > 1 else ' is'} beyond it"
    if n_bad > _MANY * n:
        return (
            f"{words}: too many for the sum above to be trusted. Either {count(n_draws)} draws are "
            "too few, or the network follows single rows."
        )
    them = "them" if n_bad > 1 else "it"
    return f"{words}. Look at {them}: a mistake in the data, or what the model cannot explain."


def _influential(data: Mapping[str, Any]) -> Markup:
    keys = ("truth", "khat", "elpd", "seen")
    rows = [
        [setting(row["row"]), *(number(row[key]) for key in keys)] for row in data["influential"]
    ]
    words = (
        "The influential rows that surprise most; the last two columns are log-densities of the row"
    )
    words += " by all other rows, and by all rows."
    if data.get("merged"):
        words += " Rows are counted among the different ones that the model has kept."
    header = ["row", "truth", "k-hat", "left out", "seen"]
    listed = table(header, rows, "Influential rows")
    return joined([listed, tag("p", words, class_="note")])


def _whose(data: Mapping[str, Any]) -> Markup:
    """What rows the checks are of."""
    n, given = data.get("n_rows"), data.get("n_given")
    kind = "training rows, which the fit has seen" if data.get("seen") else "test rows"
    some = f" of {count(given)}, drawn at random," if given and given != n else ""
    words = f"{count(n)} {kind},{some} beside {count(data.get('n_replicates'))} replicates of them"
    words += " that the fitted model draws, noise included."
    if data.get("n_censored"):
        words += f" {count(data['n_censored'])} rows are censored, so no densities are shown."
    return tag("p", words)


def _overlay(data: Mapping[str, Any], name: str) -> Markup:
    found = overlay(data["densities"], f"{name} densities")
    outside = [
        str(line["statistic"])
        for line in data.get("statistics") or ()
        if not line["low"] <= line["observed"] <= line["high"]
    ]
    caption = (
        "Densities of the observed values and of 20 replicates. Good is an observed line that "
        "could be one of the thin ones. "
    )
    caption += (
        f"Here the {' and the '.join(outside)} of what was observed "
        f"{'is' if len(outside) == 1 else 'are'} outside the range of 95 % of the replicates."
        if outside
        else "Here mean, standard deviation, median and extremes are all within the range of 95 % "
        "of the replicates."
        if data.get("statistics")
        else ""
    )
    draw = partial(overlay_panel, found=found)
    panel = Panel(None, caption, "value", "density", draw)
    return figure(f"{name}-density", [panel], caption, OVERLAY_LEGEND)


def _pit(data: Mapping[str, Any]) -> Markup:
    found, p_value = ranks(data, "pit"), data.get("p_value")
    uneven = isinstance(p_value, float) and p_value < _UNEVEN
    caption = (
        "Where each observed value is among its replicates, from 0, below all, to 1, above all "
        "(probability integral transform). Good is an even histogram. "
        f"Here {found.n_outside} of {found.counts.size} bars "
        f"{'is' if found.n_outside == 1 else 'are'} outside the range of 95 % of the replicates, "
        f"and {share(p_value)} of these are as uneven. "
    )
    caption += _shape(found.counts) if uneven else "Nothing speaks against the model."
    draw = partial(pit_panel, found=found)
    panel = Panel(None, caption, "rank among replicates", "rows", draw)
    return figure("posterior_predictive-pit", [panel], caption, PIT_LEGEND)


def _shape(counts: Array) -> str:
    """What an uneven histogram says, by its ends, its middle and its halves."""
    quarter = max(1, counts.size // 4)
    ends = float(counts[:quarter].sum() + counts[-quarter:].sum()) / (2 * quarter)
    half = counts.size // 2
    left, right = float(counts[:half].sum()), float(counts[-half:].sum())
    lean = abs(left - right) / max(1.0, left + right)
    even = float(counts.mean())
    if lean > 0.2 and lean > abs(ends / even - 1) / 2:
        side = "low" if right > left else "high"
        return f"The histogram leans to one side: predictions are too {side} on the whole."
    if ends > 1.1 * even:
        return "The ends are high: predictions are too sure, and intervals too narrow."
    if ends < 0.9 * even:
        return "The middle is high: intervals are wider than they need to be."
    return "The noise has another shape than the model says."


def _statistics(lines: Sequence[Mapping[str, Any]]) -> Markup:
    rows = [
        [
            str(line["statistic"]),
            number(line["observed"]),
            span(line["low"], line["high"]),
            share(line["share_above"]),
        ]
        for line in lines
    ]
    header = ["of all rows", "observed", "95 % of replicates", "replicates above"]
    return table(header, rows, "Observed and replicated values in numbers")


def _class_counts(data: Mapping[str, Any], name: str) -> Markup:
    names, observed, low, high = class_columns(data, name)
    missed = (observed < low) | (observed > high)
    wrong = [own for own, bad in zip(names, missed, strict=True) if bad]
    caption = (
        "Rows of each class: observed, and the range in which 95 % of the replicates have them. "
        "Good is a dot on its bar; one in twenty may miss. "
    )
    caption += (
        f"Here {len(wrong)} of {len(names)} classes miss: {', '.join(wrong[:5])}."
        if wrong
        else "Here every class is within its range."
    )
    return joined([_whose(data), class_ranges(data, name, "rows", caption)])
