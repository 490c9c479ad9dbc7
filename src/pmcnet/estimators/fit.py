"""One fit: what is open is settled, rows are held out where they are needed, then the posterior."""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from pmcnet.ais.comm import SERIAL, Communicator, agreed
from pmcnet.bnn import BayesianTarget, ParticlePosterior
from pmcnet.errors import InputError
from pmcnet.estimators.formulation import Formulation
from pmcnet.estimators.formulation_search import Asked, FormulationSearch
from pmcnet.estimators.model_rows import ModelRows
from pmcnet.estimators.observer import FitObserver
from pmcnet.estimators.plan import Plan
from pmcnet.estimators.scale_search import ScaleSearch, held_out_of, search_of


class Outcome(NamedTuple):
    """The posterior, its target, its history as plain data, what was settled, and how.

    `plan` is the one that was followed, `comparisons` are those of models by the evidence, `trials`
    those of the prior's scale.
    """

    plan: Plan
    posterior: ParticlePosterior
    target: BayesianTarget
    history: list[dict[str, Any]]
    formulation: Formulation
    reason: str
    comparisons: list[dict[str, Any]]
    trials: list[dict[str, float]]
    search_seconds: float


def fit_posterior(
    rows: ModelRows,
    plan: Plan,
    asked: Asked,
    *,
    seed: int,
    state: Any = None,
    observers: Sequence[FitObserver] = (),
    comm: Communicator = SERIAL,
) -> Outcome:
    """Fit by the planned method.

    Args:
        rows: all of them, in random order.
        plan: the method.
        asked: what the settings say of likelihood, noise and prior.
        seed: decides everything random.
        state: where to go on from.
        observers: watch the fit.
        comm: shares the work between processes.
    """
    method = plan.method
    for observer in observers:
        observer.planned(plan, None)
    _check_state(state, plan, *([] if plan.chains is None else [plan.chains]))
    start = time.monotonic()
    search = FormulationSearch(rows, asked, plan.name, method, plan.seconds, seed, observers, comm)
    settled = search.found()
    followed = plan.for_noise(settled.formulation.noise, settled.information)
    if followed is not plan:
        plan, method = followed, followed.method
        for observer in observers:
            observer.stage(plan.reason)
    _check_state(state, plan)
    seconds = time.monotonic() - start if settled.comparisons else 0.0
    target = method.adapted(rows.target(settled.formulation))
    held_out = held_out_of(target)
    scale = search_of(plan.name, method, settled.scale, len(target.x))
    validation = None
    if method.needs_validation and held_out is not None:
        target, validation = held_out.training, held_out.validation
    method = method.prepared(
        target, seed=seed, state=state, observers=observers, comm=comm, validation=validation
    )
    trials: list[dict[str, float]] = []
    start = time.monotonic()
    if scale is not None:
        found = ScaleSearch(method.trial(), seed, observers, comm)
        if scale == "evidence":
            sigma, trials = found.by_evidence(target)
        else:
            assert held_out is not None
            sigma, trials = found.by_validation(held_out, validation)
        target = replace(target, prior=target.prior.rescaled(sigma))
        settled = settled.with_prior(sigma)
        seconds += time.monotonic() - start
    method = method.after(agreed(comm, seconds))
    for observer in observers:
        observer.planned(plan, settled)
        observer.stage(f"{plan.name}: {method.work}")
    fitted = method.fit(
        target, seed=seed, state=state, observers=observers, comm=comm, validation=validation
    )
    return Outcome(
        plan,
        fitted.posterior,
        target,
        [info.line() for info in fitted.history],
        settled.formulation,
        settled.reason,
        [each._asdict() for each in settled.comparisons],
        trials,
        seconds,
    )


def _check_state(state: Any, *plans: Plan) -> None:
    """Refuse a state that no method of these plans goes on from."""
    if state is None or any(isinstance(state, each.method.state_types) for each in plans):
        return
    raise InputError(
        f"the checkpoint holds a {type(state).__name__}, which {plans[0].name} cannot go on from. "
        "Fit again."
    )
