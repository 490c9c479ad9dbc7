"""The sections of the page that are tables or words, each a function of the record."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pmcnet.reports.confusion_tables import matrix_table
from pmcnet.reports.figures.confusion import cell_text, checked_counts
from pmcnet.reports.figures.forest import forest, metric_table
from pmcnet.reports.html import (
    MISSING,
    Markup,
    count,
    joined,
    number,
    setting,
    share,
    span,
    table,
    tag,
)
from pmcnet.reports.record import STATUSES, class_names, real

_MEANING = {
    "trustworthy": "The draws stand for the whole posterior, so probabilities and intervals can be used as they are. "
    "Whether the model suits the data is a second question: the metrics and the calibration below "
    "answer it.",
    "doubtful": "Use the predictions with care: averages may be about right, but probabilities and intervals can be "
    "too sure of themselves. Run longer, or with more draws, before a decision rests on them.",
    "degenerate": "Do not use these predictions: too few draws count, so what follows describes those few and not the "
    "posterior, and intervals are far too narrow. Change the method or its settings and run again.",
}


class Section(NamedTuple):
    """A part of the page: its anchor, its heading, its content."""

    key: str
    title: str
    body: Markup


def verdict(record: Mapping[str, Any]) -> Markup:
    """Return what to think of the run: the word, the reason, and what it means for the predictions."""
    status = str(record["verdict"]["status"])
    reason = str(record["verdict"].get("reason") or "")
    sentences = [
        tag("p", reason[0].upper() + reason[1:], class_="reason") if reason else None,
        tag("p", _MEANING[status]),
    ]
    heading = tag("h2", "Verdict: ", badge(status))
    return tag("section", heading, *sentences, id="verdict", class_=f"verdict {status}")


def badge(status: str) -> Markup:
    """Return a verdict as a word with a sign before it; the colour only repeats it."""
    if status not in STATUSES:
        return joined([status])
    sign = {"trustworthy": "✓", "doubtful": "?", "degenerate": "✕"}[status]
    return tag(
        "span",
        tag("span", sign, class_="sign", aria_hidden="true"),
        status,
        class_=f"badge {status}",
    )


def facts(record: Mapping[str, Any]) -> Section:
    """Return what was fitted to what, how, and how long it took."""
    summary = record["summary"]
    classes = class_names(record)
    predicted = f"{record['target']} ({len(classes)} classes)" if classes else str(record["target"])
    shown = {
        "data": setting(summary.get("data")),
        "predicted": predicted,
        "training rows": count(summary.get("n_train")),
        "test rows": count(summary.get("n_test")),
        "features": count(summary.get("n_features")),
        "method": setting(summary.get("method")),
        "network": setting(summary.get("network")),
        "prior": f"std {setting(summary['prior_std'])}"
        if summary.get("prior_std") is not None
        else MISSING,
        "time to fit": seconds(summary.get("fit_seconds")),
        "time to predict": seconds(summary.get("predict_seconds")),
    }
    tiles = [
        tag("div", tag("dt", name), tag("dd", value))
        for name, value in shown.items()
        if value != MISSING
    ]
    why = summary.get("method_reason")
    reason = tag("p", tag("strong", "Why this method? "), str(why)) if why else None
    return Section("facts", "Key facts", joined([tag("dl", *tiles, class_="facts"), reason]))


def seconds(value: Any) -> str:
    """Return a time in the unit that suits it."""
    if not real(value):
        return MISSING
    if value < 120:
        return f"{value:.2g} s" if value < 10 else f"{value:.0f} s"
    return f"{value / 60:.0f} min" if value < 7200 else f"{value / 3600:.1f} h"


def metrics(record: Mapping[str, Any]) -> Section | None:
    """Return the metrics on the test set, as a table and as lines."""
    if not record["metrics"]:
        return None
    n = record["summary"].get("n_test")
    rows = f"{count(n)} test row{'s' if n != 1 else ''}" if real(n) else "the test rows"
    first = tag("p", f"Measured on {rows}, which the fit has not seen.")
    return Section(
        "metrics",
        "Metrics",
        joined([first, metric_table(record["metrics"]), forest(record["metrics"])]),
    )


def uncertain(record: Mapping[str, Any]) -> Section | None:
    """Return the rows whose predictions are the least certain."""
    rows = record.get("uncertain")
    if not rows:
        return None
    if record["task"] == "regression":
        header = ["row", "prediction", "truth", "std", "interval", "noise", "disagreement"]
        cells = [_regression_row(row) for row in rows]
        words = "Noise is the spread that every draw expects; disagreement is that between draws, which more data can cure."
    else:
        header = [
            "row",
            "prediction",
            "truth",
            "probability",
            "uncertainty",
            "noise",
            "disagreement",
        ]
        cells = [_class_row(row) for row in rows]
        words = (
            "Uncertainty is the entropy of the averaged prediction in nats. It is the sum of "
            "noise, which every draw "
            "expects, and of disagreement between draws, which more data can cure."
        )
    listed = table(
        header,
        cells,
        "The most uncertain rows",
        numbers_from=3 if record["task"] != "regression" else 1,
    )
    return Section(
        "uncertain", "Most uncertain rows", joined([listed, tag("p", words, class_="note")])
    )


def _class_row(row: Mapping[str, Any]) -> list[str]:
    measured = [number(row.get(key)) for key in ("probability", "total", "aleatoric", "epistemic")]
    return [setting(row.get("row")), setting(row.get("prediction")), _truth(row), *measured]


def _regression_row(row: Mapping[str, Any]) -> list[str]:
    between = span(row.get("low"), row.get("high"))
    first = [
        setting(row.get("row")),
        number(row.get("prediction")),
        number(row.get("truth")),
        number(row.get("std")),
    ]
    return [*first, between, number(row.get("aleatoric")), number(row.get("epistemic"))]


def _truth(row: Mapping[str, Any]) -> Markup:
    """Return the truth, a wrong prediction marked by a sign and by weight."""
    truth, wrong = setting(row.get("truth")), row.get("truth") not in (None, row.get("prediction"))
    return (
        tag("span", truth, tag("span", "\u00a0✕", title="wrong"), class_="wrong")
        if wrong
        else joined([truth])
    )


def confusion(record: Mapping[str, Any]) -> Section | None:
    """Return who is taken for whom: counts, shaded by their share of the true class."""
    matrix = record.get("confusion")
    if not matrix:
        return None
    names = class_names(record) or [str(i) for i in range(len(matrix))]
    counts = checked_counts(matrix, "confusion", len(names))
    grid = matrix_table(counts, names)
    right, total = float(counts.trace()), float(counts.sum())
    words = f"{cell_text(right)} of {cell_text(total)} rows are on the diagonal, that is, predicted right. "
    words += "The deeper the colour, the larger the share of the true class."
    return Section("confusion", "Confusion matrix", joined([grid, tag("p", words, class_="note")]))


def settings(record: Mapping[str, Any]) -> Section | None:
    """Return every setting of the run by its name."""
    rows = list(_flat(record["settings"]))
    return (
        Section(
            "settings", "Settings", table(["setting", "value"], rows, "Settings", numbers_from=2)
        )
        if rows
        else None
    )


def _flat(values: Mapping[str, Any], before: str = "") -> Iterator[list[str]]:
    for key, value in values.items():
        name = f"{before}{key}"
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{name}.")
        else:
            yield [name, MISSING if value == {} else setting(value)]


def diagnostics(record: Mapping[str, Any]) -> Section:
    """Return what the weights say about themselves, each number with how to read it."""
    found = record["diagnostics"]
    n, ess = found.get("n_draws"), found.get("ess")
    part = (
        f"{share(ess / n)} of the draws; the closer to all of them, the better"
        if real(n) and n and real(ess)
        else ""
    )
    error = found.get("log_evidence_error")
    evidence = number(found.get("log_evidence")) + (f" ± {number(error)}" if real(error) else "")
    rows = [
        ["draws", count(n), "how many networks the prediction averages"],
        ["effective draws", count(ess), part],
        ["Pareto k-hat", number(found.get("khat")), _khat(found.get("khat"))],
        [
            "log evidence",
            evidence,
            "log-probability of the training data under the model, in nats; to compare models",
        ],
    ]
    rows += [[str(key), setting(value), ""] for key, value in found.items() if key not in _KNOWN]
    return Section(
        "diagnostics",
        "Diagnostics",
        table(["number", "value", "meaning"], rows, "Diagnostics", numbers_from=3),
    )


_KNOWN = ("n_draws", "ess", "khat", "log_evidence", "log_evidence_error")


def _khat(khat: Any) -> str:
    if not real(khat):
        return "tail of the weights; not available for this run"
    return f"tail of the weights; averages are {'reliable' if khat < 0.7 else 'not reliable'}, the limit being 0.7"
