"""One run from settings to a finished folder, and going on with one that was interrupted."""

import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from signal import SIGINT
from typing import Any, NamedTuple

import numpy as np

from pmcnet import __version__, ais
from pmcnet.errors import InputError, ProcessLostError, RunFailed, RunInterrupted
from pmcnet.estimators.evaluation.scores import Model, Record
from pmcnet.estimators.observer import Settled
from pmcnet.estimators.plan import Plan, resolve_device
from pmcnet.io.files import one_line
from pmcnet.reports.progress import FitProgress
from pmcnet.runs.checkpoints import Problem
from pmcnet.runs.config import RunSettings, config_text, read_config
from pmcnet.runs.estimator import method_of, unfitted
from pmcnet.runs.folder import RunFolder, first_lines, lines_text, write_text
from pmcnet.runs.identity import problem
from pmcnet.runs.lock import locked
from pmcnet.runs.outcome import FinishedRun, finish
from pmcnet.runs.prepare import RunRows, prepare
from pmcnet.runs.processes import share_rows, share_settings
from pmcnet.runs.run_observer import RunObserver
from pmcnet.runs.signals import Stopping

PATIENCE = "stopping after this step; press Ctrl-C again to stop at once."
_REASONS = ("method_reason", "formulation_reason")
_CHOSEN = (
    *_REASONS,
    "asked_method",
    "asked_prior_std",
    "asked_likelihood",
    "asked_noise",
)  # in [provenance]


class _Progress(NamedTuple):
    """How far a run is: why its method was chosen, a state, lines of the history, a remark."""

    provenance: dict[str, Any]
    state: Any = None
    lines: tuple[Record, ...] = ()
    remark: str = ""


def fit_run(
    settings: RunSettings,
    out: Path,
    *,
    shown: FitProgress,
    fingerprint: str | None = None,
    comm: ais.Communicator = ais.SERIAL,
) -> FinishedRun:
    """Read, check, fit, score and write everything.

    Args:
        settings: of the run.
        out: the folder to make.
        shown: displays progress.
        fingerprint: what the data's must be, where the settings came from an earlier run.
        comm: processes that share the run; the others call `processes.follow`.
    """
    share_settings(comm, "")
    prepared = prepare(settings)
    if fingerprint not in (None, prepared.fingerprint):
        raise InputError(
            f"{prepared.settings.data} is not the table that was read before: its fingerprint "
            "differs. Give that table (a query needs ORDER BY), or remove [provenance] from the "
            "config to fit this one."
        )
    model = unfitted(prepared.settings, prepared.task)
    folder = RunFolder.create(out)
    with locked(folder.path):
        RunFolder.create(out)  # again: another process may have been faster
        try:
            with _writing(folder):
                share_rows(comm, prepared, None)
                return _run(model, prepared, folder, shown, _Progress({}), comm)
        except RunInterrupted:
            raise
        except RunFailed:
            if not folder.config.is_file():
                folder.discard()
            raise
        except BaseException as error:
            if isinstance(error, InputError) or not (
                folder.history.is_file() or folder.checkpoints.exist()
            ):
                folder.discard()
            raise


def resume_run(
    path: Path, *, shown: FitProgress, comm: ais.Communicator = ais.SERIAL
) -> FinishedRun:
    """Go on with a run that was interrupted, from its last checkpoint or from the beginning."""
    folder = RunFolder.open(path)
    if folder.metrics.is_file():
        raise InputError(
            f"{path} is finished; there is nothing to resume. See `pmcnet diagnose {path}`."
        )
    with _writing(folder), locked(path):
        config = read_config(folder.config)
        provenance = config.pop("provenance", {})
        settings = RunSettings.of(config)
        share_settings(comm, folder.config.read_text(encoding="utf-8"))
        prepared = prepare(settings)
        if provenance.get("data_fingerprint") not in (None, prepared.fingerprint):
            raise InputError(
                f"{settings.data} has changed since the run began, so it cannot go on. Fit again."
            )
        model = unfitted(settings, prepared.task)
        found = folder.checkpoints.load(
            problem(prepared, settings),
            method_of(settings).state_types,
            resolve_device(settings.device),
        )
        begun = _Progress({key: provenance[key] for key in _CHOSEN if provenance.get(key)})
        if found is not None:
            lines = tuple(first_lines(folder.history, found.state.step))
            begun = begun._replace(state=found.state, lines=lines, remark=found.remark)
        share_rows(comm, prepared, found.path if found else None)
        folder.clear()
        if begun.lines:  # at no moment may the file lack a step that the checkpoint knows
            write_text(folder.history, lines_text(begun.lines))
        else:
            folder.history.unlink(missing_ok=True)
        return _run(model, prepared, folder, shown, begun, comm)


