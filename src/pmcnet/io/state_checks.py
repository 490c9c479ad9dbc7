"""What a state from a file must be before a run goes on from it: shapes, types and values."""

import math
from typing import Any

import torch
from torch import Tensor

from pmcnet.errors import InputError
from pmcnet.rng import check_seed

MOST_STEPS = 1 << 32
REAL = (torch.float32, torch.float64)
DOUBLE = (torch.float64,)


def require(fine: bool, name: str, wanted: str) -> None:
    """Refuse what is not `fine`."""
    if not fine:
        raise InputError(f"{name} must be {wanted}.")


def check_tensor(
    tensor: Any,
    name: str,
    n_axes: int,
    shape: tuple[int, ...] | None = None,
    dtypes: tuple[torch.dtype, ...] = REAL,
    *,
    finite: bool = True,
) -> None:
    """Refuse what is no tensor, has another shape or type, or holds numbers that are not finite."""
    if not isinstance(tensor, Tensor) or tensor.dtype not in dtypes:
        found = tensor.dtype if isinstance(tensor, Tensor) else type(tensor).__name__
        raise InputError(
            f"{name} must be a tensor of {' or '.join(map(str, dtypes))}; got {found}."
        )
    if tensor.ndim != n_axes or 0 in tensor.shape or shape not in (None, tuple(tensor.shape)):
        wanted = f"{shape}" if shape else f"{n_axes} axes"
        raise InputError(f"{name} must be of {wanted}; got {tuple(tensor.shape)}.")
    if finite:
        require(bool(tensor.isfinite().all()), name, "finite")


def check_number(value: Any, name: str, least: float, most: float = math.inf) -> None:
    """Refuse what is not a finite number within bounds."""
    number = type(value) in (int, float) and math.isfinite(value)
    require(number and least <= value <= most, name, f"a finite number from {least:g} to {most:g}")


def check_whole(value: Any, name: str, least: int = 0, most: int = MOST_STEPS) -> None:
    """Refuse what is not a whole number within bounds."""
    whole = type(value) is int and least <= value <= most
    require(whole, name, f"a whole number from {least} to {most}")


def check_place(step: Any, seed: Any) -> None:
    """Refuse a step or a seed that no run has."""
    check_seed(seed)
    check_whole(step, "step")
