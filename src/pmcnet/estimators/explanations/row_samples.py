"""Some of the rows, where all would cost too much, and the rows that stand for the data."""

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from pmcnet.errors import InputError
from pmcnet.estimators.explanations.players import plain_inputs
from pmcnet.estimators.predictions import Array
from pmcnet.rng import check_seed, stream

if TYPE_CHECKING:
    from pmcnet.estimators.fitted_model import FittedModel


def some_rows(
    n_rows: int, most: int, seed: int, weight: Array | None = None
) -> np.ndarray[Any, Any]:
    """Sorted positions of at most so many rows, drawn at random; all where they are no more.

    Args:
        n_rows: N.
        most: how many.
        seed: of the draw.
        weight: how often each counts (N,); rows that differ in it are drawn with replacement.
    """
    source = stream(check_seed(seed), 0, 0).host
    if weight is not None and np.ptp(weight) > 0:
        return np.sort(source.choice(n_rows, most, p=weight / weight.sum()))
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(source.choice(n_rows, most, replace=False))


def background_inputs(
    model: "FittedModel", given: Any, inputs: Tensor, n_rows: int, seed: int
) -> Tensor:
    """Inputs of the rows from which a row takes the columns it does not keep (B, n_inputs).

    Args:
        model: fitted.
        given: rows, or None for the training rows that the model holds, else the rows explained.
        inputs: of the rows explained (N, n_inputs).
        n_rows: B, at most.
        seed: of the choice.
    """
    if isinstance(n_rows, bool) or not isinstance(n_rows, int) or n_rows < 1:
        raise InputError(f"n_background must be a whole number of at least 1; got {n_rows!r:.40}.")
    weight = None
    kept = model.training_rows_
    if given is not None:
        rows = plain_inputs(model.encoded(given), "background")
    elif kept is not None:
        rows, weight = kept.inputs.to(inputs), kept.weight.double().cpu().numpy()
    elif model.reference_rows_ is not None:
        rows = model.reference_rows_.inputs.to(inputs)
    elif len(inputs) > 1:
        rows = inputs
    else:
        raise InputError(
            "one row cannot be compared with itself, and this model holds no training rows. Give "
            "background, for example the training rows."
        )
    chosen = some_rows(len(rows), n_rows, seed, weight)
    return rows[torch.as_tensor(chosen, device=rows.device)]
