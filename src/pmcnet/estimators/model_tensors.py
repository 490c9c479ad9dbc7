"""The networks of a model file: `tensors.safetensors`, checked against `model.json`."""

import hashlib
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from pmcnet.bnn import Likelihood, Network, ParticlePosterior
from pmcnet.errors import ModelFileError
from pmcnet.estimators.kept_rows import ROW_NAMES
from pmcnet.estimators.novelty import SCORES_NAME, NoveltyScale
from pmcnet.estimators.reference_rows import REFERENCE_NAMES, ReferenceRows
from pmcnet.io.files import read_file
from pmcnet.io.tensors import parse_tensors

TENSORS_NAME = "tensors.safetensors"
BUFFER = "buffer."
"""Begins the names of a module's own buffers."""
LARGEST = 1e12
"""Parameters beyond this were never fitted, and would overflow in the network."""

_OWN = {"theta", "log_weight"}


def described(tensors: Mapping[str, Tensor]) -> dict[str, Any]:
    """Shape and type of each, as `model.json` has them."""
    return {name: {"shape": list(t.shape), "dtype": str(t.dtype)} for name, t in tensors.items()}


def tensors_of(posterior: ParticlePosterior) -> dict[str, Tensor]:
    """The networks with their weights, and the buffers of the user's module."""
    tensors = {
        "theta": posterior.theta.detach().cpu().contiguous(),
        "log_weight": posterior.log_weight.detach().double().cpu().contiguous(),
    }
    module = getattr(posterior.network, "module", None)
    if isinstance(module, torch.nn.Module):
        tensors |= {
            f"{BUFFER}{name}": b.detach().cpu().contiguous() for name, b in module.named_buffers()
        }
    return tensors


def reference_tensors(rows: ReferenceRows | None, scale: NoveltyScale | None) -> dict[str, Tensor]:
    """The reference rows and what is novel beside them, as far as a model has them."""
    return {
        name: tensor
        for part in (rows, scale)
        if part is not None
        for name, tensor in part.tensors().items()
    }


def read_tensors(folder: Path, recorded: Mapping[str, Any]) -> dict[str, Tensor]:
    """The tensors of a model.

    Args:
        folder: of the model.
        recorded: what `model.json` says of them.
    """
    file = folder / TENSORS_NAME
    if not os.path.isfile(file):
        raise ModelFileError(f"{folder} has no {TENSORS_NAME}. Copy the whole folder.")
    content = read_file(file, inside=folder)
    if hashlib.sha256(content).hexdigest() != recorded.get("sha256"):
        raise ModelFileError(
            f"{file} is damaged or was changed: its checksum does not fit model.json. Save again."
        )
    tensors = parse_tensors(content).tensors
    if described(tensors) != {name: value for name, value in recorded.items() if name != "sha256"}:
        raise ModelFileError(f"{file} holds other tensors than model.json says. Save again.")
    own = {name for name in tensors if not name.startswith(BUFFER)}
    for part in (set(ROW_NAMES), set(REFERENCE_NAMES), {SCORES_NAME}):
        own -= part if part <= own else set()
    if own != _OWN:
        raise ModelFileError(
            f"{file} must hold theta, log_weight, buffers and all or nothing of training and of "
            f"reference rows; got {list(tensors)!r:.100}. Save again."
        )
    return tensors


def check_networks(
    tensors: Mapping[str, Tensor], layout: Sequence[Any], likelihood: Likelihood, folder: Path
) -> None:
    """Refuse networks of another size than the layers need, and numbers that cannot predict.

    Args:
        tensors: of the model.
        layout: name and shape of each parameter.
        likelihood: whose parameters follow those of the network.
        folder: named in errors.
    """
    n_parameters = sum(math.prod(shape) for _, shape in layout)
    theta, log_weight = tensors["theta"], tensors["log_weight"]
    dim = n_parameters + likelihood.n_extra
    if (
        theta.ndim != 2
        or not len(theta)
        or theta.shape[1] != dim
        or log_weight.shape != theta.shape[:1]
    ):
        raise ModelFileError(
            f"{folder} has theta {tuple(theta.shape)}; the network needs (n_draws, {dim})."
        )
    if theta.dtype not in (torch.float32, torch.float64) or log_weight.dtype != torch.float64:
        raise ModelFileError(
            f"{folder} has networks of {theta.dtype} and weights of {log_weight.dtype}. Save again."
        )
    if not bool((theta.abs() <= LARGEST).all()):
        raise ModelFileError(
            f"{folder} holds networks that are not finite numbers up to {LARGEST:g}. Fit again."
        )
    if not bool((log_weight < math.inf).all()) or not bool((log_weight > -math.inf).any()):
        raise ModelFileError(
            f"{folder} holds networks whose log-weights are NaN, infinite or all zero. Fit again."
        )
    if not bool(likelihood.usable(theta[:, n_parameters:]).all()):
        raise ModelFileError(f"{folder} holds networks whose noise is zero or infinite. Fit again.")


def put_buffers(tensors: Mapping[str, Tensor], network: Network, folder: Path) -> None:
    """Give the user's module the buffers it was saved with."""
    own = getattr(network, "module", None)
    module = own if isinstance(own, torch.nn.Module) else torch.nn.Module()
    given = {name.removeprefix(BUFFER): t for name, t in tensors.items() if name.startswith(BUFFER)}
    known = dict(module.named_buffers())
    if {name: t.shape for name, t in given.items()} != {name: t.shape for name, t in known.items()}:
        raise ModelFileError(
            f"{folder} has other buffers than the network: {list(given)!r:.100}. Pass its own "
            "module."
        )
    wrong = next((name for name, t in given.items() if not _usable(name, t, known[name])), None)
    if wrong is not None:
        raise ModelFileError(
            f"{folder} has a buffer {wrong} that is not of finite numbers that can be. Fit again."
        )
    module.load_state_dict(given, strict=False)


def _usable(name: str, tensor: Tensor, own: Tensor) -> bool:
    """Whether numbers are moderate or the module's own, as a mask's, and variances not negative."""
    if not tensor.is_floating_point():
        return True
    values = tensor.double()
    moderate = (values.abs() <= LARGEST) | (values == own.detach().double().cpu())
    return bool(moderate.all()) and not (name.endswith("running_var") and bool((values < 0).any()))
