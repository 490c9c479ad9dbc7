"""Stages of a long experiment on disk, so that one that was interrupted goes on where it was."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import torch
from safetensors.torch import save
from torch import Tensor

from pmcnet.errors import InputError
from pmcnet.files.reading import read_file
from pmcnet.files.tensors import parse_tensors
from pmcnet.files.writing import write_whole
from pmcnet.methods.checkpoint import AnyState, load_checkpoint, save_checkpoint
from pmcnet.runs.folder import write_json


class Stages:
    """Checkpoints and finished records of one experiment in a folder; without a folder nothing is kept.

    Args:
        folder: where they lie.
        name: of the experiment, the first part of every file's name.
        settings: a run is only continued with the settings it began with.
    """

    def __init__(self, folder: Path | None, name: str, settings: dict[str, Any]) -> None:
        self._folder, self._name, self.settings = folder, name, settings
        if folder is None:
            return
        folder.mkdir(parents=True, exist_ok=True)
        self.settings, place = json.loads(json.dumps(settings)), self._path("settings.json")
        if place.exists() and json.loads(place.read_text()) != self.settings:
            raise InputError(
                f"{folder} holds a run of {name} with other settings. Use another folder, or delete its {name}-*: "
                "`pmcnet reproduce` does with --fresh."
            )
        write_json(place, self.settings)

    @classmethod
    def of(cls, folder: Path, name: str) -> Self:
        """Those of a run that was begun there."""
        place = folder / f"{name}-settings.json"
        if not place.exists():
            raise InputError(f"{folder} holds no run of {name}.")
        return cls(folder, name, json.loads(place.read_text()))

    def state(self, key: str, device: torch.device) -> AnyState | None:
        """The state of a sampler or a training that was kept last."""
        if self._folder is None or not self._path(f"{key}.safetensors").exists():
            return None
        return load_checkpoint(self._path(f"{key}.safetensors"), device)

    def keep_state(self, key: str, state: AnyState) -> None:
        """Keep a state in place of the one before."""
        if self._folder is not None:
            save_checkpoint(state, self._path(f"{key}.safetensors"))

    def tensors(self, key: str, device: torch.device) -> dict[str, Tensor]:
        """Tensors that were kept, by name; none where there are none."""
        if self._folder is None or not self._path(f"{key}.tensors").exists():
            return {}
        found, _ = parse_tensors(read_file(self._path(f"{key}.tensors")))
        return {name: tensor.to(device) for name, tensor in found.items()}

    def keep_tensors(self, key: str, tensors: Mapping[str, Tensor]) -> None:
        """Keep tensors in place of those before."""
        if self._folder is not None:
            plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
            write_whole(self._path(f"{key}.tensors"), save(plain))

    def record(self, key: str) -> Any:
        """A record that was kept, or None."""
        if self._folder is None or not self._path(f"{key}.json").exists():
            return None
        return json.loads(self._path(f"{key}.json").read_text())

    def keep_record(self, key: str, record: Any) -> None:
        """Keep a record in place of the one before."""
        if self._folder is not None:
            write_json(self._path(f"{key}.json"), record)

    def _path(self, end: str) -> Path:
        assert self._folder is not None
        return self._folder / f"{self._name}-{end}"
