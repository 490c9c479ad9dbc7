"""The sections of the page that are tables or words, each a function of the record."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pmcnet.reports.advice import advice
from pmcnet.reports.calibration_checks import base_accuracy
from pmcnet.reports.confusion_tables import matrix_table
from pmcnet.reports.figures.confusion import cell_text, checked_counts
from pmcnet.reports.figures.forest import forest, metric_table
from pmcnet.reports.html import (
    MISSING,
    Markup,
    count,
    joined,
    number,
    real,
    seconds,
    setting,
    share,
    table,
    tag,
)
from pmcnet.reports.record import class_names, limit


class Section(NamedTuple):
    """A part of the page: its anchor, its heading, its content."""

    key: str
    title: str
    body: Markup


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
        "model": setting(summary.get("model")),
        "calibration": setting(summary.get("calibration")),
        "time to fit": seconds(summary.get("fit_seconds")),
        "time to predict": seconds(summary.get("predict_seconds")),
    }
    tiles = [
        tag("div", tag("dt", name), tag("dd", value))
        for name, value in shown.items()
        if value != MISSING
    ]
    why = summary.get("method_reason")
    reason = tag("p", str(why)) if why else None
    return Section("facts", "Key facts", joined([tag("dl", *tiles, class_="facts"), reason]))


def metrics(record: Mapping[str, Any]) -> Section | None:
    """Return the metrics on the test set, as a table and as lines."""
    if not record["metrics"]:
        return None
    n = record["summary"].get("n_test")
    rows = f"{count(n)} test row{'s' if n != 1 else ''}" if real(n) else "the test rows"
    words = f"Measured on {rows}, which the fit has not seen.{_base_rate(record)}"
    first = tag("p", words, drawn_words(record))
    body = joined([first, metric_table(record["metrics"]), forest(record["metrics"])])
    return Section("metrics", "Metrics", body)


def drawn_words(record: Mapping[str, Any]) -> str:
    """Return which rows single networks have predicted, where these are not all."""
    n, n_test = record.get("n_drawn"), record["summary"].get("n_test")
    if not (real(n) and real(n_test) and n < n_test):
        return ""
    what = "CRPS, calibration" if record["task"] == "regression" else "the confusion matrix"
    words = f" What single networks say of them (draws, bands, {what}, single rows) is measured on"
    return f"{words} {count(n)} of these rows, drawn at random."


def _base_rate(record: Mapping[str, Any]) -> str:
    """How good always saying the commonest class would be, where the record has it."""
    base = base_accuracy(record)
    if base is None:
        return ""
    return f" Always saying {base.name!r} would be right in {share(base.accuracy)} of them."


def confusion(record: Mapping[str, Any]) -> Section | None:
    """Return who is taken for whom: counts, shaded by their share of the true class."""
    matrix = record.get("confusion")
    if not matrix:
        return None
    names = class_names(record) or [str(i) for i in range(len(matrix))]
    counts = checked_counts(matrix, "confusion", len(names))
    grid = matrix_table(counts, names)
    right, total = float(counts.trace()), float(counts.sum())
    words = (
        f"By single draws, on average {cell_text(right)} of {cell_text(total)} rows are on the "
        "diagonal, that is, predicted "
    )
    words += "right. The deeper the colour, the larger the share of the true class."
    return Section("confusion", "Confusion matrix", joined([grid, tag("p", words, class_="note")]))


def settings(record: Mapping[str, Any]) -> Section | None:
    """Return every setting of the run by its name; those without a value in a line."""
    rows = list(_flat(record["settings"]))
    if not rows:
        return None
    given = [row for row in rows if row[1] not in ("", MISSING)]
    listed = table(["setting", "value"], given, "Settings", numbers_from=2) if given else None
    empty = ", ".join(name for name, value in rows if value in ("", MISSING))
    note = tag("p", f"Without a value: {empty}.", class_="note") if empty else None
    return Section("settings", "Settings", joined([listed, note]))


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
        [
            "Pareto k-hat",
            number(found.get("khat")),
            _khat(found.get("khat"), limit(record, "khat")),
        ],
        [
            "log evidence",
            evidence,
            str(found.get("evidence") or "log-probability of the training data under the model"),
        ],
    ]
    rows += list(_errors(found))
    rows += [[str(key), setting(value), ""] for key, value in found.items() if key not in _KNOWN]
    listed = table(["number", "value", "meaning"], rows, "Diagnostics", numbers_from=3)
    more = advice(record)[1:]
    tried = [tag("p", "What else to try:"), tag("ul", *(tag("li", step) for step in more))]
    return Section("diagnostics", "Diagnostics", joined([listed, *(tried if more else [])]))


_ERRORS = ("n_islands", "quantity", "error", "error_upper", "std_error", "rhat", "evidence")
_KNOWN = ("n_draws", "ess", "khat", "log_evidence", "log_evidence_error", *_ERRORS)


_ERROR_LABELS = (
    ("error", "error of predictions"),
    ("error_upper", "for one row in ten"),
    ("std_error", "error of the predictive deviation"),
)


def _errors(found: Mapping[str, Any]) -> Iterator[list[str]]:
    """Rows about the error of predictions, where islands or chains tell it."""
    if not found.get("n_islands"):
        return
    probabilities = found.get("quantity") == "probabilities"
    shown = number if probabilities else share
    unit = "total variation" if probabilities else "share of the predictive spread"
    yield ["islands", count(found["n_islands"]), "independent runs whose disagreement is the error"]
    for name, label in _ERROR_LABELS:
        value = found.get(name)
        if value is None and name == "std_error":
            continue
        yield [label, shown(value) if real(value) else MISSING, f"Monte Carlo error, {unit}"]
    yield [
        "nested R-hat",
        number(found.get("rhat")),
        "the largest of all rows; 1 where islands agree",
    ]


def _khat(khat: Any, most: float | None) -> str:
    """Return how to read k-hat, judged by the limit of the verdict and by no other."""
    if not real(khat):
        return "tail of the weights; not available for this run"
    if most is None:
        return "tail of the weights; the smaller, the better"
    if khat > most:
        return f"tail of the weights; above the limit of {most:.2f}, so rare draws may dominate"
    return f"tail of the weights; within the limit of {most:.2f}"
