"""Several methods on the same rows: a run for each, and one table and page of them all."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from pmcnet.errors import InputError
from pmcnet.estimators import PMCNetRegressor
from pmcnet.methods.registry import METHODS, check_name, names_at_hand
from pmcnet.reports.page import write_report
from pmcnet.reports.progress import FitProgress
from pmcnet.runs.config import RunSettings
from pmcnet.runs.estimator import unfitted
from pmcnet.runs.figure_data import roc_bands
from pmcnet.runs.fit import fit_run
from pmcnet.runs.folder import RunFolder, write_json
from pmcnet.runs.outcome import FinishedRun
from pmcnet.runs.prepare import RunRows, prepare
from pmcnet.runs.scores import Record, class_labels
from pmcnet.runs.settings_search import Tune, TunedSettings, tuned, tuning_record, validation_of
from pmcnet.runs.significance import best_in

MOST_ERRORS = 500
"""Test rows, at most, whose squared errors the page shows."""


class Comparison(NamedTuple):
    """The folder, one entry per method as `comparison.json` has it, and the page."""

    folder: Path
    entries: list[Record]
    report: Path


def method_names(text: str) -> list[str]:
    """Names from a list with commas; "all" is every method whose library is there."""
    names = (
        names_at_hand()
        if text == "all"
        else [name.strip() for name in text.split(",") if name.strip()]
    )
    if not names:
        raise InputError("--methods must name at least one method, or be all.")
    for name in names:
        check_name(name)
    return list(dict.fromkeys(names))


def compare_runs(
    settings: RunSettings,
    methods: Sequence[str],
    out: Path,
    *,
    shown: FitProgress,
    tune: Tune = "validation",
) -> Comparison:
    """Fit each method on the same training rows and score it on the same test rows.

    The page is that of the first method, with the comparison added.

    Args:
        settings: of every run, but for the method.
        methods: names.
        out: the folder to make; each method's run lies in it.
        shown: displays progress.
        tune: "validation" chooses the settings of each method that has a grid on validation rows;
            "none" takes its defaults.
    """
    prepared = prepare(settings)
    each = {name: _own(prepared.settings, name) for name in methods}
    for own in each.values():
        unfitted(own, prepared.task)
    searched = [name for name in each if tune == "validation" and METHODS[name].grid]
    rows = validation_of(prepared) if searched else prepared
    folder = RunFolder.create(out)
    finished: list[FinishedRun] = []
    entries: list[Record] = []
    try:
        for name, own in each.items():
            shown.stage(f"{name}:")
            found = tuned(own, rows, shown=shown) if name in searched else None
            finished.append(fit_run(found.settings if found else own, out / name, shown=shown))
            entries.append(_entry(finished[-1], found))
    except (InputError, KeyboardInterrupt) as error:
        if isinstance(error, InputError) or not finished:
            folder.discard()
        raise
    if len(prepared.y_test):
        best = best_in(
            [run.model for run in finished],
            prepared.x_test,
            prepared.y_test,
            prepared.second_test,
            seed=settings.seed,
        )
        for entry, names, run in zip(entries, best, finished, strict=True):
            entry |= {
                "best": [name for name in names if name in entry["metrics"]],
                **_figures(run, prepared),
            }
    write_json(out / "comparison.json", {"data": settings.data, "methods": entries})
    page = write_report({**finished[0].report, "comparison": entries}, out / "report.html")
    return Comparison(out, entries, page)


def _own(settings: RunSettings, name: str) -> RunSettings:
    """The settings of one method; evidence chooses the prior only where the method has one."""
    search = METHODS[name].method(name).prior_search
    refused = settings.prior_std == "evidence" and search != "evidence"
    return replace(
        settings,
        method=name,
        method_options={},
        prior_std="auto" if refused else settings.prior_std,
    )


def _entry(run: FinishedRun, found: TunedSettings | None) -> Record:
    """One method: `seconds` are those of the fit without the search for its settings."""
    diagnostics = run.metrics["diagnostics"]
    return {
        "method": run.model.method_,
        "verdict": diagnostics["verdict"],
        "metrics": run.metrics["bma"],
        "per_draw": {
            name: {"mean": v["mean"], "std": v["std"]}
            for name, v in run.metrics["per_draw"].items()
        },
        "ess": diagnostics["ess"],
        "seconds": run.metrics["seconds"]["fit"] - run.model.prior_seconds_,
        **tuning_record(run.model, found),
    }


def _figures(run: FinishedRun, prepared: RunRows) -> Record:
    """What the page shows of a method beside the others, and the time that a test row takes."""
    predicting = run.metrics["seconds"]["predict"]
    found: Record = {"milliseconds_per_row": 1e3 * predicting / len(prepared.y_test)}
    if isinstance(run.model, PMCNetRegressor):
        second = prepared.second_test
        error = run.model.predict(prepared.x_test, **second.arguments) - prepared.y_test
        known = error[second.observed(len(error))]
        return found | {"squared_errors": np.square(known)[:MOST_ERRORS].tolist()}
    found["confusion"] = run.report["confusion"]
    if run.report["task"] == "binary":
        average = torch.as_tensor(run.model.predict_proba(prepared.x_test))
        curves = roc_bands(average[None], class_labels(run.model, prepared.y_test))
        found["roc"] = next(
            ({key: c[key] for key in ("grid", "mean")} for c in curves if c["class"] == 1), None
        )
    return found
