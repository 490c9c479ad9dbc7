"""One run from settings to a finished folder, and going on with one that was interrupted."""

import json
import platform
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pmcnet import __version__, ais
from pmcnet.errors import InputError, RunInterrupted
from pmcnet.estimators.plain import plain
from pmcnet.estimators.planning import Plan, resolve_device
from pmcnet.estimators.showing import Shown
from pmcnet.runs.building import unfitted
from pmcnet.runs.companion import RunCompanion
from pmcnet.runs.folder import RunFolder, read_lines, write_json, write_text
from pmcnet.runs.predicting import predicted_columns, written
from pmcnet.runs.preparing import Prepared, prepare
from pmcnet.runs.record import metrics_record, report_record
from pmcnet.runs.scoring import COVERAGE, Model, Record, Scored, score
from pmcnet.runs.settings import RunSettings, config_text, read_config

_CHOSEN = ("method_reason", "asked_method", "asked_prior_std")  # in [provenance]


class Finished(NamedTuple):
    """The folder of a finished run, its model and its two records."""

    folder: RunFolder
    model: Model
    metrics: Record
    report: Record


def fit_run(settings: RunSettings, out: Path, *, shown: Shown, fingerprint: str | None = None) -> Finished:
    """Read, check, fit, score and write everything.

    Args:
        settings: of the run.
        out: the folder to make.
        shown: displays progress.
        fingerprint: what the data's must be, where the settings came from an earlier run.
    """
    prepared = prepare(settings)
    if fingerprint not in (None, prepared.fingerprint):
        raise InputError(
            f"{settings.data} is not the table that the config was written for: its fingerprint differs. Give that "
            "table, or remove [provenance] from the config to fit this one."
        )
    model = unfitted(prepared.settings, prepared.task)
    folder = RunFolder.create(out)
    try:
        return _run(model, prepared, folder, shown, None, {})
    except RunInterrupted:
        raise
    except BaseException as error:
        if isinstance(error, InputError) or not folder.history.is_file():
            folder.discard()
        raise


def resume_run(path: Path, *, shown: Shown) -> Finished:
    """Go on with a run that was interrupted, from its last checkpoint or from the beginning."""
    folder = RunFolder.open(path)
    if folder.metrics.is_file():
        raise InputError(f"{path} is finished; there is nothing to resume. See `pmcnet diagnose {path}`.")
    config = read_config(folder.config)
    provenance = config.pop("provenance", {})
    settings = RunSettings.of(config)
    prepared = prepare(settings)
    if provenance.get("data_fingerprint") not in (None, prepared.fingerprint):
        raise InputError(f"{settings.data} has changed since the run began, so it cannot go on. Fit again.")
    model, state = unfitted(settings, prepared.task), None
    if folder.checkpoint.is_file():
        state = ais.load_state(folder.checkpoint, resolve_device(settings.device))
        _truncate(folder.history, state.step)
    else:
        folder.history.unlink(missing_ok=True)
    told = {key: provenance[key] for key in _CHOSEN if provenance.get(key)}
    return _run(model, prepared, folder, shown, state, told)


def _truncate(history: Path, n_steps: int) -> None:
    """Keep the lines of the steps that the checkpoint knows."""
    if history.is_file():
        lines = history.read_text(encoding="utf-8").splitlines()[:n_steps]
        write_text(history, "".join(line + "\n" for line in lines))


def _run(
    model: Model,
    prepared: Prepared,
    folder: RunFolder,
    shown: Shown,
    state: ais.State | None,
    told: dict[str, Any],
) -> Finished:
    """Fit, score and write; `told` is what an interrupted run noted of how its method was chosen."""
    asked = prepared.settings
    settled = [asked]

    def when_settled(plan: Plan, prior_std: float) -> None:
        device = resolve_device(asked.device).type
        settled[0] = replace(
            asked, method=plan.name, method_options=dict(vars(plan.options)), prior_std=prior_std, device=device
        )
        write_text(folder.config, config_text(settled[0], _provenance(prepared, plan.reason, asked) | told))

    for remark in prepared.remarks:
        shown.stage(remark)
    write_text(folder.config, config_text(asked, _provenance(prepared, "", asked) | told))
    start = time.monotonic()
    companion = RunCompanion(folder, shown, when_settled, state)
    model._companion = companion
    try:
        model.fit(prepared.x_train, prepared.y_train)
        seconds = time.monotonic() - start
        companion.save()
        model.method_reason_ = told.get("method_reason", model.method_reason_)
        if state is not None:
            model.history_ = read_lines(folder.history)
        return _finish(model, prepared, settled[0], folder, seconds)
    except KeyboardInterrupt as error:
        saved = "A checkpoint was saved" if companion.save() else "The settings were saved"
        raise RunInterrupted(f"interrupted. {saved}; go on with: pmcnet resume {folder.path}") from error
    finally:
        model._companion = None


def _finish(model: Model, prepared: Prepared, settings: RunSettings, folder: RunFolder, seconds: float) -> Finished:
    """Score, and write everything that a finished run has."""
    from pmcnet.reports.page import write_report

    scored: Scored | None = None
    if len(prepared.y_test):
        scored = score(model, prepared.x_test, prepared.y_test, n_passes=settings.n_passes, seed=settings.seed)
        _write_predictions(model, prepared, folder.predictions)
    model.save(folder.model)
    metrics = metrics_record(model, scored, n_test=len(prepared.y_test), fit_seconds=seconds)
    rows = (prepared.test_rows + 1).tolist()
    report = report_record(model, settings, metrics, scored, n_train=len(prepared.y_train), rows=rows)
    write_text(folder.history, "".join(json.dumps(plain(line)) + "\n" for line in model.history_))
    write_json(folder.report_data, report)
    write_report(report, folder.report)
    write_json(folder.metrics, metrics)
    return Finished(folder, model, metrics, report)


def _write_predictions(model: Model, prepared: Prepared, path: Path) -> None:
    from pandas import DataFrame  # type: ignore[import-untyped]

    added = predicted_columns(model, prepared.x_test, coverage=COVERAGE)
    table = DataFrame({"row": prepared.test_rows + 1, "truth": prepared.y_test, **written(added)})
    write_text(path, table.to_csv(index=False, lineterminator="\n"))


def _provenance(prepared: Prepared, reason: str, asked: RunSettings) -> dict[str, Any]:
    import sklearn  # type: ignore[import-untyped]
    import torch

    return {
        "data_fingerprint": prepared.fingerprint,
        "task": prepared.task,
        "method_reason": reason,
        "asked_method": asked.method,
        "asked_prior_std": asked.prior_std,
        "pmcnet": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
    }
