"""The network of an estimator: hidden layers by their sizes, or a module of the user's."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import numpy as np
import torch
from torch import nn

from pmcnet.bnn import MLP, HierarchicalMLP, ModuleNetwork, Network
from pmcnet.bnn.likelihoods.base import Task
from pmcnet.errors import InputError
from pmcnet.estimators.formulation import Scales

ModuleSource = nn.Module | Callable[[Any, int], nn.Module] | None


def network_for(
    source: ModuleSource,
    shape: tuple[int, ...],
    hidden: Sequence[int],
    activation: Literal["tanh", "relu", "sigmoid", "silu"],
    n_outputs: int,
) -> Network:
    """The network for rows of a shape.

    Args:
        source: a module, what makes one from (input size or shape, number of outputs), or None for
            hidden layers.
        shape: of one row of inputs.
        hidden: units of each hidden layer.
        activation: of the hidden layers.
        n_outputs: outputs per row.
    """
    if source is None:
        if len(shape) > 1:
            raise InputError(
                f"rows of shape {shape} need a network of their own: give module=. Or flatten them."
            )
        return MLP((shape[0], *map(int, hidden), n_outputs), activation)
    module = (
        source
        if isinstance(source, nn.Module)
        else source(shape if len(shape) > 1 else shape[0], n_outputs)
    )
    if not isinstance(module, nn.Module):
        raise InputError(
            "module must be an nn.Module or make one from (input size, number of outputs); got "
            f"{module!r}."
        )
    try:
        network = ModuleNetwork(module, example=torch.zeros(1, *shape))
        theta = network.initial()[None]
        with torch.no_grad():
            shown = network(
                theta, torch.zeros(2, *shape, dtype=theta.dtype, device=theta.device)
            ).shape
    except InputError:
        raise
    except (IndexError, RuntimeError, TypeError, ValueError) as error:
        raise InputError(
            f"the module does not take 2 rows of shape {shape} ({error}). Fit it to them."
        ) from error
    if shown[1:] != (2, n_outputs):
        raise InputError(
            f"the module must return {n_outputs} output(s) per row, an array (N, {n_outputs}); for "
            f"2 rows it returned {tuple(shown[1:])}."
        )
    return network


def with_scales(network: Network, scales: Scales, task: Task) -> HierarchicalMLP:
    """The same hidden layers with scales of the prior that are sampled with the weights.

    Outputs of a regression, which mean different things, have scales of their own.
    """
    assert isinstance(network, MLP)
    return HierarchicalMLP(
        network.sizes,
        network.activation,
        per_input=scales == "ard",
        per_output=task == "regression" and network.sizes[-1] > 1,
    )


def check_sizes(sizes: Any) -> None:
    """Raise unless these are units of hidden layers."""
    whole = isinstance(sizes, Iterable) and all(
        isinstance(size, int | np.integer) for size in sizes
    )
    if not (whole and all(size > 0 for size in sizes)):
        raise InputError(
            f"hidden_layer_sizes must be positive whole numbers, e.g. (50,); got {sizes}."
        )
