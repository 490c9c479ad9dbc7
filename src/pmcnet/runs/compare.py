"""Several methods on the same rows: a run for each of ours, and one table and page of them all."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from pmcnet.competitors import COMPETITORS
from pmcnet.errors import InputError
from pmcnet.estimators.evaluation.scores import Record
from pmcnet.methods.registry import METHODS
from pmcnet.methods.settings import Settings
from pmcnet.reports.page import write_report
from pmcnet.reports.progress import FitProgress
from pmcnet.runs.compared_names import LIMIT
from pmcnet.runs.compared_rows import given_rows, predicted_by, truth_of
from pmcnet.runs.competitor_runs import Outcome, competitor_outcome
from pmcnet.runs.config import RunSettings
from pmcnet.runs.estimator import unfitted
from pmcnet.runs.fit import fit_run
from pmcnet.runs.folder import RunFolder, write_json
from pmcnet.runs.outcome import FinishedRun
from pmcnet.runs.prepare import RunRows, prepare
from pmcnet.runs.recommendation import Standing, recommendation
from pmcnet.runs.settings_search import Tune, TunedSettings, tuned, tuning_record, validation_of
from pmcnet.runs.significance import best_in

COMMON = ("crps", "pinball", "width90")
"""Metrics that a comparison finds in the same way for all methods, from quantiles."""


class Comparison(NamedTuple):
    """The folder, one entry per method as `comparison.json` has it, the page, and the advice."""

    folder: Path
    entries: list[Record]
    report: Path
    recommendation: str


def compare_runs(
    settings: RunSettings,
    methods: Sequence[str],
    out: Path,
    *,
    shown: FitProgress,
    tune: Tune = "validation",
    limit: float = LIMIT,
    remarks: Sequence[str] = (),
) -> Comparison:
    """Fit each method on the same training rows and score it on the same test rows.

    The page is that of the first of our methods, with the comparison added.

    Args:
        settings: of every run, but for the method.
        methods: names of ours, at least one, and of competitors.
        out: the folder to make; each run of ours lies in it.
        shown: displays progress.
        tune: "validation" chooses the settings of each method that has a grid on validation rows;
            "none" takes its defaults. Competitors have settings of their own.
        limit: seconds that a competitor may take.
        remarks: shown before the first fit.
    """
    prepared = prepare(settings)
    read_again = replace(prepared.settings, data=settings.data)  # a URL, its password included
    each = {name: _own(read_again, name) for name in methods if name not in COMPETITORS}
    others = [name for name in methods if name in COMPETITORS]
    for own in each.values():
        unfitted(own, prepared.task)
    if others and not len(prepared.y_test):
        raise InputError(
            f"{', '.join(others)} can only be compared on test rows, and test_share keeps none. "
            "Use --test-share 0.2."
        )
    searched = [name for name in each if tune == "validation" and _settings(name).grid]
    rows = validation_of(prepared) if searched else prepared
    folder = RunFolder.create(out)
    for remark in remarks:
        shown.stage(remark)
    finished: list[FinishedRun] = []
    entries: list[Record] = []
    advice = ""
    try:
        for name, own in each.items():
            shown.stage(f"{name}:")
            found = tuned(own, rows, shown=shown) if name in searched else None
            chosen = found.settings if found else own
            same = prepared.fingerprint
            finished.append(fit_run(chosen, out / name, shown=shown, fingerprint=same))
            entries.append(_entry(finished[-1], found))
        if len(prepared.y_test):
            entries, advice = _contest(finished, entries, others, prepared, shown, limit)
    except (InputError, KeyboardInterrupt) as error:
        if isinstance(error, InputError) or not finished:
            folder.discard()
        raise
    compared = {"comparison": entries, "recommendation": advice}
    record = {"data": prepared.settings.data, "methods": entries, "recommendation": advice}
    write_json(out / "comparison.json", record)
    page = write_report(finished[0].report | compared, out / "report.html")
    return Comparison(out, entries, page, advice)


def _contest(
    finished: Sequence[FinishedRun],
    entries: Sequence[Record],
    others: Sequence[str],
    prepared: RunRows,
    shown: FitProgress,
    limit: float,
) -> tuple[list[Record], str]:
    """All methods on the test rows: entries with ties and figures, and which to use."""
    first = finished[0].model
    truth = truth_of(first, prepared)
    outcomes = []
    for entry, run in zip(entries, finished, strict=True):
        rows = predicted_by(run.model, prepared)
        outcomes.append(Outcome(_with_scores(entry, run, truth.metrics(rows), prepared), rows))
    given = given_rows(first, prepared) if others else {}
    for name in others:
        shown.stage(f"{name}:")
        outcomes.append(competitor_outcome(name, prepared, given, truth, limit=limit))
        shown.stage(outcomes[-1].remark)
    there = [one for one in outcomes if one.rows is not None]
    predicted = [one.rows for one in there if one.rows is not None]
    n_rows, seed = len(prepared.y_test), prepared.settings.seed
    standings: list[Standing] = []
    marks = best_in(predicted, truth, n_rows, seed=seed)
    for one, rows, best in zip(there, predicted, marks, strict=True):
        entry = one.entry
        entry["best"] = [name for name in best if entry["metrics"].get(name) is not None]
        entry |= truth.figures(rows)
        standings.append(
            Standing(
                entry["method"],
                "library" not in entry,
                entry["verdict"],
                truth.losses(rows),
                entry["metrics"].get("coverage90"),
                entry["seconds"],
            )
        )
    return [one.entry for one in outcomes], recommendation(standings, n_rows)


def _settings(name: str) -> Settings:
    """Of one of our methods; "auto" may still come to mean another than the annealed one."""
    return METHODS["annealed" if name == "auto" else name]


def _own(settings: RunSettings, name: str) -> RunSettings:
    """The settings of one method; evidence chooses the prior only where the method has one."""
    search = _settings(name).method(name).prior_search
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


def _with_scores(
    entry: Record, run: FinishedRun, scores: Mapping[str, float | None], prepared: RunRows
) -> Record:
    """What all methods are scored by, and the time that a test row takes."""
    common = {name: scores[name] for name in COMMON if name in scores}
    predicting = run.metrics["seconds"]["predict"]
    return entry | {
        "metrics": entry["metrics"] | common,
        "milliseconds_per_row": 1e3 * predicting / len(prepared.y_test),
        "peak_mib": None,
    }
