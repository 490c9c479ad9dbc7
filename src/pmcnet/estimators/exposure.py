"""Exposures of counts: the time, area or number at risk over which each row was counted.

In a fit an exposure is the second column of the response. Rows to predict carry its logarithm past
the network, to likelihoods of `exposed_counts`.
"""

from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from pmcnet.bnn import Network, ParticlePosterior
from pmcnet.bnn.likelihoods.count_response import check_exposure
from pmcnet.bnn.likelihoods.exposed_counts import COUNT_FAMILIES, exposed
from pmcnet.errors import InputError
from pmcnet.estimators.formulation import COUNTS
from pmcnet.estimators.predictions import Array, EncodedRows


class Counted(NamedTuple):
    """Counts as they were given, and their exposures."""

    y: Any
    exposure: ArrayLike


def likelihood_of_counts(likelihood: str) -> str:
    """What an estimator's likelihood means where there are exposures."""
    check_family(likelihood, allowed=("auto", *COUNT_FAMILIES))
    return COUNTS if likelihood == "auto" else likelihood


def checked_exposure(exposure: ArrayLike, n_rows: int, *, first_row: int = 1) -> Array:
    """One positive number for each row (N,); a single one is that of all rows.

    Args:
        exposure: as it was given.
        n_rows: N.
        first_row: number of the first row in errors, where it is a piece of a larger table.
    """
    try:
        found = np.asarray(exposure, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"exposure must be positive numbers ({error}). Correct it, or leave it out."
        ) from error
    if found.shape not in ((), (n_rows,)):
        raise InputError(
            f"exposure must be one number, or one for each of the {n_rows} rows; got shape "
            f"{found.shape}. Select rows of exposure as you select rows of X."
        )
    check_exposure(np.atleast_1d(found), first_row)
    return np.broadcast_to(found, n_rows)


def with_exposure(rows: EncodedRows, exposure: ArrayLike, likelihood: str) -> EncodedRows:
    """The same rows with an exposure.

    Args:
        rows: as a model of counts encodes them.
        exposure: a number, or one for each row (N,).
        likelihood: the model's.
    """
    check_family(likelihood)
    logarithm = np.log(checked_exposure(exposure, len(rows.inputs)))
    return rows._replace(log_exposure=torch.as_tensor(logarithm).to(rows.inputs.device))


def log_exposure_of(y: Array, likelihood: str) -> Tensor | None:
    """That of training rows (N,), None where they have no exposure.

    Args:
        y: the responses (N,) or (N, 2).
        likelihood: the model's.
    """
    if y.ndim < 2 or likelihood not in COUNT_FAMILIES:
        return None
    return torch.as_tensor(np.log(np.asarray(y[:, 1], dtype=np.float64)))


def predicting(posterior: ParticlePosterior, rows: EncodedRows) -> tuple[ParticlePosterior, Tensor]:
    """What predicts these rows, and its inputs (N, ...)."""
    if rows.log_exposure is None:
        return posterior, rows.inputs
    network = cast(Network, ExposedNetwork(posterior.network, tuple(rows.inputs.shape[1:])))
    inputs = torch.cat([rows.inputs.flatten(1).double(), rows.log_exposure[:, None]], dim=1)
    likelihood = exposed(posterior.likelihood)
    return replace(posterior, network=network, likelihood=likelihood), inputs


class ExposedNetwork:
    """A network whose inputs and outputs end with the log exposure of each row, in float64.

    Args:
        network: of the other inputs.
        shape: of these, for one row.
    """

    def __init__(self, network: Network, shape: tuple[int, ...]) -> None:
        self._network = network
        self._shape = shape

    def __getattr__(self, name: str) -> Any:
        return getattr(self._network, name)

    def __call__(self, theta: Tensor, x: Tensor) -> Tensor:
        """Parameters (P, D) and inputs (N, d + 1) -> outputs (P, N, 2)."""
        output = self._network(theta, x[:, :-1].reshape(-1, *self._shape).to(theta))
        return torch.cat([output.double(), x[:, -1:].expand(len(theta), -1, -1)], dim=-1)


def check_family(likelihood: str, allowed: tuple[str, ...] = COUNT_FAMILIES) -> None:
    """Raise unless rows may have an exposure under this likelihood."""
    if likelihood not in allowed:
        raise InputError(
            f"exposure is for counts, likelihood {' or '.join(COUNT_FAMILIES)}; got likelihood "
            f"{likelihood:.60}. Leave exposure out."
        )
