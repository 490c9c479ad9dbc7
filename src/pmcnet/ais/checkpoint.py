"""States on disk: the tensors of a state as safetensors, its numbers as JSON in the same file.

    save_state(state, "checkpoint.safetensors")
    result = ais.AnnealedPMC().run(target, state=load_state("checkpoint.safetensors"))

Written to a temporary file that then takes the place of the old one, so a checkpoint is always
whole.
"""

import json
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from pmcnet.ais.annealed.algorithm import AnnealedState
from pmcnet.ais.hmc.adaptation import Tuning
from pmcnet.ais.hmc.chains import ChainState
from pmcnet.ais.path import Arithmetic, Points
from pmcnet.ais.pmc.algorithm import PMCState
from pmcnet.ais.pmc.proposals import Proposals
from pmcnet.ais.scale import Diagonal, Full
from pmcnet.ais.state_checks import check_state
from pmcnet.errors import InputError
from pmcnet.io.atomic import write_whole
from pmcnet.io.files import one_line, parse_json, read_file
from pmcnet.io.tensors import parse_tensors

State = AnnealedState | PMCState | ChainState

FORMAT = "pmcnet-state-1"
_GARBLED = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    OSError,
    RecursionError,
    TypeError,
    ValueError,
)
_TYPES: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        AnnealedState,
        PMCState,
        ChainState,
        Arithmetic,
        Points,
        Tuning,
        Proposals,
        Full,
        Diagonal,
    )
}


def save_state(state: State, path: str | Path, *, problem: str = "") -> Path:
    """Write a state; the file at `path` is replaced when the new one is complete.

    Args:
        state: of a sampler.
        path: of the file.
        problem: what the state belongs to, in any words; `files.tensors.read_metadata` finds them
            again.
    """
    from safetensors.torch import save

    tensors: dict[str, Tensor] = {}
    form = _packed(state, "", tensors)
    return write_whole(
        path, save(tensors, {"format": FORMAT, "state": json.dumps(form), "problem": problem})
    )


def load_state(path: str | Path, device: torch.device | None = None) -> State:
    """The state that was saved there, on the given device, after checking that it is one."""
    try:
        tensors, metadata = parse_tensors(read_file(path))
        if metadata.get("format") != FORMAT:
            raise ValueError("it is of another version or kind")
        form = parse_json(metadata["state"])
        state = check_state(_all_unpacked(form, tensors))
        if device is None or device.type == "cpu":
            return state
        moved: State = _all_unpacked(
            form, {name: tensor.to(device) for name, tensor in tensors.items()}
        )
        return moved
    except _GARBLED as error:
        raise InputError(
            f"{path} cannot be read as a checkpoint ({one_line(error)}). Start the run again."
        ) from error


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
    return {
        "type": type(value).__name__,
        "parts": {k: _packed(v, f"{name}.{k}", tensors) for k, v in parts.items()},
    }


def _parts(value: Any) -> dict[str, Any]:
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    parts: dict[str, Any] = value._asdict()
    return parts


def _all_unpacked(form: Any, tensors: dict[str, Tensor]) -> Any:
    """The value of a form, which must use each tensor once."""
    left = dict(tensors)
    value = _unpacked(form, left)
    if left:
        raise ValueError(f"the tensor {next(iter(left))!r:.60} belongs nowhere")
    return value


def _unpacked(form: Any, tensors: dict[str, Tensor]) -> Any:
    if not isinstance(form, dict):
        return form
    if form.keys() == {"tensor"}:
        return tensors.pop(form["tensor"])
    if form.keys() == {"float"}:
        return float.fromhex(form["float"])
    if form.keys() != {"type", "parts"} or form["type"] not in _TYPES:
        raise ValueError(f"{form!r:.60} is no part of a state")
    kind, parts = _TYPES[form["type"]], form["parts"]
    return kind(**{name: _unpacked(part, tensors) for name, part in parts.items()})
