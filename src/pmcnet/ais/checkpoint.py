"""States on disk: the tensors of a state as safetensors, its numbers as JSON in the same file.

    save_state(state, "checkpoint.safetensors")
    result = ais.AnnealedPMC().run(target, state=load_state("checkpoint.safetensors"))

Written to a temporary file that then takes the place of the old one, so a checkpoint is always whole.
"""

import json
import os
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from pmcnet.ais.annealing import AnnealedState
from pmcnet.ais.mixing import Tuning
from pmcnet.ais.path import Points
from pmcnet.ais.pmc import PMCState
from pmcnet.ais.proposals import Proposals
from pmcnet.ais.scale import Diagonal, Full
from pmcnet.errors import InputError

State = AnnealedState | PMCState

FORMAT = "pmcnet-state-1"
_GARBLED = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
_TYPES: dict[str, type[Any]] = {
    kind.__name__: kind for kind in (AnnealedState, PMCState, Points, Tuning, Proposals, Full, Diagonal)
}


def save_state(state: State, path: str | Path) -> Path:
    """Write a state; the file at `path` is replaced when the new one is complete."""
    from safetensors.torch import save_file

    path = Path(path)
    tensors: dict[str, Tensor] = {}
    form = _packed(state, "", tensors)
    temporary = path.with_name(path.name + ".part")
    try:
        save_file(tensors, temporary, metadata={"format": FORMAT, "state": json.dumps(form)})
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    return path


def load_state(path: str | Path, device: torch.device | None = None) -> State:
    """The state that was saved there, on the given device."""
    from safetensors import SafetensorError, safe_open

    where = "cpu" if device is None else str(device)
    try:
        with safe_open(path, framework="pt", device=where) as file:
            metadata = file.metadata() or {}
            if metadata.get("format") != FORMAT:
                raise InputError(f"{path} is no checkpoint of this version. Start the run again.")
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        state = _unpacked(json.loads(metadata["state"]), tensors)
    except InputError:
        raise
    except (SafetensorError, OSError, *_GARBLED) as error:
        raise InputError(f"{path} cannot be read as a checkpoint ({error}). Start the run again.") from error
    if not isinstance(state, AnnealedState | PMCState):
        raise InputError(f"{path} holds a {type(state).__name__}, not a state. Start the run again.")
    return state


def _packed(value: Any, name: str, tensors: dict[str, Tensor]) -> Any:
    """The form of a value: numbers as they are, tensors by their name, tuples of named parts by their parts."""
    if isinstance(value, Tensor):
        tensors[name] = value.detach().cpu().contiguous()
        return {"tensor": name}
    if isinstance(value, bool | int | str) or value is None:
        return value
    if isinstance(value, float):
        return {"float": value.hex()}
    parts = _parts(value)
    return {"type": type(value).__name__, "parts": {k: _packed(v, f"{name}.{k}", tensors) for k, v in parts.items()}}


def _parts(value: Any) -> dict[str, Any]:
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    parts: dict[str, Any] = value._asdict()
    return parts


def _unpacked(form: Any, tensors: dict[str, Tensor]) -> Any:
    if not isinstance(form, dict):
        return form
    if "tensor" in form:
        return tensors[form["tensor"]]
    if "float" in form:
        return float.fromhex(form["float"])
    return _TYPES[form["type"]](**{k: _unpacked(v, tensors) for k, v in form["parts"].items()})
