"""Stages of a long experiment on disk, so that an interrupted run goes on where it was."""

import json
from pathlib import Path
from typing import Any

import torch

from pmcnet import ais
from pmcnet.errors import InputError
from pmcnet.io.files import one_line, parse_json, read_file
from pmcnet.runs.folder import write_json


class Stages:
    """Checkpoints and finished records of one experiment; without a folder nothing is kept.

    Args:
        folder: where they are.
        name: of the experiment, the first part of every file's name.
        settings: a run is only continued with the settings it began with.
    """

    def __init__(self, folder: Path | None, name: str, settings: dict[str, Any]) -> None:
        self._folder, self._name = folder, name
        if folder is None:
            return
        folder.mkdir(parents=True, exist_ok=True)
        plain, before = json.loads(json.dumps(settings)), self.record("settings")
        if before is None:
            if any(folder.glob(f"{name}-start*")):
                raise InputError(
                    f"{folder} holds a run of {name} without its settings. Delete it with --fresh."
                )
            self.keep_record("settings", plain)
        elif before != plain:
            raise InputError(
                f"{folder} holds a run of {name} with other settings "
                f"({_differences(before, plain)}). Use another folder, or delete it with --fresh."
            )

    def state(self, key: str, device: torch.device) -> ais.State | None:
        """The state of a sampler that was kept last."""
        if self._folder is None or not self._path(f"{key}.safetensors").exists():
            return None
        return ais.load_state(self._path(f"{key}.safetensors"), device)

    def keep_state(self, key: str, state: ais.State) -> None:
        """Keep a state in place of the one before."""
        if self._folder is not None:
            ais.save_state(state, self._path(f"{key}.safetensors"))

    def record(self, key: str) -> Any:
        """A record that was kept, or None."""
        if self._folder is None or not (path := self._path(f"{key}.json")).exists():
            return None
        try:
            return parse_json(read_file(path))
        except (OSError, ValueError) as error:
            raise InputError(
                f"{path} cannot be read ({one_line(error)}). Begin anew with --fresh."
            ) from error

    def keep_record(self, key: str, record: Any) -> None:
        """Keep a record in place of the one before."""
        if self._folder is not None:
            write_json(self._path(f"{key}.json"), record)

    def _path(self, end: str) -> Path:
        assert self._folder is not None
        return self._folder / f"{self._name}-{end}"


def stage_files(folder: Path, name: str) -> list[Path]:
    """What an experiment has kept there."""
    return sorted(folder.glob(f"{name}-*"))


def _differences(before: Any, now: dict[str, Any]) -> str:
    """What settings were and what was asked for, one by one."""
    if not isinstance(before, dict):
        return "which are no settings"
    keys = [key for key in sorted(before.keys() | now.keys()) if before.get(key) != now.get(key)]
    return ", ".join(f"{key}: {before.get(key)} there, {now.get(key)} asked" for key in keys)
