"""What goes along with the fit of a run: progress, history and checkpoints in the run's folder."""

import json
import math
import os
import time
from collections.abc import Callable, Sequence
from typing import Any

from pmcnet import ais
from pmcnet.ais.sampler import step_record
from pmcnet.errors import InputError
from pmcnet.estimators.observer import Companion
from pmcnet.estimators.plan import Plan
from pmcnet.estimators.progress_display import Shown
from pmcnet.io.atomic import sync
from pmcnet.io.plain import plain
from pmcnet.methods.checkpoint import AnyState
from pmcnet.methods.training.state import TrainingObserver, TrainingState
from pmcnet.runs.checkpoints import Problem
from pmcnet.runs.folder import RunFolder
from pmcnet.runs.signals import Stopping

SECONDS_BETWEEN_CHECKPOINTS = 15.0
VARIABLE = "PMCNET_CHECKPOINT_SECONDS"
"""Of the environment: another number of seconds between checkpoints, 0 for one after every step."""


class RunCompanion(Companion):
    """Shows progress, writes `history.jsonl` line by line, now and then a checkpoint, and stops when asked to.

    Args:
        folder: of the run.
        shown: displays progress.
        stop: knows of signals.
        settle: called with the plan before any training, and with the prior's scale when that is
            known; says what the states from then on belong to.
        state: to go on from.
        lines: of the history up to that state; the seconds of its steps are `before`.
    """

    def __init__(
        self,
        folder: RunFolder,
        shown: Shown,
        stop: Stopping,
        settle: Callable[[Plan, float | None], Problem],
        state: AnyState | None = None,
        lines: Sequence[dict[str, Any]] = (),
    ) -> None:
        self.folder, self.shown, self.stop, self.settle, self.state = (
            folder,
            shown,
            stop,
            settle,
            state,
        )
        self.lines = list(lines)
        self.latest: ais.State | None = None
        self._steps = (
            [ais.StepRecord(**line) for line in lines] if isinstance(state, ais.PMCState) else []
        )
        self._problem: Problem = {}
        self._last_step: int | None = None
        self._resumable = True
        self._seconds = seconds_between_checkpoints()
        self.before = float(self.lines[-1]["seconds"]) if self.lines else 0.0
        self._started = self._written = time.monotonic()

    def stage(self, text: str) -> None:
        """A new part of the work begins."""
        self.shown.stage(text)
        self.stop.check(stepping=False)

    def epoch(self, done: int, total: int) -> None:
        """One epoch is done."""
        self.shown.epoch(done, total)

    def planned(self, plan: Plan) -> None:
        """The method is known."""
        self._problem = self.settle(plan, None)

    def resumed(self) -> AnyState | None:
        """The state to go on from."""
        return self.state

    def settled(self, plan: Plan, prior_std: float) -> None:
        """Sampling or training begins."""
        self._problem = self.settle(plan, prior_std)
        self._last_step = getattr(plan.options, "n_steps", None)
        # draws of earlier steps are in no state, so a run that keeps them can only begin again
        self._resumable = getattr(plan.options, "keep", "last") == "last"
        self._started = time.monotonic()

    def annealed(self, state: ais.AnnealedState, record: ais.AnnealedRecord) -> None:
        """One temperature is done."""
        self.shown.annealed(state, record)
        self._note(state, record._replace(seconds=self.before + record.seconds)._asdict())

    def chained(self, state: ais.ChainState, record: ais.ChainRecord) -> None:
        """One trajectory of every chain is done."""
        self.shown.chained(state, record)
        self._note(state, record._replace(seconds=self.before + record.seconds)._asdict())

    def stepped(self, state: ais.PMCState, info: ais.PMCInfo) -> None:
        """One step is done."""
        self.shown.stepped(state, info)
        seconds = self.before + time.monotonic() - self._started
        self._steps.append(step_record(state, info, self._steps, seconds))
        self._note(state, self._steps[-1]._asdict())

    def observers(self) -> Sequence[TrainingObserver]:
        """Who is shown the state of a training after each epoch."""
        return (self.trained,)

    def trained(self, state: TrainingState) -> None:
        """One epoch of a training is done; its state is saved now or not at all, for the next epoch changes it."""
        if self.stop.asked or self._is_time():
            self._save(state)
        self.stop.check(stepping=True)

    def save(self) -> None:
        """Write the sampler's latest state, if there is one that has not been written."""
        if self.latest is not None:
            self._save(self.latest)

    def _note(self, state: ais.State, record: dict[str, Any]) -> None:
        self.lines.append(plain(record))
        with self.folder.history.open("a", encoding="utf-8") as file:
            file.write(json.dumps(self.lines[-1]) + "\n")
        if (
            self._resumable and getattr(state, "step", None) != self._last_step
        ):  # else nothing is left to go on with
            self.latest = (
                state  # after its line: a checkpoint never knows a step that the history lacks
            )
            if self._is_time():
                self._save(state)
        self.stop.check(stepping=True)

    def _is_time(self) -> bool:
        return time.monotonic() - self._written >= self._seconds

    def _save(self, state: AnyState) -> None:
        if self.folder.history.is_file():
            sync(self.folder.history)
        self.folder.checkpoints.save(state, self._problem)
        self.latest, self._written = None, time.monotonic()


def seconds_between_checkpoints() -> float:
    """What the environment says, or the default."""
    text = os.environ.get(VARIABLE, "")
    try:
        seconds = float(text) if text else SECONDS_BETWEEN_CHECKPOINTS
    except ValueError:
        seconds = math.nan
    if not seconds >= 0:
        raise InputError(
            f"the environment variable {VARIABLE} must be a number of seconds, 0 or more; got "
            f"{text:.40}."
        )
    return seconds
