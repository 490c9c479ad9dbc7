"""One fit: the prior's scale, then the posterior, by the planned method."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from pmcnet import ais, tune
from pmcnet.bnn import BayesianTarget, ParticlePosterior
from pmcnet.errors import InputError
from pmcnet.estimators.observer import Companion
from pmcnet.estimators.plan import N_SEARCH, N_TRIALS, N_VALIDATED, SEARCH_ROWS, Plan
from pmcnet.methods import AnnealedMethod, Given, PMCMethod
from pmcnet.methods.checkpoint import AnyState
from pmcnet.methods.hmc import HMCMethod
from pmcnet.methods.registry import HMCOptions
from pmcnet.methods.training.loop import Trained
from pmcnet.methods.training.state import TrainingState

PriorStd = float | Literal["auto", "evidence", "validation"]
Rows = tuple[Tensor, Tensor]
Weight = Tensor | None

VALIDATION_SHARE = 0.2
LEAST_VALIDATED = 20
"""Rows below which none are held out."""
_SEARCH_STEPS = 5


class Outcome(NamedTuple):
    """The posterior, its history as plain data, the prior's scale, the trials that chose it and what they took."""

    posterior: ParticlePosterior
    history: list[dict[str, Any]]
    prior_std: float
    trials: list[dict[str, float]]
    search_seconds: float


class _Searched(NamedTuple):
    """The target with the prior that was found, what was tried, and the seconds it took."""

    target: BayesianTarget
    trials: list[dict[str, float]]
    seconds: float


