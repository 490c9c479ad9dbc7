"""One fit: rows held out where they are needed, the prior's scale, then the posterior."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Literal, NamedTuple, get_args

from torch import Tensor

from pmcnet import tune
from pmcnet.ais.comm import SERIAL, Communicator, agreed
from pmcnet.bnn import BayesianTarget, ParticlePosterior
from pmcnet.errors import InputError
from pmcnet.estimators.observer import FitObserver
from pmcnet.estimators.plan import Plan
from pmcnet.methods.base import Method, PriorSearch, Rows
from pmcnet.methods.cost import N_EVIDENCE_TRIALS, N_VALIDATION_TRIALS, SEARCH_ROWS

PriorStd = float | Literal["auto", "evidence", "validation"]

VALIDATION_SHARE = 0.2
LEAST_VALIDATED = 20
"""Rows below which none are held out."""
_WIDEST = 1e8  # prior, and its inverse the narrowest: squared gradients stay in single precision


class Outcome(NamedTuple):
    """The posterior, its history as plain data, the prior's scale, and how that was found."""

    posterior: ParticlePosterior
    history: list[dict[str, Any]]
    prior_std: float
    trials: list[dict[str, float]]
    search_seconds: float


class HeldOut(NamedTuple):
    """The target of the training rows, the validation rows, and how often each of these counts."""

    training: BayesianTarget
    validation: Rows
    weight: Tensor | None


def fit_posterior(
    target: BayesianTarget,
    plan: Plan,
    *,
    seed: int,
    prior_std: PriorStd,
    state: Any = None,
    observers: Sequence[FitObserver] = (),
    comm: Communicator = SERIAL,
) -> Outcome:
    """Fit by the planned method.

    Args:
        target: of all rows, in random order.
        plan: the method.
        seed: decides everything random.
        prior_std: how the prior's scale is found, or the scale, which the target then has.
        state: where to go on from.
        observers: watch the fit.
        comm: shares the work between processes.
    """
    method = plan.method
    for observer in observers:
        observer.planned(plan, None)
    if state is not None and not isinstance(state, method.state_types):
        raise InputError(
            f"the checkpoint holds a {type(state).__name__}, which {plan.name} cannot go on from. "
            "Fit again."
        )
    target = method.adapted(target)
    held_out = _held_out(target)
    search = _search(plan.name, method, prior_std, len(target.x))
    validation = None
    if method.needs_validation and held_out is not None:
        target, validation = held_out.training, held_out.validation
    method = method.prepared(
        target, seed=seed, state=state, observers=observers, comm=comm, validation=validation
    )
    trials: list[dict[str, float]] = []
    start = time.monotonic()
    if search is not None:
        found = _PriorSearch(method.trial(), seed, observers, comm)
        if search == "evidence":
            sigma, trials = found.by_evidence(target)
        else:
            assert held_out is not None
            sigma, trials = found.by_validation(held_out, validation)
        target = replace(target, prior=target.prior.rescaled(sigma))
    seconds = time.monotonic() - start if search is not None else 0.0
    method = method.after(agreed(comm, seconds))
    for observer in observers:
        observer.planned(plan, target.prior.sigma)
        observer.stage(f"{plan.name}: {method.work}")
    fitted = method.fit(
        target, seed=seed, state=state, observers=observers, comm=comm, validation=validation
    )
    history = [info.line() for info in fitted.history]
    return Outcome(fitted.posterior, history, target.prior.sigma, trials, seconds)


def check_prior_std(prior_std: PriorStd) -> None:
    """Raise where the prior's scale is neither a way to find it nor a sensible number."""
    if isinstance(prior_std, str):
        if prior_std not in get_args(get_args(PriorStd)[1]):
            raise InputError(
                f"prior_std must be auto, evidence, validation or a number; got {prior_std!r}."
            )
    elif not (isinstance(prior_std, Real) and 1 / _WIDEST <= prior_std <= _WIDEST):
        raise InputError(
            f"prior_std must be a positive number, a standard deviation from {1 / _WIDEST:g} to "
            f"{_WIDEST:g}; got {prior_std}. The network sees scaled data: begin with 1."
        )


