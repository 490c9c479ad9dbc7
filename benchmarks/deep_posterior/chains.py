"""Starting networks by Adam, and SGHMC chains from them until a budget is spent.

Processes of torchrun share both. All of them read the folder, and the first one writes it.
"""

import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from average import Average, scores_line
from checkpoint import Stage, load_stage, save_stage, seconds_since
from problem import Problem
from study import Study
from torch import Tensor

from pmcnet import ais
from pmcnet.ais.comm import agreed
from pmcnet.bnn import ModuleNetwork, at_prior_length
from pmcnet.methods import Restarts
from pmcnet.methods.training.state import TrainingState

# Parts of a state of SGHMC: networks at the beginning of the epoch, which have not diverged, and
# how often each chain was reset.
NETWORKS, N_RESETS = "good_theta", "n_resets"
_SECONDS_BETWEEN_CHECKPOINTS = 60.0


class BudgetSpent(Exception):
    """Ends the chains after an epoch."""


@dataclass(frozen=True)
class Run:
    """A study with one seed in a folder, where it goes on; seconds of earlier calls count."""

    study: Study
    problem: Problem
    seed: int
    budget: float
    folder: Path
    comm: ais.Communicator = ais.SERIAL

    def started(self) -> Stage:
        """The starting networks (P, D) with their average, trained where they are not there yet."""
        path = self.folder / "start.safetensors"
        if (stage := load_stage(path, self.problem.device)) is not None:
            return stage
        begun = time.monotonic()
        theta = self.trained(self.seed)
        seconds = self.seconds_since(begun)
        average = self.problem.added(self.problem.average(), theta)
        stage = Stage({"seconds": seconds}, {"theta": theta} | average._asdict())
        if self.comm.rank == 0:
            save_stage(path, stage)
            scores = scores_line(average.scores(self.problem.label))
            print(f"{len(theta)} networks trained in {seconds:.1f} s: {scores}", flush=True)
        return stage

    def seconds_since(self, begun: float) -> float:
        """Of the first process, so that all end at the same time."""
        return agreed(self.comm, seconds_since(begun, self.problem.device))

    def trained(self, seed: int) -> Tensor:
        """As many networks (P, D) as there are chains."""
        start, n = Restarts(self.study.adam), self.study.n_chains
        return start(self.problem.target, n, seed=seed, comm=self.comm)

    def sample(self) -> None:
        """Chains from the starting networks; at least one draw, whatever the budget."""
        start = self.started()
        target = self.problem.target
        assert isinstance(target.network, ModuleNetwork)
        scale = target.like.new_full((target.dim,), self.study.prior_variance**0.5)
        theta = at_prior_length(target.network, start.tensors["theta"], scale)
        observer = ChainObserver(self, start.record["seconds"])
        if observer.spent:
            return
        with suppress(BudgetSpent):
            self.study.chains.run(
                target,
                theta,
                seed=self.seed,
                state=observer.stage.state,
                observers=[observer],
                comm=self.comm,
                keep=False,
            )


class ChainObserver:
    """After each epoch: draws into the average, a line of history, every minute a checkpoint."""

    def __init__(self, run: Run, seconds: float) -> None:
        self.run, self.path = run, run.folder / "chains.safetensors"
        new = Stage({"seconds": seconds, "history": []}, run.problem.average()._asdict())
        self.stage = load_stage(self.path, run.problem.device) or new
        self.average = Average.of(self.stage.tensors)
        self.watched: dict[str, Tensor] = {
            name: self.stage.tensors[name]
            for name in ("log_density", "monitors")
            if name in self.stage.tensors
        }
        self.before, self.begun = float(self.stage.record["seconds"]), time.monotonic()
        self.saved = self.begun

    @property
    def spent(self) -> bool:
        """Whether nothing is left of the budget; there is at least one draw all the same."""
        return bool(self.stage.record["seconds"] >= self.run.budget and self.average.n > 0)

    def __call__(self, state: TrainingState, info: object = None) -> None:
        """One more epoch is done."""
        line: dict[str, Any] = {"epoch": state.epoch}
        if self.run.study.draws_at(state.epoch):
            line |= self._drawn(state.tensors[NETWORKS])
        record = self.stage.record
        record["seconds"] = self.before + self.run.seconds_since(self.begun)
        record["n_resets"] = int(state.tensors[N_RESETS].sum())
        record["history"].append(line | {"seconds": record["seconds"]})
        if self.run.comm.rank == 0:
            self._kept(line, state)
        if self.spent:
            raise BudgetSpent

    def _kept(self, line: dict[str, Any], state: TrainingState) -> None:
        """Print and save what the first process knows."""
        record = self.stage.record
        if "scores" in line:
            text = f"log pi {line['log_density']:.0f}, {scores_line(line['scores'])}"
            resets = f", {record['n_resets']} resets" if record["n_resets"] else ""
            print(f"{record['seconds']:.0f} s: epoch {state.epoch}, {text}{resets}", flush=True)
        if self.spent or time.monotonic() - self.saved > _SECONDS_BETWEEN_CHECKPOINTS:
            save_stage(self.path, Stage(record, self.average._asdict() | self.watched, state))
            self.saved = time.monotonic()

    def _drawn(self, theta: Tensor) -> dict[str, Any]:
        """Networks (P, D) into the average; log pi and predictions for R-hat."""
        problem = self.run.problem
        self.average = problem.added(self.average, theta)
        with torch.no_grad():
            new = {
                "log_density": problem.target.log_density(theta)[None],
                "monitors": problem.target.monitor(theta)[None].double(),
            }
        self.watched = {
            name: torch.cat([self.watched.get(name, part[:0]), part]) for name, part in new.items()
        }
        scores = self.average.scores(problem.label)
        return {"log_density": float(new["log_density"].mean()), "scores": scores}
