"""One fit and one prediction of one model, in a process of its own.

    python -m pmcnet.competitors.child NAME TASK ROWS.npz FOUND.npz SEED SECONDS

`ROWS.npz` has x_train, y_train, x_test, y_test, categories and levels; what is predicted for y_test
goes to `FOUND.npz`. Fit and prediction together may take so many seconds; then SIGALRM ends the
process. Imports before the fit are not counted.
"""

import signal
import sys
import time
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import cast

import numpy as np

from pmcnet.competitors.base import CompetingModel, Rows
from pmcnet.competitors.registry import COMPETITORS, Task


def main(arguments: list[str]) -> None:
    """Run a model of the registry."""
    name, task, *others = arguments
    model = COMPETITORS[name].model(cast(Task, task))
    if model is None:
        raise ValueError(f"{name} has no model for {task}")
    run(model, *others)


def run(model: CompetingModel, given: str, out: str, seed: str, limit: str) -> None:
    """Fit, predict, and write; an error of the package is one line on standard error.

    Args:
        model: what is fitted.
        given: the file with the rows.
        out: the file to write.
        seed: of the fit.
        limit: seconds.
    """
    warnings.simplefilter("ignore")  # a package's own remarks
    try:
        _run(model, given, out, int(seed), float(limit))
    except Exception as error:
        sys.exit(stated(error))


def _run(model: CompetingModel, given: str, out: str, seed: int, limit: float) -> None:
    with np.load(given, allow_pickle=False) as stored:
        rows = {name: stored[name] for name in stored.files}
    categories = tuple(rows["categories"].tolist())
    model.load()
    signal.setitimer(signal.ITIMER_REAL, limit)
    start = time.perf_counter()
    fitted = model.fit(Rows(rows["x_train"], categories), rows["y_train"], seed)
    between = time.perf_counter()
    found = fitted.predict(Rows(rows["x_test"], categories))
    end, peak = time.perf_counter(), peak_mib()
    signal.setitimer(signal.ITIMER_REAL, 0)
    tested = found.tested(rows["y_test"], rows["levels"])._asdict()
    np.savez(
        out,
        fit_seconds=between - start,
        predict_seconds=end - between,
        peak_mib=np.nan if peak is None else peak,
        versions=", ".join(f"{package} {version(package)}" for package in model.packages),
        note=fitted.note,
        **{name: values for name, values in tested.items() if values is not None},
    )


def peak_mib() -> float | None:
    """VmHWM of this process, None where the system does not say.

    `ru_maxrss` would start from that of the process which started it.
    """
    try:
        fields = Path("/proc/self/status").read_text(encoding="utf-8").split()
        return int(fields[fields.index("VmHWM:") + 1]) / 1024
    except (OSError, ValueError):
        return None


def stated(error: Exception) -> str:
    """An error in a line."""
    first = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


if __name__ == "__main__":
    main(sys.argv[1:])
