"""What a run keeps: one file per stage, replaced as a whole, so that it always fits together."""

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import safe_open
from safetensors.torch import save
from torch import Tensor

from pmcnet.io.atomic import write_whole
from pmcnet.methods.training.state import TrainingState

_STATE = "state."


class Stage(NamedTuple):
    """A record, tensors, and the state of a sampler that is under way."""

    record: dict[str, Any]
    tensors: dict[str, Tensor]
    state: TrainingState | None = None


def save_stage(path: Path, stage: Stage) -> None:
    """Write it in place of the one before."""
    tensors: dict[str, Tensor] = dict(stage.tensors)
    metadata = {"record": json.dumps(stage.record)}
    if stage.state is not None:
        tensors |= {_STATE + name: tensor for name, tensor in stage.state.tensors.items()}
        metadata["state"] = json.dumps({"epoch": stage.state.epoch, "seed": stage.state.seed})
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, save(plain, metadata))


def load_stage(path: Path, device: torch.device) -> Stage | None:
    """What was written there, or None."""
    if not path.exists():
        return None
    with safe_open(path, "pt") as file:
        metadata = file.metadata()
        # copies are aligned as computed tensors are, on which last bits of products depend
        found = {name: file.get_tensor(name).clone().to(device) for name in sorted(file.keys())}
    state = None
    if "state" in metadata:
        state = TrainingState(_behind(_STATE, found), **json.loads(metadata["state"]))
    tensors = {name: part for name, part in found.items() if not name.startswith(_STATE)}
    return Stage(json.loads(metadata["record"]), tensors, state)


def check_settings(folder: Path, settings: Mapping[str, Any]) -> None:
    """Write the settings of a run, or stop where the folder holds a run with others."""
    path = folder / "settings.json"
    if path.exists() and (before := json.loads(path.read_text())) != settings:
        raise SystemExit(f"{folder} holds a run with other settings: {before}. Use another --out.")
    save_json(path, settings)


def save_json(path: Path, record: Any) -> None:
    """Write a record in place of the one before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, (json.dumps(record, indent=1, allow_nan=False) + "\n").encode())


def seconds_since(start: float, device: torch.device) -> float:
    """Seconds from `start`, on the monotonic clock, until the device has finished its work."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.monotonic() - start


def _behind(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {
        name.removeprefix(prefix): part for name, part in tensors.items() if name.startswith(prefix)
    }
