"""Chains of deep networks until a budget is spent, their draws averaged on the way; they go on where they were."""

import time
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from pmcnet import ais
from pmcnet.bnn import ModuleNetwork, at_prior_length
from pmcnet.experiments.averaging import Average
from pmcnet.experiments.scoring import since
from pmcnet.experiments.study import Study, said
from pmcnet.methods.rounding import decisive
from pmcnet.methods.sae import prior_scale
from pmcnet.methods.sghmc import REASON, SGHMC
from pmcnet.methods.training_state import TrainingState
from pmcnet.runs.curves import Record, finite

_SECONDS_BETWEEN_CHECKPOINTS = 60.0
_MOST_EPOCHS = 1 << 20
_LAST_STEP = 0.02  # of a cycle, in the first one's
KEY = "chains"


class _SpentError(Exception):
    """The budget is spent."""


@dataclass
class Log:
    """What is known of a run after each step: seconds, history and the average of all draws, kept on disk.

    Args:
        study: whose run it is.
        before: seconds that were spent before the first step.
    """

    study: Study
    before: float
    average: Average = field(init=False)
    record: Record = field(init=False)
    tensors: dict[str, Tensor] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        stages, device = self.study.stages, self.study.device
        self.record = stages.record(KEY) or {"seconds": self.before, "history": [], "marks": {}}
        self.tensors = stages.tensors("draws", device)
        self.average = Average.of(self.tensors) if self.tensors else self.study.nothing()
        self.tensors = {name: part for name, part in self.tensors.items() if name not in Average._fields}
        self._scores = self.study.scores(self.average) if self.average.n > 0 else None
        self.before, self._begun = float(self.record["seconds"]), time.monotonic()
        self._saved = self._begun

    @property
    def spent(self) -> bool:
        """Whether nothing is left of the budget; there is at least one draw all the same."""
        return bool(self.record["seconds"] >= self.study.settings.budget and self.average.n > 0)

    def drawn(self, theta: Tensor) -> None:
        """Networks (P, D) that count."""
        self.average = self.study.added(self.average, theta)
        self._scores = self.study.scores(self.average)

    def step(self, line: Record, text: str, state: ais.ChainState | TrainingState) -> None:
        """One more step is done: a line of the history, what to say of it, and the state to go on from."""
        self.record["seconds"] = self.before + since(self._begun, self.study.device)
        self.record["history"].append(line | {"seconds": self.record["seconds"]})
        scores = self._scores
        self.study.told(f"{self.record['seconds']:.0f} s: {text}" + (f", {said(scores)}" if scores else ""))
        for mark in self.study.settings.marks:
            if self.record["seconds"] >= mark and str(mark) not in self.record["marks"] and scores:
                self.record["marks"][str(mark)] = scores
        if self.spent or time.monotonic() - self._saved > _SECONDS_BETWEEN_CHECKPOINTS:
            self.study.stages.keep_state(KEY, state)
            self.study.stages.keep_tensors("draws", self.average._asdict() | self.tensors)
            self.study.stages.keep_record(KEY, self.record)
            self._saved = time.monotonic()

    def finished(self, result: ais.ChainResult, **known: Any) -> Record:
        """The record with diagnostics and scores."""
        return self.record | diagnosed(result) | known | {"scores": self._scores}


def diagnosed(result: ais.ChainResult) -> Record:
    """Verdict, R-hat, ESS, drift and disagreement as plain data."""
    found = {"rhat": result.rhat, "ess": result.ess, "drift": result.drift}
    found |= dict(zip(("disagreement_within", "disagreement_between"), result.disagreement, strict=True))
    return {"verdict": list(result.verdict)} | {name: finite(value) for name, value in found.items()}


def begun(study: Study) -> tuple[Tensor, Record]:
    """The starting networks (P, D), and what they score."""
    stages, settings = study.stages, study.settings
    known, found = stages.record("start"), stages.tensors("start", study.device)
    if known is None or not found:
        start = time.monotonic()
        theta = settings.adam(study.target, settings.n_chains, seed=settings.seed)
        seconds = since(start, study.device)
        average = study.added(study.nothing(), theta)
        known = {"seconds": seconds, "scores": study.scores(average)}
        stages.keep_tensors("start", {"theta": theta} | average._asdict())
        stages.keep_record("start", known)
        found = {"theta": theta}
        study.told(f"{settings.n_chains} networks trained in {seconds:.1f} s: {said(known['scores'])}")
    return found["theta"], known


