"""An experiment's results in a folder: NAME.json with everything, NAME-*.png with its figures."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pmcnet.estimators.evaluation.figure_data import Record
from pmcnet.io.atomic import write_whole
from pmcnet.reports import figures

Draw = Callable[[Any, Path, Record], Path]


def write_results(record: Record, name: str, folder: Path) -> list[Path]:
    """Write them; the files in the order in which they were written."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    write_whole(path, (json.dumps(record, indent=1, allow_nan=False) + "\n").encode())
    files = [path]
    for kind, (ending, draw) in _FIGURES.items():
        if kind in record["figures"]:
            picture = folder / f"{name}-{ending}.png"
            files.append(draw(record["figures"][kind], picture, record))
    return files


def _roc(curves: Record, path: Path, record: Record) -> Path:
    """Curves of every class of one posterior, or of several posteriors side by side."""
    if len(curves) == 1:
        (only,) = curves.values()
        return figures.roc(only, path, _title(record), _classes(record))
    return figures.roc_grid(curves, path, _title(record))


def _steps(steps: Record, path: Path, record: Record) -> Path:
    return figures.metric_by_step(steps, path, _title(record))


def _histograms(rows: list[Record], path: Path, record: Record) -> Path:
    heading = f"{_title(record)}: predicted probability of the true class"
    return figures.histograms(rows, path, heading, _classes(record))


def _confusion(matrices: Record, path: Path, record: Record) -> Path:
    return figures.confusion(matrices, path, _title(record), _classes(record))


def _errors(errors: Record, path: Path, record: Record) -> Path:
    heading = f"{_title(record)}: squared errors of averaged predictions"
    return figures.squared_errors(errors, path, heading)


def _title(record: Record) -> str:
    return str(record["table"]["title"])


def _classes(record: Record) -> list[str]:
    return list(record.get("classes", ["0", "1"]))


_FIGURES: dict[str, tuple[str, Draw]] = {
    "roc": ("roc", _roc),
    "by_step": ("steps", _steps),
    "histograms": ("histograms", _histograms),
    "confusion": ("confusion", _confusion),
    "squared_errors": ("errors", _errors),
}
