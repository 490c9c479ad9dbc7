"""The folder of a run: what lies where, and files that are written whole or not at all."""

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pmcnet.errors import InputError


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
        """The folder of a run."""
        folder = cls(path)
        if not folder.config.is_file():
            raise InputError(f"{path} is no run: it has no config.toml. Give a folder that `pmcnet fit` wrote.")
        return folder

    @classmethod
    def free(cls, parent: Path, name: str) -> Path:
        """A path in `parent` that does not exist yet: NAME, NAME-2, ..."""
        path, n = parent / name, 2
        while path.exists():
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
    """Write a file whole: to a temporary name first."""
    temporary = path.with_name(f".{path.name}.part")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, path)


def write_json(path: Path, record: Mapping[str, Any]) -> None:
    """Write JSON without NaN or infinity."""
    write_text(path, json.dumps(record, indent=1, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    """Read JSON, or say what is wrong with the file."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(
            f"{path} does not exist: the run is not finished. Go on with: pmcnet resume {path.parent}"
        ) from error
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read ({error}). Fit again.") from error


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Read one JSON object per line, or say what is wrong with the file."""
    try:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read ({error}). Fit again.") from error
