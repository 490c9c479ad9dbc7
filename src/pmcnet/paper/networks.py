"""The last networks of a study's chains as a small file, from which a later study goes on, on another machine or day.

They are kept in half precision: rounding moves a weight by 2^-11 of itself at most, far less than
the posterior leaves open. What was learned of steps is not kept; chains learn it again in their
first six epochs.
"""

from pathlib import Path

import torch
from safetensors.torch import save
from torch import Tensor

from pmcnet.bnn import BayesianTarget
from pmcnet.errors import InputError
from pmcnet.io.atomic import write_whole
from pmcnet.io.files import one_line, read_file
from pmcnet.io.tensors import parse_tensors


def keep_networks(path: Path, theta: Tensor) -> None:
    """Write networks (P, D)."""
    write_whole(path, save({"theta": theta.detach().to("cpu", torch.float16).contiguous()}))


def read_networks(path: str | Path, target: BayesianTarget) -> Tensor:
    """Networks (P, D) of a file, where they fit the target."""
    try:
        theta = parse_tensors(read_file(path)).tensors.get("theta")
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path} cannot be read ({one_line(error)}). Name a file that an earlier run wrote."
        ) from error
    if theta is None or theta.ndim != 2 or not len(theta) or theta.shape[1] != target.dim:
        found = "no networks" if theta is None else f"a tensor {tuple(theta.shape)}"
        raise InputError(
            f"{path} holds {found}; chains of this experiment need (n_chains, {target.dim})."
        )
    if not theta.isfinite().all():
        raise InputError(
            f"{path} holds networks with weights that are not finite. Name a file of a run that "
            "went well."
        )
    return theta.to(target.device, torch.float32)
