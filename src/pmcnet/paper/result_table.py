"""Runs of an experiment as a table: means over seeds, the paper's numbers beside ours."""

import statistics
from collections.abc import Mapping, Sequence

from pmcnet.estimators.evaluation.figure_data import Record
from pmcnet.paper.published import Cells, Published
from pmcnet.reports.published_tables import number

Runs = Mapping[str, Sequence[Record]]
"""Runs of each method, one per seed."""

BASELINES = {
    "adam-mle": "ADAM-MLE",
    "adam-map": "ADAM-MAP",
    "ensemble": "deep ensemble",
    "bbp": "BBP",
    "sgld": "SGLD",
    "psgld": "pSGLD",
    "sghmc": "SGHMC",
    "mc-dropout": "MCDropout",
    "sae": "SAE",
}
"""What tables call the methods that PMCnet is compared with, in their order."""

_SHOWN = {"mse": "MSE", "accuracy": "accuracy", "nll": "NLL", "ece": "ECE", "coverage": "90 %"}


def row(label: str, runs: Sequence[Record], columns: Sequence[str], published: Cells) -> Record:
    """Mean over seeds of the per-draw mean and std, spread over seeds, and the paper's cell."""
    cells = {}
    for name in columns:
        means = [run["per_draw"][name]["mean"] for run in runs]
        cells[name] = {
            "mean": statistics.fmean(means),
            "std": statistics.fmean(run["per_draw"][name]["std"] for run in runs),
            "spread": statistics.stdev(means) if len(means) > 1 else None,
            "paper": list(published[name]) if name in published else None,
        }
    return {"label": label, "cells": cells, "note": _note(runs)}


def method_rows(
    runs: Runs, labels: Mapping[str, str], columns: Sequence[str], published: Published
) -> list[Record]:
    """A row of each method; of BBP also the mean network, which is what the paper reports."""
    rows = []
    for method, found in runs.items():
        known = published.rows.get(method.removesuffix(", equal weights"), {})
        if method == "bbp":
            at_mean = [run["at_mean"] for run in found]
            rows.append(row("BBP, mean network", at_mean, columns, known))
        rows.append(row(labels[method], found, columns, known))
    return rows


def timing(runs: Runs, labels: Mapping[str, str], published: Published) -> list[Record]:
    """Seconds of training and milliseconds per test row, the paper's beside them where given."""
    rows = []
    for method, found in runs.items():
        known = published.seconds.get(method)
        per_row = statistics.fmean(run["milliseconds_per_row"] for run in found)
        rows.append(
            {
                "method": labels[method],
                "fit_seconds": statistics.fmean(run["seconds"] for run in found),
                "milliseconds_per_row": per_row,
                "paper": list(known) if known else None,
            }
        )
    return rows


def _note(runs: Sequence[Record]) -> str:
    """Scores of the averaged prediction, and what the weights are worth."""
    shown = []
    for name, label in _SHOWN.items():
        values = [run["bma"][name] for run in runs if run["bma"].get(name) is not None]
        if values:
            shown.append(f"{label} {number(statistics.fmean(values))}")
    text = f"averaged prediction: {', '.join(shown)}"
    known = [run["diagnostics"] for run in runs if "diagnostics" in run]
    if known:
        ess = [d["ess"] for d in known]
        verdicts = " / ".join(sorted({d["verdict"] for d in known}))
        text += f"; ESS {min(ess):.1f} to {max(ess):.1f} of {known[0]['n_draws']}, {verdicts}"
    return text
