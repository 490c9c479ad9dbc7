"""PMCnet-light from networks trained by Adam; an interrupted run goes on from its last step."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pmcnet import ais
from pmcnet.bnn import BayesianTarget, ParticlePosterior, Population
from pmcnet.estimators.evaluation.figure_data import Record
from pmcnet.methods import Given, Restarts
from pmcnet.methods.point_estimates import MANY, ONE
from pmcnet.methods.training.state import EpochInfo
from pmcnet.paper.deep_settings import PRIOR_STD, DeepSettings
from pmcnet.paper.experiment import Say
from pmcnet.paper.paper_scores import problem_score, scores_line, since
from pmcnet.paper.problem import Problem
from pmcnet.paper.stages import Stages

Records = dict[str, Record]
"""Scores, seconds and more, by method."""


@dataclass(frozen=True)
class LightRun:
    """The starting networks and PMCnet-light with one seed."""

    problem: Problem
    settings: DeepSettings
    seed: int
    stages: Stages
    say: Say

    def records(self) -> Records:
        """One and all of the starting networks, PMCnet-light with exact and with equal weights."""
        key = f"light-{self.seed}"
        if (finished := self.stages.record(key)) is not None:
            return dict(finished)
        n_batches = max(1, len(self.problem.train[0]) // self.settings.batch_rows)
        target = self.problem.target(PRIOR_STD**2, n_batches=n_batches)
        state = self.stages.state(key, target.device)
        started = self.stages.record(f"start-{self.seed}")
        if state is None or started is None:
            state, started = self._started(target, key)
        assert isinstance(state, ais.PMCState)
        found: Records = started | self._sampled(target, state, key)
        self._tell(f": {scores_line(found)}")
        self.stages.keep_record(key, found)
        return found

    def _started(self, target: BayesianTarget, key: str) -> tuple[ais.PMCState, Records]:
        """The first proposals at trained networks, and the scores of these."""
        start, n_proposals = time.monotonic(), self.settings.n_proposals
        observers = [_epochs(self.say, f"{self.problem.name}: start")]
        adam = Restarts(self.settings.adam)
        loc = adam(target, n_proposals, seed=self.seed, observers=observers)
        seconds = since(start, target.device)
        one, many = Population.of(target, loc[:1], ONE), Population.of(target, loc, MANY)
        found = {
            "adam-mle": self._scored(one) | {"seconds": seconds},
            "ensemble": self._scored(many) | {"seconds": seconds},
        }
        method = self.settings.pmc(ais.pmcnet_light, Given(loc))
        state = method.algorithm.init(loc, sigma=self.settings.sigma, seed=self.seed)
        self.stages.keep_record(f"start-{self.seed}", found)
        self.stages.keep_state(key, state)
        trained = f"{n_proposals} networks trained in {seconds:.1f} s"
        self._tell(f": {trained}, {scores_line(found)}")
        return state, found

    def _sampled(self, target: BayesianTarget, state: ais.PMCState, key: str) -> Records:
        """PMCnet-light from its last step on, with both kinds of weights."""
        history, n_steps = f"history-{self.seed}", self.settings.n_steps
        lines: list[Record] = self.stages.record(history) or []
        del lines[state.step :]

        def after(state: ais.PMCState, info: ais.PMCInfo) -> None:
            seconds = info.phases
            lines.append({"step": state.step, "ess": info.ess, **seconds._asdict()})
            if state.step < n_steps:
                self.stages.keep_record(history, lines)
                self.stages.keep_state(key, state)
            self._tell(
                f", step {state.step} of {n_steps}: ESS {info.ess:.2f}, "
                f"{seconds.target:.2f} s for the weights, {seconds.moves:.2f} s for the moves"
            )

        method = self.settings.pmc(ais.pmcnet_light, Given(state.proposals.loc))
        posterior = method.fit(target, seed=self.seed, observers=[after], state=state).posterior
        own = {
            "seconds": sum(line["proposals"] + line["target"] + line["moves"] for line in lines),
            "phases": lines,
        }
        return {
            "pmcnet-light": self._scored(posterior) | own,
            "pmcnet-light, equal weights": self._scored(posterior.equally_weighted()) | own,
        }

    def _scored(self, posterior: ParticlePosterior) -> Record:
        return problem_score(self.problem, posterior, n_passes=self.settings.n_passes)

    def _tell(self, text: str) -> None:
        self.say(f"{self.problem.name}, seed {self.seed}{text}")


def _epochs(say: Say, what: str) -> Callable[[Any, EpochInfo], None]:
    """Progress of a training in about ten lines."""

    def report(state: Any, info: EpochInfo) -> None:
        last = info.epoch == info.n_epochs
        if last or info.epoch % max(1, info.n_epochs // 10) == 0:
            say(f"{what}, epoch {info.epoch} of {info.n_epochs}")

    return report
