"""States on disk, of samplers and of trainings alike: one format.

A state is a NamedTuple. Its tensors are stored as safetensors, its numbers as JSON in the same
file. The file appears whole or not at all, so a checkpoint can always be read.

    save_checkpoint(state, "checkpoint.safetensors")
    state = load_checkpoint("checkpoint.safetensors", [AnnealedState])
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor

from pmcnet.errors import InputError
from pmcnet.io.atomic import write_whole
from pmcnet.io.files import one_line, parse_json, read_file
from pmcnet.io.tensors import parse_tensors, read_metadata

FORMAT = "pmcnet-state-2"
_DAMAGE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    OSError,
    RecursionError,
    TypeError,
    ValueError,
)


class State(Protocol):
    """What the next step of a sampler or a training needs: a NamedTuple of tensors and numbers."""

    @property
    def seed(self) -> int:
        """Decides everything random."""
        ...

    @staticmethod
    def stored_types() -> tuple[type[Any], ...]:
        """The NamedTuples that it may contain."""
        ...

    def check(self) -> None:
        """Raise an `InputError` unless a run can go on from it."""
        ...

    def _asdict(self) -> dict[str, Any]: ...


def save_checkpoint(state: State, path: str | Path, *, problem: str = "") -> Path:
    """Write a state; a file at `path` is replaced when the new one is complete.

    Args:
        state: of a sampler or a training.
        path: of the file.
        problem: what the state belongs to, in any words; `problem_of` returns them.
    """
    from safetensors.torch import save

    tensors: dict[str, Tensor] = {}
    metadata = {"state": json.dumps(_packed(state, "", tensors)), "problem": problem}
    return write_whole(path, save(tensors, {"format": FORMAT, **metadata}))


def load_checkpoint(
    path: str | Path, kinds: Iterable[type[Any]], device: torch.device | None = None
) -> Any:
    """Read a state and check it.

    Args:
        path: of the file.
        kinds: the types of state that are expected.
        device: where the tensors are needed; the CPU by default.
    """
    kinds = tuple(kinds)
    try:
        tensors, metadata = parse_tensors(read_file(path))
        if metadata.get("format") != FORMAT:
            raise ValueError("it is of another version or kind")
        form = parse_json(metadata["state"])
        known = {kind.__name__: kind for kind in kinds}
        if not isinstance(form, dict) or form.get("type") not in known:
            raise ValueError("it holds the state of another method")
        types = {t.__name__: t for k in kinds for t in (k, *k.stored_types())}
        state = _unpacked_whole(form, tensors, types)
        state.check()
        if device is None or device.type == "cpu":
            return state
        moved = {name: tensor.to(device) for name, tensor in tensors.items()}
        return _unpacked_whole(form, moved, types)
    except _DAMAGE as error:
        raise _unreadable(path, error) from error


def problem_of(path: str | Path) -> str:
    """What the state at `path` belongs to, in the words that were given."""
    try:
        return read_metadata(path).get("problem", "")
    except (MemoryError, OSError, ValueError) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: str | Path, error: BaseException) -> InputError:
    return InputError(
        f"{path} cannot be read as a checkpoint ({one_line(error)}). Start the run again."
    )


def _packed(value: Any, name: str, tensors: dict[str, Tensor]) -> Any:
    """Numbers as they are, tensors by name, NamedTuples and mappings by their parts."""
    if isinstance(value, Tensor):
        tensors[name] = value.detach().cpu().clone(memory_format=torch.contiguous_format)
        return {"tensor": name}
    if isinstance(value, bool | int | str) or value is None:
        return value
    if isinstance(value, float):
        return {"float": value.hex()}
    parts = value if isinstance(value, Mapping) else value._asdict()
    packed = {key: _packed(part, f"{name}.{key}", tensors) for key, part in parts.items()}
    if isinstance(value, Mapping):
        return {"parts": packed}
    return {"type": type(value).__name__, "parts": packed}


def _unpacked_whole(form: Any, tensors: Mapping[str, Tensor], types: Mapping[str, Any]) -> Any:
    """The value of a form, which must use each tensor once."""
    left = dict(tensors)
    value = _unpacked(form, left, types)
    if left:
        raise ValueError(f"the tensor {next(iter(left))!r:.60} belongs nowhere")
    return value


def _unpacked(form: Any, tensors: dict[str, Tensor], types: Mapping[str, Any]) -> Any:
    if isinstance(form, list):
        raise ValueError("a state holds no lists")
    if not isinstance(form, dict):
        return form
    if form.keys() == {"tensor"}:
        return tensors.pop(form["tensor"])
    if form.keys() == {"float"}:
        return float.fromhex(form["float"])
    known = form.get("type") in types if "type" in form else True
    if form.keys() not in ({"parts"}, {"type", "parts"}) or not known:
        raise ValueError(f"{form!r:.60} is no part of a state")
    parts = {name: _unpacked(part, tensors, types) for name, part in form["parts"].items()}
    return types[form["type"]](**parts) if "type" in form else parts