def _held_out(target: BayesianTarget) -> HeldOut | None:
    """Validation rows, the last ones since the order is random; None where rows are few."""
    n_rows = len(target.x)
    if n_rows < LEAST_VALIDATED:
        return None
    n = n_rows - round(VALIDATION_SHARE * n_rows)
    training = replace(target.at(slice(0, n)), n_batches=min(target.n_batches, n))
    weight = None if target.weight is None else target.weight[n:]
    return HeldOut(training, (target.x[n:], target.y[n:]), weight)


def _search(name: str, method: Method, prior_std: PriorStd, n_rows: int) -> PriorSearch | None:
    """How the prior's scale is searched; None where it is given, or rows are too few."""
    if prior_std == "evidence" and method.prior_search != "evidence":
        raise InputError(
            "prior_std='evidence' needs the annealed method, whose evidence can be trusted; "
            f"{name} was chosen. Use prior_std='validation' or a number."
        )
    if not isinstance(prior_std, str) or method.prior_search is None:
        return None
    search = method.prior_search if prior_std == "auto" else prior_std
    if search == "validation" and n_rows < LEAST_VALIDATED:
        if prior_std == "auto":
            return None
        raise InputError(
            f"prior_std='validation' needs at least {LEAST_VALIDATED} different rows; got "
            f"{n_rows}. Give prior_std a number."
        )
    return search


@dataclass(frozen=True)
class _PriorSearch:
    """Finds the scale of a prior by short fits; see `fit_posterior`."""

    method: Method
    seed: int
    observers: Sequence[FitObserver]
    comm: Communicator

    def by_evidence(self, target: BayesianTarget) -> tuple[float, list[dict[str, float]]]:
        """The smallest scale whose log Z is within the noise of the largest, and all trials.

        Trials are runs on some of the rows.
        """
        self._say("searching the prior's scale by the evidence")
        found = tune.evidence_prior(
            target if len(target.x) <= SEARCH_ROWS else target.at(slice(0, SEARCH_ROWS)),
            self.method.sampler,
            seed=self.seed,
            n_trials=N_EVIDENCE_TRIALS,
            tolerance=0.2,
            progress=self._say_evidence,
            comm=self.comm,
        )
        best = max(trial.log_evidence for trial in found.trials)
        self._say(
            f"prior_std {found.sigma:.3g} is the smallest of {len(found.trials)} whose log Z is "
            f"within the noise of the best, {best:.1f}"
        )
        return found.sigma, [trial._asdict() for trial in found.trials]

    def by_validation(
        self, held_out: HeldOut, validation: Rows | None
    ) -> tuple[float, list[dict[str, float]]]:
        """The scale that predicts validation rows best, and all trials.

        Args:
            held_out: the rows.
            validation: those of them that fits are given.
        """
        self._say("searching the prior's scale on validation rows")
        found = tune.validation_prior(
            held_out.training,
            lambda target: (
                self.method.fit(
                    target, seed=self.seed, comm=self.comm, validation=validation
                ).posterior
            ),
            held_out.validation,
            weight=held_out.weight,
            n_trials=N_VALIDATION_TRIALS,
            progress=self._say_validation,
            comm=self.comm,
        )
        if not found.bracketed:
            self._say(f"prior_std {found.best:.3g} is an end of the range that is searched")
        trials = [{"sigma": sigma, "validation_nll": loss} for sigma, loss in found.trials]
        return found.best, trials

    def _say_evidence(self, trial: tune.Trial) -> None:
        error = trial.log_evidence_error
        known = f" +- {error:.1f}" if math.isfinite(error) else ""
        self._say(f"prior_std {trial.sigma:.3g}: log Z {trial.log_evidence:.1f}{known}")

    def _say_validation(self, sigma: float, loss: float) -> None:
        self._say(f"prior_std {sigma:.3g}: validation NLL {loss:.4g}")

    def _say(self, text: str) -> None:
        for observer in self.observers:
            observer.stage(text)
