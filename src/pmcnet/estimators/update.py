"""More rows for a fitted model: its islands go on from the posterior so far to that of all rows.

Network, likelihood, prior, encoder and units of y stay as they are. What is new is made aside, so
that a model whose update fails or is stopped is as it was.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from sklearn.utils import check_random_state  # type: ignore[import-untyped]

from pmcnet.ais.agreement import IslandMoments, evidence_shift
from pmcnet.ais.annealed.continuation import Continuation
from pmcnet.ais.islands.algorithm import Islands
from pmcnet.ais.islands.result import IslandsResult
from pmcnet.ais.tiling import in_groups
from pmcnet.ais.verdict import continuation_verdict
from pmcnet.bnn import BayesianTarget, IslandPosterior, ParticlePosterior
from pmcnet.bnn.likelihoods.exposed_counts import COUNT_FAMILIES
from pmcnet.bnn.likelihoods.registry import family
from pmcnet.errors import InputError
from pmcnet.estimators.exposure import with_exposure
from pmcnet.estimators.kept_rows import KeptRows
from pmcnet.estimators.model_rows import prior_of
from pmcnet.estimators.observer import FitObserver
from pmcnet.estimators.predictions import EncodedRows
from pmcnet.estimators.surprise import Surprise, surprise_of
from pmcnet.estimators.training_rows import TrainingRows, merged
from pmcnet.methods.registry import options
from pmcnet.threads import coarse

if TYPE_CHECKING:
    from pmcnet.estimators.base import PMCNetEstimator

LEAST_DRAWS = 4
"""Of each island, from which it can go on."""
_MEMORY = 1 << 28


class Update(NamedTuple):
    """What the latest update of a model was, and what its rows said.

    `number` counts the updates since the fit, `n_rows` the new rows that count.
    `log_evidence` is the log predictive evidence of all new rows together given the rows before,
    log p(y_new | y_old), with its standard error, in units of y. `log_predictive` is the mean of
    the log predictive density of single new rows before the update, `expected` what the model
    expected of it and `std` the standard deviation; the three are None where y cannot be simulated.
    `drift` says that the rows were far less probable than expected; see `estimators.surprise`.
    """

    number: int
    n_rows: int
    log_evidence: float
    log_evidence_error: float
    log_predictive: float | None
    expected: float | None
    std: float | None
    drift: bool

    @property
    def described(self) -> str:
        """In a sentence."""
        words = (
            f"{self.n_rows} new rows: log predictive evidence {self.log_evidence:.1f} +- "
            f"{self.log_evidence_error:.1g}"
        )
        if self.log_predictive is None:
            return words + "."
        return (
            f"{words} together; {self.log_predictive:.3g} per row one by one, where the model "
            f"expected {self.expected:.3g} +- {self.std:.2g}."
        )


class Updated(NamedTuple):
    """A model's parts after an update, and the different rows among the new ones."""

    posterior: ParticlePosterior
    history: list[dict[str, Any]]
    rows: KeptRows
    update: Update
    different: TrainingRows


