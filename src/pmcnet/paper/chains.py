"""Chains of deep networks until a budget is spent, their draws averaged on the way; they go on where they were."""

import time
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple

import torch
from torch import Tensor

from pmcnet import ais
from pmcnet.bnn import ModuleNetwork, at_prior_length
from pmcnet.bnn.overflow import refuse_diverged
from pmcnet.errors import InputError
from pmcnet.methods.checkpoint import AnyState
from pmcnet.methods.energy_precision import as_before, decisive
from pmcnet.methods.sae import prior_scale
from pmcnet.methods.sgmcmc.sghmc import SGHMC, reason
from pmcnet.methods.training.state import EpochInfo, TrainingState
from pmcnet.paper.averaging import Average
from pmcnet.paper.networks import read_networks
from pmcnet.paper.paper_scores import since
from pmcnet.paper.stages import Kept
from pmcnet.paper.study import Study, said
from pmcnet.runs.figure_data import Record, finite

_SECONDS_BETWEEN_CHECKPOINTS = 60.0
_MOST_EPOCHS = 1 << 20
_LAST_STEP = 0.02  # of a cycle, in the first one's
_REMEDY = "Use smaller steps (walk_step)."
KEY, START = "chains", "start"


class Sampled(NamedTuple):
    """A sampler's record, the averaged probabilities of the test rows (N, C), and the chains' last networks (P, D)."""

    record: Record
    probability: Tensor
    networks: Tensor


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
    tensors: dict[str, Tensor] = field(init=False)
    state: AnyState | None = field(init=False)

    def __post_init__(self) -> None:
        new = Kept(
            {"seconds": self.before, "history": [], "marks": {}},
            self.study.nothing()._asdict(),
            None,
        )
        self.record, kept, self.state = self.study.stages.kept(KEY, self.study.device) or new
        self.average = Average.of(kept)
        self.tensors = {name: part for name, part in kept.items() if name not in Average._fields}
        self._scores = self._before = (
            self.study.scores(self.average) if self.average.n > 0 else None
        )
        self.before, self._begun = float(self.record["seconds"]), time.monotonic()
        self._saved = self._begun
        self.study.stop.check(stepping=True)

    @property
    def spent(self) -> bool:
        """Whether nothing is left of the budget; there is at least one draw all the same."""
        return bool(self.record["seconds"] >= self.study.settings.budget and self.average.n > 0)

    def drawn(self, theta: Tensor) -> None:
        """Networks (P, D) that count."""
        refuse_diverged(self.study.target, theta, _REMEDY)
        self.average = self.study.added(self.average, theta)
        self._scores = self.study.scores(self.average)

    def step(self, line: Record, text: str, state: ais.ChainState | TrainingState) -> None:
        """One more step is done: a line of the history, what to say of it, and the state to go on from."""
        before, stop = self.record["seconds"], self.study.stop
        self.record["seconds"] = self.before + since(self._begun, self.study.device)
        self.record["history"].append(line | {"seconds": self.record["seconds"]})
        scores = self._scores
        self.study.told(
            f"{self.record['seconds']:.0f} s: {text}" + (f", {said(scores)}" if scores else "")
        )
        for mark in self.study.settings.marks:
            if before < mark <= self.record["seconds"] and self._before:
                self.record["marks"][str(mark)] = self._before
        self._before = scores
        if (
            self.spent
            or stop.asked
            or time.monotonic() - self._saved > _SECONDS_BETWEEN_CHECKPOINTS
        ):
            self.study.stages.keep(KEY, self.record, self.average._asdict() | self.tensors, state)
            self._saved = time.monotonic()
        stop.check(stepping=True)

    def finished(self, result: ais.ChainResult, **known: Any) -> Record:
        """The record with diagnostics and scores."""
        self.study.stop.check(stepping=False)
        return self.record | diagnosed(result) | known | {"scores": self._scores}


def diagnosed(result: ais.ChainResult) -> Record:
    """Verdict, R-hat, ESS, drift and disagreement as plain data."""
    found = {"rhat": result.rhat, "ess": result.ess, "drift": result.drift, "unrest": result.unrest}
    found |= dict(
        zip(("disagreement_within", "disagreement_between"), result.disagreement, strict=True)
    )
    return {"verdict": list(result.verdict)} | {
        name: finite(value) for name, value in found.items()
    }


def begun(study: Study) -> tuple[Tensor, Record]:
    """The starting networks (P, D), and what they score."""
    stages, settings = study.stages, study.settings
    kept = stages.kept(START, study.device)
    if kept is None:
        start = time.monotonic()
        theta = _first(study)
        seconds = since(start, study.device)
        average = study.added(study.nothing(), theta)
        record: Record = {"seconds": seconds, "scores": study.scores(average)}
        kept = Kept(record, {"theta": theta} | average._asdict(), None)
        stages.keep(START, *kept)
        how = "read" if settings.start else "trained"
        study.told(
            f"{settings.n_chains} networks {how} in {seconds:.1f} s: {said(record['scores'])}"
        )
    return kept.tensors["theta"], kept.record


def _first(study: Study) -> Tensor:
    """Networks (P, D), read or trained."""
    settings = study.settings
    if not settings.start:
        return settings.adam(study.target, settings.n_chains, seed=settings.seed)
    theta = read_networks(settings.start, study.target)
    if len(theta) != settings.n_chains:
        raise InputError(
            f"{settings.start} holds {len(theta)} networks for {settings.n_chains} chains "
            "(--chains)."
        )
    return theta


