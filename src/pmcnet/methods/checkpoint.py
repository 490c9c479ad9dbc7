"""Any state on disk, of a sampler or of a training, told apart by its format."""

from pathlib import Path

import torch

from pmcnet import ais
from pmcnet.errors import InputError
from pmcnet.io.files import told
from pmcnet.io.tensors import read_metadata
from pmcnet.methods.training.state import FORMAT, TrainingState, load_training, save_training

AnyState = ais.State | TrainingState


def save_checkpoint(state: AnyState, path: str | Path, *, problem: str = "") -> Path:
    """Write a state of either kind.

    Args:
        state: of a sampler or a training.
        path: of the file.
        problem: what the state belongs to, in any words; see `problem_of`.
    """
    if isinstance(state, TrainingState):
        return save_training(state, path, problem=problem)
    return ais.save_state(state, path, problem=problem)


def load_checkpoint(path: str | Path, device: torch.device | None = None) -> AnyState:
    """The state that was saved there, of either kind, on the given device."""
    if _metadata(path).get("format") == FORMAT:
        return load_training(path, device)
    return ais.load_state(path, device)


def problem_of(path: str | Path) -> str:
    """What the state that was saved there belongs to, in the words that were given."""
    return _metadata(path).get("problem", "")


def _metadata(path: str | Path) -> dict[str, str]:
    try:
        return read_metadata(path)
    except (MemoryError, OSError, ValueError) as error:
        raise InputError(
            f"{path} cannot be read as a checkpoint ({told(error)}). Start the run again."
        ) from error
