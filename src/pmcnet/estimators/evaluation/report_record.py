"""The JSON of a fitted model: its metrics for machines, and the record that the page shows."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from pmcnet import __version__
from pmcnet.bnn import MLP
from pmcnet.estimators.classifier import PMCNetClassifier
from pmcnet.estimators.evaluation.calibrated_scores import COVERAGE_LABELS, SIZES
from pmcnet.estimators.evaluation.figure_data import diagnostics, verdict_record
from pmcnet.estimators.evaluation.scores import BETTER_LOWER, Model, Record, Scores
from pmcnet.io.plain import plain

LABELS = COVERAGE_LABELS | {
    "nll": "negative log-likelihood",
    "auc": "area under the ROC curve",
    "ece": "expected calibration error",
    "brier": "Brier score",
    "rmse": "root mean squared error",
    "mse": "mean squared error",
    "mae": "mean absolute error",
    "r2": "R squared",
    "crps": "CRPS",
    "f1": "F1",
    "mse_observed": "mean squared error of observed events",
    "rmse_observed": "root mean squared error of observed events",
    "mae_observed": "mean absolute error of observed events",
}
UNITS = {"nll": "nats"}
_SHOWN = (
    "n_draws",
    "ess",
    "khat",
    "log_evidence",
    "log_evidence_error",
    "n_islands",
    "quantity",
    "error",
    "error_upper",
    "std_error",
    "rhat",
    "evidence",
)


def metrics_record(
    model: Model, scored: Scores | None, *, n_test: int, fit_seconds: float | None
) -> Record:
    """`metrics.json`."""
    return {
        "task": "classification" if isinstance(model, PMCNetClassifier) else "regression",
        "method": model.method_,
        "n_test": n_test,
        "bma": scored.bma if scored else {},
        "per_draw": plain(scored.per_draw) if scored else {},
        "base_rate": base_rate(model, scored),
        "diagnostics": diagnostics(model.posterior_),
        "seconds": {"fit": fit_seconds, "predict": scored.seconds if scored else None},
        **_update(model),
    }


def base_rate(model: Model, scored: Scores | None) -> Record | None:
    """The commonest class of the test rows, and how often always saying it would be right."""
    if scored is None or not isinstance(model, PMCNetClassifier):
        return None
    counts = np.sum(scored.figures["confusion"], axis=1)  # (C,)
    commonest = int(counts.argmax())
    accuracy = float(counts[commonest] / counts.sum())
    return {"class": str(model.classes_[commonest]), "accuracy": accuracy}


class Source(NamedTuple):
    """What the page says of the data of a fit.

    Args:
        data: name of the table.
        target: name of what is predicted.
        n_train: training rows, None where unknown.
        rows: where each test row is in the table.
        settings: of the fit, by name.
    """

    data: str
    target: str
    n_train: int | None
    rows: Sequence[int]
    settings: Mapping[str, Any]


def report_record(
    model: Model, source: Source, metrics: Mapping[str, Any], scored: Scores | None
) -> Record:
    """What the page is drawn from.

    Args:
        model: fitted.
        source: of its rows.
        metrics: as `metrics_record` made them.
        scored: of the test rows, if there are any.
    """
    classes = (
        [str(name) for name in model.classes_] if isinstance(model, PMCNetClassifier) else None
    )
    task = "regression" if classes is None else "binary" if len(classes) == 2 else "multiclass"
    network = model.posterior_.network
    sizes = (
        "-".join(map(str, network.sizes)) + f", {network.activation}"
        if isinstance(network, MLP)
        else "own module"
    )
    figures = dict(scored.figures) if scored else {}
    for name in ("histograms", "scatter", "uncertain"):
        if name in figures:
            figures[name] = [
                entry | {"row": int(source.rows[entry["row"]])} for entry in figures[name]
            ]
    return {
        "format": 1,
        "title": f"{source.data}: {source.target}",
        "task": task,
        "target": source.target,
        "classes": classes,
        "verdict": verdict_record(model.verdict_),
        "summary": {
            "n_train": source.n_train,
            "n_test": metrics["n_test"],
            "base_rate": metrics.get("base_rate"),
            "n_features": model.n_features_in_,
            "method": model.method_,
            "method_options": plain(dict(model.method_options_)),
            "method_reason": model.method_reason_,
            "network": sizes,
            "model": model.formulation_.described,
            "calibration": _calibration(model),
            "formulation_reason": model.formulation_reason_,
            "fit_seconds": metrics["seconds"]["fit"],
            "predict_seconds": metrics["seconds"]["predict"],
            "version": __version__,
            "data": source.data,
        },
        "metrics": [
            metric_entry(name, value, metrics["per_draw"].get(name))
            for name, value in metrics["bma"].items()
        ],
        "diagnostics": {key: metrics["diagnostics"][key] for key in _SHOWN},
        "history": per_step(model.history_),
        "model_choice": plain(model.comparisons_),
        "columns": model.columns_,
        **_update(model),
        "settings": plain(dict(source.settings)),
        **plain(figures),
    }


def _calibration(model: Model) -> str | None:
    """What the page says of calibrated intervals or sets."""
    if model.calibration_ is None:
        return None
    what = "sets of classes" if isinstance(model, PMCNetClassifier) else "intervals"
    return f"conformal {what}, by {model.calibration_.n_rows} training rows held out"


def _update(model: Model) -> Record:
    """What the latest update was, where there was one."""
    return {} if model.update_ is None else {"update": plain(model.update_._asdict())}


def metric_entry(name: str, value: float | None, per_draw: Mapping[str, Any] | None) -> Record:
    """One metric as the page shows it."""
    entry: Record = {
        "name": name,
        "label": LABELS.get(name, name),
        "value": value,
        "per_draw": per_draw,
        "better": _better(name),
    }
    return entry | ({"unit": UNITS[name]} if name in UNITS else {})


def _better(name: str) -> str:
    """Which values of a metric are; coverage is right near its level."""
    if found := re.search(r"coverage(\d+)$", name):
        return f"near {found[1]} %"
    return "lower" if name in BETTER_LOWER + SIZES else "higher"


def per_step(history: list[dict[str, Any]]) -> list[Record]:
    """The history with the seconds of each step rather than since the beginning."""
    steps, before = [], 0.0
    for i, record in enumerate(history):
        seconds = record.get("seconds") or 0.0
        resumed = seconds < before  # the clock of a resumed run starts again
        own = seconds if resumed else seconds - before
        steps.append(plain({"step": i + 1, **record, "seconds": own}))
        before = seconds
    return steps
