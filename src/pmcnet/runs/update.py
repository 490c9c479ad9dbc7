"""A finished run and a table of new rows make another run; the first stays as it is."""

import time
from collections.abc import Mapping
from pathlib import Path
from signal import SIGINT
from typing import Any

from pmcnet.data import TableFile
from pmcnet.errors import InputError, RunFailed, RunInterrupted
from pmcnet.estimators import PMCNetClassifier
from pmcnet.estimators.evaluation.scores import Model, class_labels
from pmcnet.io.files import one_line
from pmcnet.reports.progress import FitProgress
from pmcnet.runs.config import RunSettings, config_text, read_config
from pmcnet.runs.folder import RunFolder, write_text
from pmcnet.runs.known_rows import KnownRows, known_rows
from pmcnet.runs.lock import locked
from pmcnet.runs.outcome import FinishedRun, finish
from pmcnet.runs.prepare import RunRows, prepare
from pmcnet.runs.signals import Stopping

FROM, ROWS = "updated_from", "updated_rows"
"""In [provenance]: the run before, and how many rows have followed the fit."""
_PATIENCE = "stopping after this step; press Ctrl-C again to stop at once."


class _Watch:
    """Shows progress, and stops where a signal has come."""

    def __init__(self, shown: FitProgress, stop: Stopping) -> None:
        self._shown, self._stop = shown, stop

    def stage(self, text: str) -> None:
        """A new part of the work begins."""
        self._shown.stage(text)
        self._stop.check(stepping=False)

    def planned(self, plan: Any, settled: Any) -> None:
        """Nothing is open."""

    def __call__(self, state: Any, info: Any) -> None:
        """One step is done."""
        self._shown(state, info)
        self._stop.check(stepping=True)


def update_run(
    model: Model, run: Path, table: TableFile, out: Path, *, shown: FitProgress
) -> FinishedRun:
    """Update the model of a run and write the folder of another one.

    Args:
        model: of the run; it is changed.
        run: the folder of a finished run.
        table: the new rows, as `data.open_table` gives them.
        out: the folder to make.
        shown: displays progress.
    """
    config = read_config(RunFolder.open(run).config)
    provenance = config.pop("provenance", {})
    prepared = prepare(RunSettings.of(config))
    if provenance.get("data_fingerprint") != prepared.fingerprint:
        raise InputError(
            f"{prepared.settings.data} has changed since {run} was fitted to it, so its rows are "
            "not known. Put that table back, or fit again on all rows."
        )
    new = known_rows(model, run, table)
    if new.fingerprint in (prepared.fingerprint, provenance.get("update_fingerprint")):
        raise InputError(f"{run} has seen the rows of {table.where} already. Give new rows only.")
    _restore(model, prepared)
    folder = RunFolder.create(out)
    with locked(folder.path):
        try:
            return _update(model, run, table, folder, prepared, new, provenance, shown)
        except OSError as error:
            folder.discard()
            raise RunFailed(
                f"{folder.path} could not be written ({error.strerror or one_line(error)}). Make "
                "room, or choose another --out, and update again."
            ) from error
        except BaseException:
            folder.discard()
            raise


def refuse_updated(provenance: Mapping[str, Any]) -> None:
    """Refuse a configuration that does not name all rows of its run."""
    if FROM in provenance:
        raise InputError(
            f"this config is of a run that was updated from {provenance[FROM]}; a fit to its table "
            "would lack the new rows. Give the config of that run, or remove [provenance]."
        )


def _restore(model: Model, prepared: RunRows) -> None:
    """Give the model the rows of its fit, where its file does not hold them."""
    if model.training_rows_ is None:
        second = prepared.second_train
        y = second.response(prepared.y_train)
        model.restore_rows(prepared.x_train, y, **second.arguments)


def _update(
    model: Model,
    run: Path,
    table: TableFile,
    folder: RunFolder,
    prepared: RunRows,
    new: KnownRows,
    provenance: dict[str, Any],
    shown: FitProgress,
) -> FinishedRun:
    """Update, score and write; the configuration comes last, and with it the folder is a run."""
    y = new.second.response(new.y)
    if isinstance(model, PMCNetClassifier):
        y = model.classes_[class_labels(model, new.y).numpy()]
    if new.n_missing:
        shown.stage(f"{new.n_missing} rows of {table.where} have no target and are left out.")
    start = time.monotonic()
    with Stopping(lambda: shown.say(_PATIENCE)) as stop:
        try:
            watch = _Watch(shown, stop)
            model.update_with(new.x, y, observers=(watch,), **new.second.arguments)
            stop.check(stepping=False)
            n_more = provenance.get(ROWS, 0) + len(new.y)
            finished = finish(
                model,
                prepared,
                prepared.settings,
                folder,
                time.monotonic() - start,
                n_more=n_more,
                training_rows=True,
            )
        except KeyboardInterrupt as error:
            raise RunInterrupted(
                f"interrupted; {run} is as it was. Update again.", stop.number or SIGINT
            ) from error
    about = {
        FROM: str(run.resolve()),
        "updated_with": table.place,
        "update_fingerprint": new.fingerprint,
        ROWS: n_more,
    }
    write_text(folder.config, config_text(prepared.settings, provenance | about))
    return finished