def hmc(study: Study, start: Tensor, seconds: float) -> Sampled:
    """Corrected trajectories on all rows.

    Args:
        study: what is sampled.
        start: networks (P, D).
        seconds: what they have taken.
    """
    theta, sigma, walked = _walked(study, start)
    log, settings = Log(study, seconds + walked), study.settings
    sampler = ais.HMCPopulation(
        n_warmup=settings.n_warmup,
        n_draws=1 << 20,
        max_leapfrog=settings.max_leapfrog,
        adapt_scale=False,
        keep=False,
    )
    state = log.state
    if isinstance(state, ais.ChainState):
        path = as_before(study.target, state.arithmetic)
    else:
        path = decisive(study.target, theta, sigma)
        state = sampler.init(path, theta, seed=settings.seed, sigma=sigma)
    while not log.spent:
        state, line = sampler.step(state, path)
        if not line.warming:
            log.drawn(state.points.theta)
        text = f"log pi {line.log_density:.0f}, acceptance {line.acceptance:.2f}, {line.n_leapfrog} steps"
        log.step(line._asdict(), text, state)
    result = ais.ChainResult(
        state.kept, state.log_density, state.monitors, (), True, state.acceptance
    )
    record = log.finished(result, energy_error=finite(path.arithmetic.error))
    return Sampled(record, log.average.mean, state.points.theta)


def sghmc(study: Study, start: Tensor, seconds: float) -> Sampled:
    """Steps on mini-batches, draws after the epochs of the walk.

    In the metric of the Fisher information the step should stay as it is: where it rises suddenly,
    as between two cycles, by scales that were felt with small steps, chains are thrown out of their
    networks.

    Args:
        study: what is sampled.
        start: networks (P, D).
        seconds: what they have taken.
    """
    log, settings, target = Log(study, seconds), study.settings, study.target
    if log.average.n == 0:
        first = next(epoch for epoch in count(1) if settings.draws_at(epoch))
        study.told(f"the first draws come after epoch {first}, whatever the budget")
    cycle = settings.cycle_epochs or _MOST_EPOCHS
    n_cycles = max(1, _MOST_EPOCHS // cycle)
    method = SGHMC(
        n_cycles=n_cycles,
        exploration=0.0,
        heating=0.5 * settings.walk_epochs / (n_cycles * cycle),
        cold_step=settings.cold_step,
        last_step=_LAST_STEP if settings.cycle_epochs else 1.0,
        step=settings.walk_step,
        metric=settings.metric,
        information=settings.information,
        friction=settings.friction,
        batch_size=settings.walk_batch,
        n_epochs=n_cycles * cycle,
    )
    assert isinstance(target.network, ModuleNetwork)
    if not settings.start:
        start = at_prior_length(target.network, start, prior_scale(target))
    theta = start

    def after(state: TrainingState, info: EpochInfo) -> None:
        nonlocal theta
        theta = state.tensors[
            "good_theta"
        ]  # where the epoch began: what its steps did last is not known yet
        log.record["n_returns"] = int(state.tensors["n_resets"].sum())
        line: Record = {"epoch": state.epoch}
        if settings.draws_at(state.epoch):
            log.drawn(theta)
            with torch.no_grad():
                new = {
                    "log_density": target.log_density(theta)[None],
                    "monitors": target.monitor(theta)[None].double(),
                }
            line["log_density"] = float(new["log_density"].mean())
            log.tensors = {
                name: torch.cat([log.tensors.get(name, part[:0]), part])
                for name, part in new.items()
            }
        text = f"epoch {state.epoch}" + (
            f", log pi {line['log_density']:.0f}" if "log_density" in line else ""
        )
        text += f", {n} times diverged and reset" if (n := log.record["n_returns"]) else ""
        log.step(line, text, state)
        if log.spent:
            raise _SpentError

    state = log.state
    assert not isinstance(state, ais.ChainState | ais.PMCState | ais.AnnealedState)
    if state is not None:
        theta = state.tensors["good_theta"]
    try:
        if not log.spent:
            method.run(
                target, start, seed=settings.seed, state=state, observers=[after], keep=False
            )
    except _SpentError:
        pass
    result = ais.ChainResult(
        start[:0], log.tensors["log_density"], log.tensors["monitors"], (), True
    )
    verdict = ["doubtful", reason(log.record.get("n_returns", 0))]
    return Sampled(log.finished(result, verdict=verdict), log.average.mean, theta)


def _walked(study: Study, start: Tensor) -> tuple[Tensor, Tensor, float]:
    """Where chains are after the walk on mini-batches, the scales it has found, and its seconds."""
    stages, settings = study.stages, study.settings
    kept = stages.kept("walk", study.device)
    if kept is None:
        begun = time.monotonic()
        method = SGHMC.from_modes(
            step=settings.walk_step, batch_size=settings.walk_batch, n_epochs=settings.walk_epochs
        )
        walk = method.run(study.target, start, seed=settings.seed, keep=False)
        refuse_diverged(study.target, walk.theta, _REMEDY)
        kept = Kept(
            {"seconds": since(begun, study.device)},
            {"theta": walk.theta, "sigma": walk.sigma},
            None,
        )
        stages.keep("walk", *kept)
        study.told(f"{settings.walk_epochs} epochs of the walk in {kept.record['seconds']:.1f} s")
    return kept.tensors["theta"], kept.tensors["sigma"], float(kept.record["seconds"])
