"""What a model predicts for test rows, and what that takes: measured in a child process."""

import math
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pmcnet.competitors.base import LEVELS, Array, RowPredictions, Rows
from pmcnet.competitors.registry import Task
from pmcnet.errors import CompetitorFailed

SOURCE = Path(__file__).parents[2]
"""The folder that holds the package, for interpreters that do not have it installed."""
_LONGEST = 200
"""Letters of a reason, at most."""


class SplitRows(NamedTuple):
    """Training rows, test rows, and their targets: numbers, or places of classes."""

    x_train: Rows
    y_train: Array
    x_test: Rows
    y_test: Array


class Measurement(NamedTuple):
    """What was predicted; seconds, the peak of resident memory, imports included; versions."""

    rows: RowPredictions
    fit_seconds: float
    predict_seconds: float
    peak_mib: float | None
    versions: str
    note: str


def measured(name: str, task: Task, given: SplitRows, *, seed: int, limit: float) -> Measurement:
    """Fit a competitor of the registry in this interpreter, and predict the test rows.

    Raises:
        CompetitorFailed: if it did not come to a prediction within so many seconds.
    """
    command = [sys.executable, "-m", "pmcnet.competitors.child", name, task]
    return measured_by(command, given, seed=seed, limit=limit)


def measured_by(
    command: Sequence[str | Path],
    given: SplitRows,
    *,
    seed: int,
    limit: float,
    levels: Array = LEVELS,
) -> Measurement:
    """The same by a command that takes ROWS.npz FOUND.npz SEED SECONDS, and does as `child`."""
    with tempfile.TemporaryDirectory() as folder:
        rows, out, log = (Path(folder) / name for name in ("rows.npz", "found.npz", "log.txt"))
        np.savez(
            rows,
            x_train=given.x_train.values,
            y_train=given.y_train,
            x_test=given.x_test.values,
            y_test=given.y_test,
            categories=np.array(given.x_train.categories, dtype=np.int64),
            levels=levels,
        )
        full = [str(part) for part in (*command, rows, out, seed, limit)]
        with log.open("wb") as file:
            status = subprocess.run(
                full, stdin=subprocess.DEVNULL, stdout=file, stderr=file, env=_environment()
            ).returncode
        if status:
            raise CompetitorFailed(_reason(status, limit, log))
        with np.load(out, allow_pickle=False) as found:
            return _checked(found)


def _environment() -> dict[str, str]:
    """This process's, in which the package can be imported.

    Threads of OpenMP sleep while they wait: on a busy machine those that spin take hundreds of
    times longer.
    """
    path = os.environ.get("PYTHONPATH")
    found = os.pathsep.join([str(SOURCE), *([path] if path else [])])
    return {"OMP_WAIT_POLICY": "PASSIVE", **os.environ, "PYTHONPATH": found}


def _reason(status: int, limit: float, log: Path) -> str:
    """Why a process ended that should not have: the last line that it wrote, if any."""
    if status == -getattr(signal, "SIGALRM", 0):
        return f"fit and prediction took more than {limit:g} s"
    text = log.read_text(encoding="utf-8", errors="replace")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if lines:
        return "".join(letter for letter in lines[-1] if letter.isprintable())[:_LONGEST]
    return f"its process ended with status {status}"


def _checked(found: Mapping[str, Array]) -> Measurement:
    """What a child has written; predictions that are no numbers are refused."""
    parts = {name: found[name] for name in RowPredictions._fields if name in found}
    for name, values in parts.items():
        if np.isnan(values).any() or (name != "log_density" and not np.isfinite(values).all()):
            raise CompetitorFailed(f"its prediction is not finite: {name.replace('_', ' ')}")
    peak = float(found["peak_mib"])
    return Measurement(
        RowPredictions(**parts),
        float(found["fit_seconds"]),
        float(found["predict_seconds"]),
        peak if math.isfinite(peak) else None,
        str(found["versions"]),
        str(found["note"]),
    )
