"""The three numbers of the first card: the first that a record has, each beside what it is worth.

Of numbers these are the coverage of 90 % intervals, the typical error beside the spread of y, and
the CRPS: it is in units of y, and of a prediction without a spread it is the mean absolute error,
so that both side by side say what the stated spread is worth; a log-likelihood per row has neither.
Of classes they are the accuracy beside the base rate, the log loss beside that of the class shares,
and the calibration error beside what chance makes of it. Without test rows the draws are counted.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from pmcnet.reports.calibration_checks import Confidence, Coverage, base_accuracy
from pmcnet.reports.html import count, number, real, share
from pmcnet.reports.record import metric_value

MOST = 3


class CardNumber(NamedTuple):
    """A number, what it is, and what to compare it with."""

    label: str
    value: str
    beside: str


def three_numbers(record: Mapping[str, Any]) -> tuple[CardNumber, ...]:
    """Return the first three that the record has, at most."""
    makers = (*(_NUMBERS if record["task"] == "regression" else _CLASSES), *_DRAWS)
    found = (number for make in makers if (number := make(record)) is not None)
    return tuple(number for number, _ in zip(found, range(MOST), strict=False))


def _coverage(record: Mapping[str, Any]) -> CardNumber | None:
    found = Coverage.of(record)
    if found is None:
        return None
    kind = "calibrated " if found.calibrated else ""
    low, high = (found.level + side * 2 * found.error for side in (-1, 1))
    chance = f"{share(round(low, 2))} to {share(min(1.0, round(high, 2)))} by chance"
    return CardNumber(
        f"{_rows(record)} in {kind}{share(found.level)} intervals",
        share(round(found.found, 3)),
        f"{'at least ' * found.whole}{share(found.level)} is right; {chance}",
    )


def _typical_error(record: Mapping[str, Any]) -> CardNumber | None:
    rmse, r2 = metric_value(record, "rmse"), metric_value(record, "r2")
    if rmse is None:
        return None
    beside = "root mean squared error"
    if r2 is not None and r2 < 1:
        spread = rmse / math.sqrt(1 - r2)  # R squared = 1 - rmse^2 / spread^2
        beside = f"the spread of y is {_short(spread)} (R squared {_short(r2)})"
    return CardNumber(f"typical error{_unit(record, 'rmse')}", _short(rmse), beside)


def _crps(record: Mapping[str, Any]) -> CardNumber | None:
    found, mae = metric_value(record, "crps"), metric_value(record, "mae")
    if found is None:
        return None
    beside = "0 is perfect"
    if mae is not None:
        beside = f"{_short(mae)} if the mean were stated without its spread"
    return CardNumber(f"CRPS{_unit(record, 'crps')}", _short(found), beside)


def _error_of_events(record: Mapping[str, Any]) -> CardNumber | None:
    found = metric_value(record, "mae_observed")
    if found is None:
        return None
    label = "typical error of observed events"
    return CardNumber(label, _short(found), "mean absolute error; censored rows are left out")


def _log_density(record: Mapping[str, Any]) -> CardNumber | None:
    found = metric_value(record, "nll")
    if found is None:
        return None
    return CardNumber("log-likelihood per row", _short(-found), "in nats; the higher the better")


def _accuracy(record: Mapping[str, Any]) -> CardNumber | None:
    found, base = metric_value(record, "accuracy"), base_accuracy(record)
    if found is None:
        return None
    beside = ""
    if base is not None:
        beside = f"always saying {base.name!r} would get {share(round(base.accuracy, 3))}"
    return CardNumber(f"{_rows(record)} right", share(round(found, 3)), beside)


def _log_loss(record: Mapping[str, Any]) -> CardNumber | None:
    found = metric_value(record, "nll")
    if found is None:
        return None
    rows = np.asarray([sum(row) for row in record.get("confusion") or ()], dtype=np.float64)
    beside = "in nats; 0 is perfect"
    if rows.sum() > 0:
        shares = rows[rows > 0] / rows.sum()
        entropy = float(-(shares * np.log(shares)).sum())
        beside = f"stating the shares of the classes would get {_short(entropy)}"
    return CardNumber("log loss", _short(found), beside)


def _calibration_error(record: Mapping[str, Any]) -> CardNumber | None:
    found = metric_value(record, "ece")
    if found is None:
        return None
    confidence = Confidence.of(record)
    beside = "0 is perfect"
    if confidence is not None:
        beside = f"about {_short(confidence.gap)} by chance, if calibrated"
    return CardNumber("calibration error", _short(found), beside)


def _effective_draws(record: Mapping[str, Any]) -> CardNumber | None:
    found = record["diagnostics"]
    if not real(found.get("ess")):
        return None
    n = found.get("n_draws")
    return CardNumber("effective draws", count(found["ess"]), f"of {count(n)}" if real(n) else "")


def _islands(record: Mapping[str, Any]) -> CardNumber | None:
    found = record["diagnostics"].get("n_islands")
    if not real(found):
        return None
    return CardNumber("islands", count(found), "independent runs whose disagreement is the error")


def _evidence(record: Mapping[str, Any]) -> CardNumber | None:
    found = record["diagnostics"]
    if not real(found.get("log_evidence")):
        return None
    error = found.get("log_evidence_error")
    beside = f"± {_short(error)} nats" if real(error) else "in nats"
    return CardNumber("log evidence", _short(found["log_evidence"]), beside)


def _short(value: float) -> str:
    """Three digits."""
    if not 5e-4 <= abs(value) < 999.5:
        return number(value)
    return f"{value:#.3g}".rstrip(".").replace("-", "\N{MINUS SIGN}")


def _rows(record: Mapping[str, Any]) -> str:
    n_test = record["summary"].get("n_test")
    return f"of {count(n_test)} test rows" if real(n_test) else "of the test rows"


def _unit(record: Mapping[str, Any], name: str) -> str:
    units = (metric.get("unit") for metric in record["metrics"] if metric["name"] == name)
    found = next(units, None)
    return f" ({found})" if found else ""


Maker = Callable[[Mapping[str, Any]], CardNumber | None]
_NUMBERS: tuple[Maker, ...] = (_coverage, _typical_error, _crps, _error_of_events, _log_density)
_CLASSES: tuple[Maker, ...] = (_accuracy, _log_loss, _calibration_error)
_DRAWS: tuple[Maker, ...] = (_effective_draws, _islands, _evidence)
