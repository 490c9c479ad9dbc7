"""The state of any sampler on disk.

ais.save_state(state, "checkpoint.safetensors")
result = ais.run(sampler, target, ais.load_state("checkpoint.safetensors"))
"""

from pathlib import Path

import torch

from pmcnet.ais.annealed.state import AnnealedState
from pmcnet.ais.hmc.state import ChainState
from pmcnet.ais.islands.state import IslandsState
from pmcnet.ais.pmc.state import PMCState
from pmcnet.io.checkpoint import load_checkpoint
from pmcnet.io.checkpoint import save_checkpoint as save_state

State = AnnealedState | ChainState | IslandsState | PMCState

__all__ = ["State", "load_state", "save_state"]


def load_state(path: str | Path, device: torch.device | None = None) -> State:
    """The state that was saved there, on the given device, after checking that it is one."""
    state: State = load_checkpoint(
        path, (AnnealedState, ChainState, IslandsState, PMCState), device
    )
    return state
