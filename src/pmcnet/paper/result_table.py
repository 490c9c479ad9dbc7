"""Runs of an experiment into the rows of its table: averages over seeds, the paper's number beside each."""

import statistics
from collections.abc import Mapping, Sequence

from pmcnet.reports.tables import number
from pmcnet.runs.figure_data import Record

Paper = Mapping[str, tuple[float, float]]


def row(label: str, runs: Sequence[Record], columns: Sequence[str], published: Paper) -> Record:
    """Mean over seeds of the per-draw mean and std, the spread of the means over seeds, and the paper's cell."""
    cells = {}
    for name in columns:
        means = [run["per_draw"][name]["mean"] for run in runs]
        cells[name] = {
            "mean": statistics.fmean(means),
            "std": statistics.fmean(run["per_draw"][name]["std"] for run in runs),
            "spread": statistics.stdev(means) if len(means) > 1 else None,
            "paper": list(published[name]) if name in published else None,
        }
    return {"label": label, "cells": cells, "note": note(runs)}


def note(runs: Sequence[Record]) -> str:
    """What the weights are worth and what the averaged prediction scores."""
    shown = []
    for name, label in (
        ("mse", "MSE"),
        ("accuracy", "accuracy"),
        ("nll", "NLL"),
        ("ece", "ECE"),
        ("coverage", "90 %"),
    ):
        values = [run["bma"][name] for run in runs if run["bma"].get(name) is not None]
        if values:
            shown.append(f"{label} {number(statistics.fmean(values))}")
    text = f"averaged prediction: {', '.join(shown)}"
    known = [run["diagnostics"] for run in runs if "diagnostics" in run]
    if known:
        ess = [d["ess"] for d in known]
        verdicts = sorted({d["verdict"] for d in known})
        text += f"; ESS {min(ess):.1f} to {max(ess):.1f} of {known[0]['n_draws']}, {' / '.join(verdicts)}"
    return text
