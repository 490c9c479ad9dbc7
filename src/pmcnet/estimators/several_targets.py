"""Responses of several targets (N, T): which likelihoods they have, and what they cannot have."""

from typing import Any

import numpy as np

from pmcnet.bnn.likelihoods.multi_target import PREFIX
from pmcnet.bnn.likelihoods.registry import FAMILIES
from pmcnet.errors import InputError
from pmcnet.estimators.predictions import Array
from pmcnet.estimators.two_columns import TIMES

_NAMES = tuple(name.removeprefix(PREFIX) for name in FAMILIES if name.startswith(PREFIX))


def are_several(y: Any, likelihood: str) -> bool:
    """Whether a response as it was given has several targets, and not times and events."""
    try:
        shape = y.shape if hasattr(y, "shape") else np.asarray(y).shape
    except ValueError:  # rows of different lengths
        return False
    return len(shape) == 2 and shape[1] > 1 and not likelihood.startswith(TIMES)


def n_targets_of(y: Array, likelihood: str) -> int:
    """How many targets a checked response has.

    Args:
        y: the response.
        likelihood: what the estimator's means for it.
    """
    return y.shape[1] if likelihood.startswith(PREFIX) else 1


def likelihood_of_several(likelihood: str) -> str:
    """What an estimator's likelihood means where there are several targets."""
    name = _NAMES[0] if likelihood == "auto" else likelihood.removeprefix(PREFIX)
    if name not in _NAMES:
        raise InputError(
            f"several targets are for likelihood {' or '.join(_NAMES)}; got likelihood "
            f"{likelihood:.60}. Fit one model for each column of y."
        )
    return PREFIX + name


def check_several(y: Array, asked: str, likelihood: str, conformal: bool) -> None:
    """Raise where several targets (N, T) look like something else, or cannot be fitted.

    Args:
        y: the response.
        asked: the estimator's likelihood.
        likelihood: what it means for y.
        conformal: whether intervals are to be calibrated.
    """
    if y.ndim == 1 or not likelihood.startswith(PREFIX):
        return
    if conformal:
        raise InputError(
            f"conformal intervals are for one target; got y of shape {y.shape}. Leave conformal "
            "out, or fit one model for each column of y."
        )
    if asked == "auto" and y.shape[1] == 2 and np.isin(y[:, 1], (0, 1)).all():
        raise InputError(
            f"y of shape {y.shape} holds only 0 and 1 in its second column. For times and whether "
            "the event was observed give likelihood 'censored'; for two targets 'gaussian'."
        )