@contextmanager
def _writing(folder: RunFolder) -> Iterator[None]:
    """Errors of the file system as sentences that say how to go on."""
    try:
        yield
    except OSError as error:
        raise RunFailed(_stuck(folder, error)) from error


def _stuck(folder: RunFolder, error: OSError) -> str:
    why = error.strerror or one_line(error)
    if not folder.path.is_dir():
        return (
            f"{folder.path} is gone: it was moved or removed while the run wrote to it. Put it "
            "back, or fit again."
        )
    if not folder.config.is_file():
        return (
            f"{folder.path} cannot be written to ({why}). Make room, or choose another --out, and "
            "fit again."
        )
    what = error.filename or folder.path
    return (
        f"{what} could not be written ({why}), so the run has stopped. Make room there, or give "
        f"back the right to write, and go on with: pmcnet resume {folder.path}"
    )


def _run(
    model: Model,
    prepared: RunRows,
    folder: RunFolder,
    shown: FitProgress,
    begun: _Progress,
    comm: ais.Communicator,
) -> FinishedRun:
    """Fit, score and write."""
    asked = prepared.settings
    settled = [asked]

    def settle(plan: Plan, found: Settled | None) -> Problem:
        device = resolve_device(asked.device).type
        settled[0] = replace(asked, device=device)
        if found is not None or plan.chains is None:  # else the evidence decides
            options = dict(vars(plan.options))
            settled[0] = replace(settled[0], method=plan.name, method_options=options)
        reasons = {"method_reason": plan.reason}
        if found is not None:
            settled[0] = replace(settled[0], **found.formulation._asdict())
            reasons["formulation_reason"] = found.reason
        write_text(
            folder.config,
            config_text(settled[0], _provenance(prepared, asked) | reasons | begun.provenance),
        )
        return problem(prepared, settled[0], with_formulation=found is not None)

    shown.stage(prepared.described)
    for remark in (*prepared.remarks, *([begun.remark] if begun.remark else [])):
        shown.stage(remark)
    write_text(folder.config, config_text(asked, _provenance(prepared, asked) | begun.provenance))
    start = time.monotonic()
    with Stopping(lambda: shown.say(PATIENCE)) as stop:
        observer = RunObserver(folder, stop, settle, begun.lines)
        try:
            model.fit_with(
                prepared.x_train,
                prepared.second_train.response(prepared.y_train),
                state=begun.state,
                observers=(shown, observer),
                comm=comm,
                **prepared.second_train.arguments,
            )
            seconds = observer.before + time.monotonic() - start
            observer.save()
            stop.check(stepping=False)
            for name in _REASONS:
                setattr(model, f"{name}_", begun.provenance.get(name, getattr(model, f"{name}_")))
            if begun.lines:
                model.history_ = observer.lines
            if model.reference_rows_ is not None:
                numbers = prepared.train_rows + 1
                model.reference_rows_ = model.reference_rows_.numbered(numbers)
            return finish(model, prepared, settled[0], folder, seconds)
        except KeyboardInterrupt as error:
            if not stop.at_once:
                observer.save()
            kept = (
                "A checkpoint was saved"
                if folder.checkpoints.exist()
                else "The settings were saved"
            )
            text = f"interrupted. {kept}; go on with: pmcnet resume {folder.path}"
            raise RunInterrupted(text, stop.number or SIGINT) from error
        except ProcessLostError as error:
            observer.save()
            raise RunFailed(f"{error} Go on with: pmcnet resume {folder.path}") from error


def _provenance(prepared: RunRows, asked: RunSettings) -> dict[str, Any]:
    import sklearn  # type: ignore[import-untyped]
    import torch

    return {
        "data_fingerprint": prepared.fingerprint,
        "table": prepared.described,
        "task": prepared.task,
        "asked_method": asked.method,
        "asked_prior_std": asked.prior_std,
        "asked_likelihood": asked.likelihood,
        "asked_noise": asked.noise,
        "pmcnet": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
    }
