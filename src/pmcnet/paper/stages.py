"""Stages of a long experiment on disk, so that one that was interrupted goes on where it was."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

import torch
from safetensors.torch import save
from torch import Tensor

from pmcnet.errors import InputError
from pmcnet.io.atomic import write_whole
from pmcnet.io.files import one_line, parse_json, read_file
from pmcnet.io.tensors import parse_tensors
from pmcnet.methods.checkpoint import AnyState, load_checkpoint, save_checkpoint
from pmcnet.runs.figure_data import Record
from pmcnet.runs.folder import write_json


class Kept(NamedTuple):
    """What belongs together of a stage that is under way."""

    record: Record
    tensors: dict[str, Tensor]
    state: AnyState | None


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
        self.settings, before = json.loads(json.dumps(settings)), self.record("settings")
        if before is None:
            if any(folder.glob(f"{name}-start*")):
                raise InputError(
                    f"{folder} holds a run of {name} without its settings. Delete it with --fresh."
                )
            self.keep_record("settings", self.settings)
        elif before != self.settings:
            other = ", ".join(_differences(before, self.settings))
            raise InputError(
                f"{folder} holds a run of {name} with other settings ({other}). Use another "
                "folder, or delete it with "
                "--fresh."
            )

    @classmethod
    def of(cls, folder: Path, name: str) -> Self:
        """Those of a run that was begun there."""
        place = folder / f"{name}-settings.json"
        if not place.exists():
            raise InputError(
                f"{folder} holds no run of {name}. Name the folder that an earlier call wrote to."
            )
        return cls(folder, name, _read(place, _settings))

    def kept(self, key: str, device: torch.device) -> Kept | None:
        """What `keep` has kept last."""
        record = self.record(key)
        if record is None:
            return None
        known = record if isinstance(record, dict) else {}
        part, has_state = f"{key}-{known.pop('turn', None)}", known.pop("has_state", None)
        tensors, state = self.tensors(part, device), self.state(part, device)
        if not tensors or has_state is not (state is not None):
            raise InputError(
                f"{self._path(part)}.* are missing or incomplete. Begin anew with --fresh."
            )
        return Kept(record, tensors, state)

    def keep(
        self, key: str, record: Record, tensors: Mapping[str, Tensor], state: AnyState | None = None
    ) -> None:
        """Keep these in place of those before, all or none.

        Files are written in two turns; the record, which is the last, says whose turn it was.
        """
        if self._folder is None:
            return
        turn = 1 - (self.record(key) or {"turn": 1})["turn"]
        self.keep_tensors(f"{key}-{turn}", tensors)
        if state is not None:
            self.keep_state(f"{key}-{turn}", state)
        self.keep_record(key, record | {"turn": turn, "has_state": state is not None})

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
        found, _ = _read(self._path(f"{key}.tensors"), parse_tensors)
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
        return _read(self._path(f"{key}.json"), parse_json)

    def keep_record(self, key: str, record: Any) -> None:
        """Keep a record in place of the one before."""
        if self._folder is not None:
            write_json(self._path(f"{key}.json"), record)

    def _path(self, end: str) -> Path:
        assert self._folder is not None
        return self._folder / f"{self._name}-{end}"


def _differences(before: Any, now: dict[str, Any]) -> list[str]:
    """What settings were and what was asked for, one by one."""
    if not isinstance(before, dict):
        return ["which are no settings"]
    keys = [key for key in sorted(before.keys() | now.keys()) if before.get(key) != now.get(key)]
    return [f"{key}: {before.get(key)} there, {now.get(key)} asked" for key in keys]


def _settings(content: bytearray) -> dict[str, Any]:
    found = parse_json(content)
    if not isinstance(found, dict):
        raise ValueError("it holds no settings")
    return found


def _read(path: Path, parse: Callable[[bytearray], Any]) -> Any:
    try:
        return parse(read_file(path))
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path} cannot be read ({one_line(error)}). Begin anew with --fresh."
        ) from error