def islands_of(model: "PMCNetEstimator") -> Islands | None:
    """The islands that take in more rows; None where the method has no such."""
    posterior, name = model.posterior_, model.method_
    n = posterior.n_islands
    if not n:
        return None
    method = options(name, model.method_options_, len(posterior.theta)).method(name)
    return method.continuing(n, len(posterior.theta) // n)


def updatable(model: "PMCNetEstimator") -> KeptRows:
    """The rows of a model that can be updated; others are refused."""
    posterior = model.posterior_
    if islands_of(model) is None:
        single = " as a single population" if model.method_ == "annealed" else ""
        raise InputError(
            "only models of annealed with at least 2 islands can be updated, or saved for it; this "
            f"model was fitted by {model.method_}{single}. Fit again on all rows, by islands of "
            "annealed if more are to come."
        )
    if model.calibration_ is not None:
        raise InputError(
            "a calibrated model cannot be updated: its calibration is that of the old posterior. "
            "Fit again on all rows."
        )
    n_draws = len(posterior.theta) // posterior.n_islands
    if n_draws < LEAST_DRAWS:
        raise InputError(
            f"update goes on from the draws of each island, at least {LEAST_DRAWS}; this model has "
            f"{n_draws} on each of {posterior.n_islands}. Fit again on all rows, or with a larger "
            "n_networks."
        )
    if model.training_rows_ is None:
        raise InputError(
            "update needs the rows that the model was fitted to, which it does not have. Save with "
            "save(path, training_rows=True), or give them back with restore_rows(X, y)."
        )
    return model.training_rows_


def kept(model: "PMCNetEstimator", rows: TrainingRows, inputs: Any) -> KeptRows:
    """Rows as the model's network sees them.

    Args:
        model: fitted.
        rows: merged, with y in its units.
        inputs: of these rows (N, ...).
    """
    members = family(model.likelihood_, model._task)
    parts = inputs, members.targets(rows.y, model._units()), rows.weight
    return KeptRows(*(torch.as_tensor(part).to(torch.float32) for part in parts))


def updated(
    model: "PMCNetEstimator", rows: TrainingRows, observers: Sequence[FitObserver] = ()
) -> Updated:
    """Anneal every island from the posterior of the old rows to that of old and new ones.

    Args:
        model: fitted, with its rows.
        rows: the new ones as they were given, with y in its units.
        observers: watch.
    """
    before = updatable(model)
    different = merged(*rows[:3], seed_of(model, 0))
    different = different._replace(number=rows.number[different.number - 1])
    more = kept(model, different, model.encoder_.encode(different.x))
    sampler, posterior = islands_of(model), model.posterior_
    assert sampler is not None
    number = 1 + (0 if model.update_ is None else model.update_.number)
    seed = seed_of(model, number)
    surprise = _surprise(model, rows, seed)
    start, added = (_target(model, each) for each in (before, more))
    path = Continuation(start, added, in_groups(posterior.theta, posterior.n_islands))
    for observer in observers:
        observer.stage(f"updating {posterior.n_islands} islands with {len(rows.y)} rows")
    with coarse(start.least_piece is not None):
        result = sampler.run(path, seed=seed, observers=observers)
    offset = float(model._units().log_density(np.zeros(()))) * float(rows.weight.sum())
    record = Update(
        number,
        len(rows.y),
        result.log_evidence + offset,
        result.log_evidence_error,
        None if surprise is None else surprise.observed,
        None if surprise is None else surprise.expected,
        None if surprise is None else surprise.std,
        surprise is not None and surprise.is_drift,
    )
    history = [info.line() for info in result.history]
    moments = IslandMoments.of(path.predictions(result.samples.theta), posterior.n_islands)
    shift = evidence_shift(moments, result.state.log_evidences, path.predicted_quantity)
    joined = replace(
        _joined(posterior, start, result), recorded_verdict=continuation_verdict(result, shift)
    )
    return Updated(joined, history, before.followed_by(more), record, different)


def seed_of(model: "PMCNetEstimator", number: int) -> int:
    """Of the fit, where `number` is 0, and of each update."""
    return int(check_random_state(model.random_state).randint(2**31 - 1, size=number + 1)[number])


def _target(model: "PMCNetEstimator", rows: KeptRows) -> BayesianTarget:
    posterior = model.posterior_
    return rows.target(
        posterior.network,
        posterior.likelihood,
        prior_of(model.prior, model.prior_std_),
        memory=_MEMORY,
        device=posterior.theta.device,
    )


def _joined(
    before: ParticlePosterior, target: BayesianTarget, result: IslandsResult
) -> IslandPosterior:
    """The new draws, whose log Z is that of all rows."""
    found = IslandPosterior.of(target, result)
    log_weight = found.samples.log_weight + before.log_evidence
    return replace(
        found,
        samples=found.samples._replace(log_weight=log_weight),
        recorded_error=math.hypot(before.log_evidence_error, found.log_evidence_error),
        memory=before.memory,
    )


def _surprise(model: "PMCNetEstimator", rows: TrainingRows, seed: int) -> Surprise | None:
    """What the new rows are to the model before the update; None where some are censored."""
    inputs = torch.as_tensor(model.encoder_.encode(rows.x))
    x, y = EncodedRows(inputs.to(model.posterior_.theta)), rows.y
    if y.ndim == 2 and model.posterior_.likelihood.n_targets == 1:
        second, y = y[:, 1], y[:, 0]
        if model.likelihood_ in COUNT_FAMILIES:
            x = with_exposure(x, second, model.likelihood_)
        elif not second.all():
            return None
    return surprise_of(
        model.posterior_,
        x,
        y,
        rows.weight,
        members=family(model.likelihood_, model._task),
        units=model._units(),
        seed=seed,
    )
