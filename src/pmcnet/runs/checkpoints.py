"""The states of a run on disk: the latest, and the one before in case the latest cannot be read."""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch

from pmcnet.errors import InputError
from pmcnet.io.atomic import sync
from pmcnet.io.checkpoint import load_checkpoint, problem_of, save_checkpoint
from pmcnet.io.files import parse_json

Problem = Mapping[str, Any]
"""What a state belongs to: the data's fingerprint and the settings that decide the numbers."""


class StoredState(NamedTuple):
    """A state to go on from, a remark about it, and its file."""

    state: Any
    remark: str
    path: Path


@dataclass(frozen=True)
class Checkpoints:
    """The states in a folder."""

    folder: Path

    @property
    def latest(self) -> Path:
        """The last that was saved."""
        return self.folder / "state.safetensors"

    @property
    def previous(self) -> Path:
        """The one before."""
        return self.folder / "previous.safetensors"

    def exist(self) -> bool:
        """Whether there is something to go on from."""
        return self.latest.is_file() or self.previous.is_file()

    def save(self, state: Any, problem: Problem) -> None:
        """Write a state beside those that are there, which then replaces the latest."""
        self.folder.mkdir(exist_ok=True)
        new = save_checkpoint(state, self.folder / "next.safetensors", problem=json.dumps(problem))
        with suppress(FileNotFoundError):
            os.replace(self.latest, self.previous)
        os.replace(new, self.latest)
        sync(self.folder)
        sync(self.folder.parent)

    def load(
        self, problem: Problem, kinds: tuple[type[Any], ...], device: torch.device
    ) -> StoredState | None:
        """The latest state that can be read, or None where there is none.

        Args:
            problem: what it must belong to; of the settings, those that the state's own names.
            kinds: the types of states that the run's method can go on from.
            device: where its tensors are needed.

        Raises:
            InputError: where no state can be read, or it belongs to another problem or method.
        """
        unreadable: InputError | None = None
        for path in (self.latest, self.previous):
            if not path.is_file():
                continue
            try:
                state = load_checkpoint(path, kinds, device)
            except InputError as error:
                unreadable = unreadable or error
                continue
            _check_problem(path, problem)
            return StoredState(state, self._remark(path, unreadable), path)
        if unreadable is not None:
            raise unreadable
        return None

    def _remark(self, path: Path, unreadable: InputError | None) -> str:
        if path == self.latest:
            return ""
        why = "is missing" if unreadable is None else "cannot be read"
        return f"{self.latest} {why}, so the run goes on from the checkpoint before it."


def _check_problem(path: Path, problem: Problem) -> None:
    """Raise where the state belongs to another problem, naming the settings that differ."""
    try:
        found = parse_json(problem_of(path) or "{}")
        differing = [name for name, value in found.items() if problem.get(name) != value]
    except (AttributeError, ValueError) as error:
        raise InputError(f"{path} does not say what it belongs to. Fit again.") from error
    if differing:
        raise InputError(
            f"{path} belongs to another run: it was begun with another "
            f"{', '.join(differing):.200}. Give config.toml the settings it was begun with, or fit "
            "again."
        )