@dataclass(frozen=True)
class Fitting:
    """What a fit needs besides the target.

    Args:
        plan: the method.
        prior_std: how the prior's scale is found, or the scale.
        seed: decides everything random.
        companion: told of progress.
        comm: shares the work between processes.
    """

    plan: Plan
    prior_std: PriorStd
    seed: int
    companion: Companion
    comm: ais.Communicator = ais.SERIAL

    def run(self, target: BayesianTarget) -> Outcome:
        """Fit."""
        method = self.plan.options.method(self.plan.name)
        self.companion.planned(self.plan)
        if isinstance(method, AnnealedMethod):
            return self._annealed(method, target)
        if isinstance(method, HMCMethod):
            return self._hmc(method, target)
        if isinstance(method, Trained):
            return self._trained(method, target)
        return self._pmc(method, target)

    def _annealed(self, method: AnnealedMethod, target: BayesianTarget) -> Outcome:
        trials: list[dict[str, float]] = []
        seconds = 0.0
        how = "evidence" if self.prior_std == "auto" else self.prior_std
        searcher = replace(method.sampler, n_particles=min(N_SEARCH, method.sampler.n_particles))
        if how == "evidence":
            target, trials, seconds = self._by_evidence(target, searcher)
        elif how == "validation":
            training, validation, counts = self._held_out(target)
            fit = AnnealedMethod(sampler=searcher).fit
            target, trials, seconds = self._validated(
                target,
                training,
                validation,
                counts,
                lambda t: fit(t, seed=self.seed, comm=self.comm).posterior,
            )
        state = self.companion.resumed()
        if not isinstance(state, ais.AnnealedState | None):
            raise self._of_another_method(state)
        self.companion.settled(self.plan, target.prior.sigma)
        self.companion.stage(f"annealing {method.sampler.n_particles} networks")
        observers = [self.companion.annealed]
        fitted = method.fit(
            target, seed=self.seed, observers=observers, state=state, comm=self.comm
        )
        return Outcome(
            fitted.posterior,
            [r._asdict() for r in fitted.history],
            target.prior.sigma,
            trials,
            seconds,
        )

    def _by_evidence(self, target: BayesianTarget, searcher: ais.AnnealedPMC) -> _Searched:
        """The prior at which log Z is largest, by short runs on some of the rows."""
        self.companion.stage("searching the prior's scale by the evidence")
        start = time.monotonic()
        some = target if len(target.x) <= SEARCH_ROWS else target.at(slice(0, SEARCH_ROWS))
        found = tune.evidence_prior(
            some,
            searcher,
            seed=self.seed,
            n_trials=N_TRIALS,
            tolerance=0.2,
            progress=self._tell_evidence,
            comm=self.comm,
        )
        chosen = replace(target, prior=target.prior.rescaled(found.sigma))
        return _Searched(
            chosen, [trial._asdict() for trial in found.trials], time.monotonic() - start
        )

    def _pmc(self, method: PMCMethod, target: BayesianTarget) -> Outcome:
        self._refuse_evidence()
        trials: list[dict[str, float]] = []
        seconds = 0.0
        training, validation, counts = target, None, None
        if len(target.x) >= LEAST_VALIDATED:
            training, validation, counts = self._held_out(target)
        state = self.companion.resumed()
        if not isinstance(state, ais.PMCState | TrainingState | None):
            raise self._of_another_method(state)
        started = method
        if not isinstance(state, ais.PMCState):
            started, state = (
                replace(method, start=self._start(method, training, validation, state)),
                None,
            )
        if self.prior_std == "validation" and validation is None:
            raise InputError(
                f"prior_std='validation' needs at least {LEAST_VALIDATED} different rows; got "
                f"{len(target.x)}. "
                "Give prior_std a number."
            )
        if isinstance(self.prior_std, str) and validation is not None:
            shorter = replace(started, n_steps=min(_SEARCH_STEPS, method.n_steps))
            training, trials, seconds = self._validated(
                training,
                training,
                validation,
                counts,
                lambda t: shorter.fit(t, seed=self.seed, comm=self.comm).posterior,
            )
        self.companion.settled(self.plan, training.prior.sigma)
        self.companion.stage(f"{method.n_steps} steps of {self.plan.name}")
        observers = [self.companion.stepped]
        fitted = started.fit(
            training, seed=self.seed, observers=observers, state=state, comm=self.comm
        )
        return Outcome(
            fitted.posterior,
            [r._asdict() for r in fitted.history],
            training.prior.sigma,
            trials,
            seconds,
        )

    def _hmc(self, method: HMCMethod, target: BayesianTarget) -> Outcome:
        self._refuse_evidence()
        trials: list[dict[str, float]] = []
        seconds = 0.0
        if isinstance(self.prior_std, str) and (
            len(target.x) >= LEAST_VALIDATED or self.prior_std == "validation"
        ):
            training, rows, counts = self._held_out(target)
            assert isinstance(self.plan.options, HMCOptions)
            shorter = self.plan.options.shorter().method(self.plan.name).fit
            target, trials, seconds = self._validated(
                target, training, rows, counts, lambda t: shorter(t, seed=self.seed).posterior
            )
        state = self.companion.resumed()
        if not isinstance(state, ais.ChainState | TrainingState | None):
            raise self._of_another_method(state)
        self.companion.settled(self.plan, target.prior.sigma)
        if state is None or (isinstance(state, TrainingState) and state.stage == "start"):
            method, state = replace(method, start=self._start(method, target, None, state)), None
        self.companion.stage(f"{method.n_chains} chains of {method.sampler.n_steps} trajectories")
        fitted = method.fit(
            target,
            seed=self.seed,
            observers=[self.companion.chained],
            progress=self.companion.epoch,
            state=state,
            training=self.companion.observers(),
        )
        return Outcome(
            fitted.posterior,
            [r._asdict() for r in fitted.history],
            target.prior.sigma,
            trials,
            seconds,
        )

    def _start(
        self,
        method: PMCMethod | HMCMethod,
        training: BayesianTarget,
        validation: Rows | None,
        state: TrainingState | None,
    ) -> Given:
        """The networks that proposals or chains begin at."""
        n = method.n_proposals if isinstance(method, PMCMethod) else method.n_chains
        self.companion.stage(f"training {n} networks to start from")
        loc = method.start(
            training,
            n,
            seed=self.seed,
            validation=validation,
            progress=self.companion.epoch,
            state=state,
            observers=self.companion.observers(),
            comm=self.comm,
        )
        return Given(loc)

    def _trained(self, method: Trained, target: BayesianTarget) -> Outcome:
        """Train; the prior's scale on validation rows, which methods that need none then get for training."""
        self._refuse_evidence()
        trials: list[dict[str, float]] = []
        seconds = 0.0
        validated = len(target.x) >= LEAST_VALIDATED
        training, validation, _ = self._held_out(target) if validated else (target, None, None)
        if (
            isinstance(self.prior_std, str)
            and method.has_prior
            and (validated or self.prior_std == "validation")
        ):
            training, rows, counts = self._held_out(target)
            target, trials, seconds = self._validated(
                target,
                training,
                rows,
                counts,
                lambda t: method.fit(t, seed=self.seed, validation=rows).posterior,
            )
            training = replace(training, prior=target.prior)
        state = self.companion.resumed()
        if not isinstance(state, TrainingState | None):
            raise self._of_another_method(state)
        self.companion.settled(self.plan, target.prior.sigma)
        self.companion.stage(f"training by {self.plan.name}")
        chosen = training if method.needs_validation else target
        fitted = method.fit(
            chosen,
            seed=self.seed,
            validation=validation if method.needs_validation else None,
            progress=self.companion.epoch,
            state=state,
            observers=self.companion.observers(),
        )
        return Outcome(
            fitted.posterior,
            [r._asdict() for r in fitted.history],
            target.prior.sigma,
            trials,
            seconds,
        )

    def _of_another_method(self, state: AnyState) -> InputError:
        return InputError(
            f"the checkpoint holds a {type(state).__name__}, which {self.plan.name} cannot go on "
            "from. Fit again."
        )

    def _refuse_evidence(self) -> None:
        if self.prior_std == "evidence":
            raise InputError(
                "prior_std='evidence' needs the annealed method, whose evidence can be trusted; "
                f"{self.plan.name} was "
                "chosen. Use prior_std='validation' or a number."
            )

    def _held_out(self, target: BayesianTarget) -> tuple[BayesianTarget, Rows, Weight]:
        """Training rows, validation rows and how often these count: the order is random, so the last ones serve."""
        if len(target.x) < LEAST_VALIDATED:
            raise InputError(
                f"prior_std='validation' needs at least {LEAST_VALIDATED} different rows; got "
                f"{len(target.x)}. "
                "Give prior_std a number."
            )
        n_training = len(target.x) - round(VALIDATION_SHARE * len(target.x))
        training = replace(
            target.at(slice(0, n_training)), n_batches=min(target.n_batches, n_training)
        )
        counts = None if target.weight is None else target.weight[n_training:]
        return training, (target.x[n_training:], target.y[n_training:]), counts

    def _validated(
        self,
        target: BayesianTarget,
        training: BayesianTarget,
        validation: Rows,
        counts: Weight,
        fit: Callable[[BayesianTarget], ParticlePosterior],
    ) -> _Searched:
        self.companion.stage("searching the prior's scale on validation rows")
        start = time.monotonic()
        found = tune.validation_prior(
            training,
            fit,
            validation,
            weight=counts,
            n_trials=N_VALIDATED,
            progress=self._tell_validation,
            comm=self.comm,
        )
        trials = [{"sigma": sigma, "validation_nll": loss} for sigma, loss in found.trials]
        if not found.bracketed:
            self.companion.stage(
                f"prior_std {found.best:.3g} is an end of the range that is searched"
            )
        chosen = replace(target, prior=target.prior.rescaled(found.best))
        return _Searched(chosen, trials, time.monotonic() - start)

    def _tell_evidence(self, trial: tune.Trial) -> None:
        error = (
            f" +- {trial.log_evidence_error:.1f}"
            if torch.isfinite(torch.tensor(trial.log_evidence_error))
            else ""
        )
        self.companion.stage(f"prior_std {trial.sigma:.3g}: log Z {trial.log_evidence:.1f}{error}")

    def _tell_validation(self, sigma: float, loss: float) -> None:
        self.companion.stage(f"prior_std {sigma:.3g}: validation NLL {loss:.4g}")
