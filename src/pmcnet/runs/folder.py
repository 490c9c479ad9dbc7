"""The folder of a run: what lies where, and files that are written whole or not at all."""

import json
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pmcnet.data.csv_injection import guarded_csv
from pmcnet.errors import InputError
from pmcnet.io.atomic import write_whole
from pmcnet.io.files import leads_inside, one_line, parse_json, read_file
from pmcnet.io.plain import plain
from pmcnet.runs.checkpoints import Checkpoints
from pmcnet.runs.lock import NAME as LOCK

CONFIG = "config.toml"
MOST_JSON = 1 << 27
"""Bytes of a run's JSON beyond which it is refused unread."""


@dataclass(frozen=True)
class RunFolder:
    """Paths of a run's files."""

    path: Path
    made: tuple[Path, ...] = ()  # folders that did not exist before, the innermost first

    @classmethod
    def create(cls, path: Path) -> "RunFolder":
        """A new folder; one that exists already and is not empty is refused."""
        made: tuple[Path, ...] = ()
        try:
            if path.exists() and (not path.is_dir() or not _is_empty(path)):
                raise InputError(f"{path} exists already. Choose another --out, or remove it.")
            made = tuple(place for place in (path, *path.parents) if not place.exists())
            path.mkdir(parents=True, exist_ok=True)
            probe = path / ".write"
            probe.touch()
            probe.unlink()
        except OSError as error:
            _remove_empty(made)
            raise InputError(
                f"{path} cannot be written ({error.strerror}). Choose another --out, in a folder "
                "that is yours."
            ) from error
        return cls(path, made)

    @classmethod
    def open(cls, path: Path) -> "RunFolder":
        """The folder of a run; links that lead out of it are refused, lest a run write there."""
        folder = cls(path)
        if not folder.config.is_file():
            raise InputError(
                f"{path} is no run: it has no config.toml. Give a folder that `pmcnet fit` wrote."
            )
        places = (
            folder.model,
            folder.metrics,
            folder.report_data,
            folder.report,
            folder.predictions,
            folder.missing_targets,
            folder.history,
        )
        for place in (folder.config, *places, folder.checkpoint, folder.checkpoints.previous):
            if not leads_inside(place, path):
                raise InputError(
                    f"{place} is a link that leads out of the run. Copy the file itself there."
                )
        return folder

    @classmethod
    def free(cls, parent: Path, name: str) -> Path:
        """A path in `parent` that does not exist yet: NAME, NAME-2, ..."""
        path, n = parent / name, 2
        while os.path.lexists(path):
            path, n = parent / f"{name}-{n}", n + 1
        return path

    @property
    def config(self) -> Path:
        """Every setting."""
        return self.path / CONFIG

    @property
    def model(self) -> Path:
        """The fitted model; RUN itself may also be a model's folder."""
        return self.path / "model"

    @property
    def metrics(self) -> Path:
        """Metrics for machines."""
        return self.path / "metrics.json"

    @property
    def report_data(self) -> Path:
        """What the page is drawn from."""
        return self.path / "report.json"

    @property
    def report(self) -> Path:
        """The page."""
        return self.path / "report.html"

    @property
    def predictions(self) -> Path:
        """Predictions of the test rows."""
        return self.path / "predictions.csv"

    @property
    def missing_targets(self) -> Path:
        """Predictions of the rows whose target is missing."""
        return self.path / "missing_targets.csv"

    @property
    def history(self) -> Path:
        """One line of JSON per step."""
        return self.path / "history.jsonl"

    @property
    def checkpoints(self) -> Checkpoints:
        """Where an interrupted run goes on from."""
        return Checkpoints(self.path / "checkpoint")

    @property
    def checkpoint(self) -> Path:
        """The latest of them."""
        return self.checkpoints.latest

    def clear(self) -> None:
        """Remove what a process that was killed had begun to write, or was about to remove."""
        for item in self.path.glob(".*"):
            if item.name != LOCK:
                _remove(item)
        for item in self.checkpoint.parent.glob(".*"):
            _remove(item)

    def discard(self) -> None:
        """Undo `create`: remove what was written, and the folders that were made for it."""
        with suppress(OSError):  # someone has removed the folder, or it cannot be written to
            for item in self.path.iterdir():
                _remove(item)
        _remove_empty(self.made)


def _is_empty(folder: Path) -> bool:
    """Whether it holds at most what a run leaves that was killed before its first file."""
    return all(item.name in (LOCK, f".{CONFIG}.part") for item in folder.iterdir())


def _remove(item: Path) -> None:
    shutil.rmtree(item) if item.is_dir() and not item.is_symlink() else item.unlink()


def _remove_empty(folders: Sequence[Path]) -> None:
    for place in folders:
        with suppress(OSError):  # there is none, or another run has come to lie there
            place.rmdir()


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all; in CSV, strings that a spreadsheet would run are quoted."""
    write_whole(path, (guarded_csv(text) if path.suffix == ".csv" else text).encode("utf-8"))


def write_json(path: Path, record: Mapping[str, Any]) -> None:
    """Write JSON without NaN or infinity."""
    write_text(path, json.dumps(record, indent=1, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    """Read JSON, or say what is wrong with the file."""
    try:
        return parse_json(read_file(path, most=MOST_JSON))
    except FileNotFoundError as error:
        raise InputError(
            f"{path} does not exist: the run is not finished. Go on with: pmcnet resume "
            f"{path.parent}"
        ) from error
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read ({one_line(error)}). Fit again.") from error


def first_lines(path: Path, n_steps: int) -> list[dict[str, Any]]:
    """The first steps of a history, one JSON object per line; a file without them is refused.

    A run that was killed may have left more lines, the last one incomplete; those are not read.
    """
    if not n_steps:
        return []
    try:
        lines = [
            parse_json(line) for line in read_file(path, most=MOST_JSON).splitlines()[:n_steps]
        ]
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read ({one_line(error)}). Fit again.") from error
    strange = next((i for i, line in enumerate(lines, start=1) if not _is_step(line)), None)
    if strange is not None:
        raise InputError(f"line {strange} of {path} is no step of a run that can go on. Fit again.")
    if len(lines) < n_steps:
        raise InputError(
            f"{path} has {len(lines)} steps, and the checkpoint is of step {n_steps}. Fit again."
        )
    return lines


def lines_text(lines: Iterable[Mapping[str, Any]]) -> str:
    """A history as its file has it."""
    return "".join(json.dumps(plain(line)) + "\n" for line in lines)


def _is_step(line: Any) -> bool:
    """Whether a line is a step of some method: its number, its time, and other numbers."""
    if not isinstance(line, dict) or not {"step", "seconds"} <= line.keys():
        return False
    values = line.values()
    numbers = all(value is None or isinstance(value, int | float) for value in values)
    return numbers and type(line["step"]) is int and line["seconds"] is not None
