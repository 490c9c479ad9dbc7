"""The folder of a run: what lies where, and files that are written whole or not at all."""

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pmcnet.data.spreadsheets import guarded_csv
from pmcnet.errors import InputError
from pmcnet.files.reading import leads_inside, parse_json, read_file, told

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
            if path.exists() and (not path.is_dir() or any(path.iterdir())):
                raise InputError(f"{path} exists already. Choose another --out, or remove it.")
            made = tuple(place for place in (path, *path.parents) if not place.exists())
            path.mkdir(parents=True, exist_ok=True)
            probe = path / ".write"
            probe.touch()
            probe.unlink()
        except OSError as error:
            _remove_empty(made)
            raise InputError(
                f"{path} cannot be written ({error.strerror}). Choose another --out, in a folder that is yours."
            ) from error
        return cls(path, made)

    @classmethod
    def open(cls, path: Path) -> "RunFolder":
        """The folder of a run; one with links that lead out of it is refused, since going on would write there."""
        folder = cls(path)
        if not folder.config.is_file():
            raise InputError(f"{path} is no run: it has no config.toml. Give a folder that `pmcnet fit` wrote.")
        places = (folder.model, folder.metrics, folder.report_data, folder.report, folder.predictions, folder.history)
        for place in (folder.config, *places, folder.checkpoint):
            if not leads_inside(place, path):
                raise InputError(f"{place} is a link that leads out of the run. Copy the file itself there.")
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
        return self.path / "config.toml"

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
    def history(self) -> Path:
        """One line of JSON per step."""
        return self.path / "history.jsonl"

    @property
    def checkpoint(self) -> Path:
        """Where an interrupted run goes on from."""
        return self.path / "checkpoint" / "state.safetensors"

    def discard(self) -> None:
        """Undo `create`: remove what was written into the folder, and the folders that were made for it."""
        for item in self.path.iterdir():
            shutil.rmtree(item) if item.is_dir() else item.unlink()
        _remove_empty(self.made)


def _remove_empty(folders: Sequence[Path]) -> None:
    for place in folders:
        with suppress(OSError):  # there is none, or another run has come to lie there
            place.rmdir()


def write_text(path: Path, text: str) -> None:
    """Write a file whole: to a temporary name first; texts in a CSV file that a spreadsheet would run are quoted."""
    temporary = path.with_name(f".{path.name}.part")
    temporary.unlink(missing_ok=True)  # a link would be followed
    temporary.write_text(guarded_csv(text) if path.suffix == ".csv" else text, encoding="utf-8")
    os.replace(temporary, path)


def write_json(path: Path, record: Mapping[str, Any]) -> None:
    """Write JSON without NaN or infinity."""
    write_text(path, json.dumps(record, indent=1, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    """Read JSON, or say what is wrong with the file."""
    try:
        return parse_json(read_file(path, most=MOST_JSON))
    except FileNotFoundError as error:
        raise InputError(
            f"{path} does not exist: the run is not finished. Go on with: pmcnet resume {path.parent}"
        ) from error
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read ({told(error)}). Fit again.") from error


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Read the steps of a run, one JSON object per line, or say what is wrong with the file."""
    try:
        lines = [parse_json(line) for line in read_file(path, most=MOST_JSON).decode("utf-8").splitlines()]
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read ({told(error)}). Fit again.") from error
    strange = next((i for i, line in enumerate(lines, start=1) if not _is_step(line)), None)
    if strange is not None:
        raise InputError(f"line {strange} of {path} is no step of a run that can go on. Fit again.")
    return lines


def _is_step(line: Any) -> bool:
    """Whether a line has the parts of a step, all of them numbers or missing."""
    from pmcnet.ais import AnnealedRecord, StepRecord  # slow to import

    if not isinstance(line, dict) or tuple(line) not in (AnnealedRecord._fields, StepRecord._fields):
        return False
    if not all(value is None or isinstance(value, int | float) for value in line.values()):
        return False
    if tuple(line) == AnnealedRecord._fields:
        return True
    return line["pooled_log_evidence"] is not None and (line["pooled_ess"] or 0) > 0  # the next is pooled with it
