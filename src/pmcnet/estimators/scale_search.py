"""The standard deviation of the prior by short fits: by the evidence, or on validation rows."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from torch import Tensor

from pmcnet import tune
from pmcnet.ais.comm import Communicator
from pmcnet.bnn import BayesianTarget
from pmcnet.errors import InputError
from pmcnet.estimators.formulation import PriorStd
from pmcnet.estimators.observer import FitObserver
from pmcnet.methods.base import Method, PriorSearch, Rows
from pmcnet.methods.cost import N_EVIDENCE_TRIALS, N_VALIDATION_TRIALS, SEARCH_ROWS

VALIDATION_SHARE = 0.2
LEAST_VALIDATED = 20
"""Rows below which none are held out."""


class HeldOut(NamedTuple):
    """The target of the training rows, the validation rows, and how often each of these counts."""

    training: BayesianTarget
    validation: Rows
    weight: Tensor | None


def held_out_of(target: BayesianTarget) -> HeldOut | None:
    """Validation rows, the last ones since the order is random; None where rows are few."""
    n_rows = len(target.x)
    if n_rows < LEAST_VALIDATED:
        return None
    n = n_rows - round(VALIDATION_SHARE * n_rows)
    training = replace(target.at(slice(0, n)), n_batches=min(target.n_batches, n))
    weight = None if target.weight is None else target.weight[n:]
    return HeldOut(training, (target.x[n:], target.y[n:]), weight)


def search_of(name: str, method: Method, prior_std: PriorStd, n_rows: int) -> PriorSearch | None:
    """How the prior's scale is searched; None where it is given, or rows are too few."""
    if prior_std == "evidence" and method.prior_search != "evidence":
        raise InputError(
            "prior_std='evidence' needs the annealed method, whose evidence can be trusted; "
            f"{name} was chosen. Use prior_std='validation' or a number."
        )
    if prior_std not in ("auto", "evidence", "validation") or method.prior_search is None:
        return None
    search: PriorSearch | None = "evidence" if prior_std == "evidence" else "validation"
    if prior_std == "auto":
        search = method.prior_search
    if search == "validation" and n_rows < LEAST_VALIDATED:
        if prior_std == "auto":
            return None
        raise InputError(
            f"prior_std='validation' needs at least {LEAST_VALIDATED} different rows; got "
            f"{n_rows}. Give prior_std a number."
        )
    return search


@dataclass(frozen=True)
class ScaleSearch:
    """Finds the scale of a prior by short fits.

    Args:
        method: of each fit.
        seed: of each.
        observers: watch the fit.
        comm: shares each fit between processes.
    """

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
