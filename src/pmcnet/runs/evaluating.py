"""A finished model on a table whose truth is known."""

from pathlib import Path

from pmcnet import data
from pmcnet.errors import InputError
from pmcnet.estimators import PMCNetClassifier
from pmcnet.runs.folder import RunFolder
from pmcnet.runs.predicting import selected
from pmcnet.runs.record import metrics_record
from pmcnet.runs.scoring import Model, Record, score
from pmcnet.runs.settings import read_config


def evaluate_file(model: Model, run: Path, source: str, *, target: str | None, n_passes: int, seed: int) -> Record:
    """Metrics as `metrics.json` has them.

    Args:
        model: of the run.
        run: the run's folder, which knows the target.
        source: a file or the name of a built-in dataset.
        target: the column with the truth, if other than the run's.
        n_passes: draws behind the credible intervals.
        seed: of those draws.
    """
    folder = RunFolder(run)
    if target is None and folder.config.is_file():
        target = read_config(folder.config).get("target")
    frame = data.read_frame(source)
    if not target or target not in frame.columns:
        raise InputError(f"{source} has no target column {target!r}; name it with --target.")
    truth = frame[target]
    if truth.isna().any():
        raise InputError(f"the target {target!r} is missing in {int(truth.isna().sum())} rows. Drop those rows.")
    values = truth.to_numpy()
    if not isinstance(model, PMCNetClassifier) and values.dtype.kind not in "biuf":
        raise InputError(f"the target {target!r} holds texts, but the model predicts numbers.")
    scored = score(model, selected(model, frame), values, n_passes=n_passes, seed=seed)
    return metrics_record(model, scored, n_test=len(frame), fit_seconds=None)