def hmc(study: Study, start: Tensor, seconds: float) -> tuple[Record, Tensor]:
    """Corrected trajectories on all rows: their record, and the averaged probabilities of the test rows.

    Args:
        study: what is sampled.
        start: networks (P, D).
        seconds: what they have taken.
    """
    theta, sigma, walked = _walked(study, start)
    log, settings = Log(study, seconds + walked), study.settings
    path = decisive(study.target, theta, sigma)
    sampler = ais.HMCPopulation(
        n_warmup=settings.n_warmup,
        n_draws=1 << 20,
        max_leapfrog=settings.max_leapfrog,
        adapt_scale=False,
        keep=False,
    )
    state = study.stages.state(KEY, study.device)
    if not isinstance(state, ais.ChainState):
        state = sampler.init(path, theta, seed=settings.seed, sigma=sigma)
    while not log.spent:
        state, line = sampler.step(state, path)
        if not line.warming:
            log.drawn(state.points.theta)
        text = f"log pi {line.log_density:.0f}, acceptance {line.acceptance:.2f}, {line.n_leapfrog} steps"
        log.step(line._asdict(), text, state)
    result = ais.ChainResult(state.kept, state.log_density, state.monitors, (), True, state.acceptance)
    return log.finished(result, energy_error=finite(path.arithmetic.error)), log.average.mean


def sghmc(study: Study, start: Tensor, seconds: float) -> tuple[Record, Tensor]:
    """Steps on mini-batches, draws after the epochs of the walk: record and averaged probabilities.

    In the metric of the Fisher information the step should stay as it is: where it rises suddenly, as between two
    cycles, by scales that were felt with small steps, chains are thrown out of their networks.

    Args:
        study: what is sampled.
        start: networks (P, D).
        seconds: what they have taken.
    """
    log, settings, target = Log(study, seconds), study.settings, study.target
    cycle = settings.cycle_epochs or _MOST_EPOCHS
    n_cycles = max(1, _MOST_EPOCHS // cycle)
    method = SGHMC(
        n_cycles=n_cycles,
        exploration=0.0,
        heating=0.5 * settings.walk_epochs / (n_cycles * cycle),
        last_step=_LAST_STEP if settings.cycle_epochs else 1.0,
        step=settings.walk_step,
        metric=settings.metric,
        friction=settings.friction,
        batch_size=settings.walk_batch,
        n_epochs=n_cycles * cycle,
    )
    assert isinstance(target.network, ModuleNetwork)
    start = at_prior_length(target.network, start, prior_scale(target))

    def after(state: TrainingState) -> None:
        theta = state.tensors["theta"]
        line: Record = {"epoch": state.epoch}
        if settings.draws_at(state.epoch):
            log.drawn(theta)
            with torch.no_grad():
                new = {"log_density": target.log_density(theta)[None], "monitors": target.monitor(theta)[None].double()}
            line["log_density"] = float(new["log_density"].mean())
            log.tensors = {name: torch.cat([log.tensors.get(name, part[:0]), part]) for name, part in new.items()}
        text = f"epoch {state.epoch}" + (f", log pi {line['log_density']:.0f}" if "log_density" in line else "")
        log.step(line, text, state)
        if log.spent:
            raise _SpentError

    state = study.stages.state(KEY, study.device)
    assert not isinstance(state, ais.ChainState | ais.PMCState | ais.AnnealedState)
    try:
        if not log.spent:
            method.walk(target, start, seed=settings.seed, state=state, observers=[after], keep=False)
    except _SpentError:
        pass
    result = ais.ChainResult(start[:0], log.tensors["log_density"], log.tensors["monitors"], (), True)
    return log.finished(result, verdict=["doubtful", REASON]), log.average.mean


def _walked(study: Study, start: Tensor) -> tuple[Tensor, Tensor, float]:
    """Where chains are after the walk on mini-batches, the scales it has found, and its seconds."""
    stages, settings = study.stages, study.settings
    known, found = stages.record("walk"), stages.tensors("walk", study.device)
    if known is None or not found:
        begun = time.monotonic()
        method = SGHMC.from_modes(
            step=settings.walk_step, batch_size=settings.walk_batch, n_epochs=settings.walk_epochs
        )
        walk = method.walk(study.target, start, seed=settings.seed, keep=False)
        known = {"seconds": since(begun, study.device)}
        found = {"theta": walk.theta, "sigma": walk.sigma}
        stages.keep_tensors("walk", found)
        stages.keep_record("walk", known)
        study.told(f"{settings.walk_epochs} epochs of the walk in {known['seconds']:.1f} s")
    return found["theta"], found["sigma"], float(known["seconds"])
