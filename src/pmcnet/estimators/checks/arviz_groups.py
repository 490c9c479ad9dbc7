"""A fitted model for ArviZ: its draws, and what they and the prior say of rows that are known."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from pmcnet.bnn.arviz_export import RESPONSE, chains, to_arviz, variables
from pmcnet.bnn.likelihoods.registry import family
from pmcnet.bnn.pointwise import log_likelihoods
from pmcnet.errors import InputError
from pmcnet.estimators.checks.check_rows import CheckRows
from pmcnet.estimators.checks.predictive_checks import drawn_responses
from pmcnet.estimators.checks.prior_predictive import prior_networks
from pmcnet.estimators.exposure import predicting
from pmcnet.estimators.predictions import Array

if TYPE_CHECKING:
    from xarray import DataTree

    from pmcnet.estimators.base import PMCNetEstimator

N_PRIOR = 500
_MOST_NUMBERS = 50_000_000  # of a group: 400 MB

Group = dict[str, NDArray[Any]]


def exported(
    model: "PMCNetEstimator",
    rows: CheckRows | None,
    names: NDArray[Any] | None,
    *,
    n: int | None,
    seed: int,
) -> "DataTree":
    """The posterior, and groups about rows where there are any.

    Args:
        model: fitted.
        rows: whose responses are known, as ArviZ is to see them: each counts once.
        names: of these rows (N,).
        n: draws.
        seed: of everything random.
    """
    posterior = model.posterior_
    if rows is None:
        return to_arviz(posterior, n, seed)
    theta = chains(posterior, n, seed)  # (P, K, D)
    if theta.shape[0] * theta.shape[1] * len(rows.y) > _MOST_NUMBERS:
        raise InputError(
            f"{theta.shape[0] * theta.shape[1]} draws of {len(rows.y)} rows are more than the "
            f"{_MOST_NUMBERS:g} numbers that are exported. Give fewer rows, or a smaller n."
        )
    prior, of_prior = prior_networks(model, rows, N_PRIOR, seed)
    flat = theta.flatten(0, 1).to(posterior.theta)
    drawn = _typed(model, drawn_responses(model, posterior, rows, flat, seed))
    before = _typed(model, drawn_responses(model, prior, rows, of_prior, seed))
    groups: dict[str, Group] = {
        "posterior_predictive": {RESPONSE: drawn.reshape(*theta.shape[:2], -1)},
        "log_likelihood": {RESPONSE: _log_likelihood(model, rows, theta)},
        "observed_data": {RESPONSE: _typed(model, rows.y)},
        "constant_data": _constant(rows),
        "prior": variables(prior, of_prior[None]),
        "prior_predictive": {RESPONSE: before[None]},
    }
    about = {"classes": [str(name) for name in getattr(model, "classes_", ())]}
    return to_arviz(posterior, n, seed, groups=groups, rows=names, about=about)


def each_once(rows: CheckRows) -> CheckRows:
    """Rows of whole weights as often as they count; with other weights each row once."""
    whole = bool((rows.weight == np.floor(rows.weight)).all())
    if not whole or rows.weight.sum() * rows.targets.ndim > _MOST_NUMBERS:
        return rows
    found = rows.at(np.repeat(np.arange(len(rows.y)), rows.weight.astype(np.int64)))
    return found._replace(weight=np.ones(len(found.y)))


def row_names(X: Any, rows: CheckRows) -> NDArray[Any]:
    """The index of a table of pandas, if it differs from row to row; else positions (N,)."""
    index: Any = getattr(X, "index", None)
    if getattr(index, "is_unique", False) and getattr(index, "nlevels", 0) == 1:
        named: NDArray[Any] = index.to_numpy()[rows.place]
        if len(np.unique(rows.place)) == len(named):
            return named
    return np.arange(len(rows.y))


def _log_likelihood(model: "PMCNetEstimator", rows: CheckRows, theta: Tensor) -> Array:
    """Of each draw and row, in units of y (P, K, N)."""
    whole, x = predicting(model.posterior_, rows.rows)
    flat = theta.flatten(0, 1).to(model.posterior_.theta)
    found = log_likelihoods(whole, flat, x, rows.targets).cpu().numpy()
    return model._units().log_density(found).reshape(*theta.shape[:2], -1)


def _constant(rows: CheckRows) -> Group:
    """What is known of rows beside the response."""
    known: Group = {"weight": rows.weight, "event": rows.observed.astype(np.int64)}
    if rows.rows.log_exposure is not None:
        known["exposure"] = np.exp(rows.rows.log_exposure.cpu().numpy())
    return known


def _typed(model: "PMCNetEstimator", y: Array) -> NDArray[Any]:
    """Whole numbers as such: counts, and places of classes."""
    members = family(model.likelihood_, model._task)
    whole = model._task == "classification" or members.support.whole
    return y.astype(np.int64) if whole else y
