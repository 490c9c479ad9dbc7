"""Keeps the history and the checkpoints of a run in its folder while it is fitted."""

import json
import math
import os
import time
from collections.abc import Callable, Sequence
from typing import Any

from pmcnet.errors import InputError
from pmcnet.estimators.observer import Settled
from pmcnet.estimators.plan import Plan
from pmcnet.io.atomic import sync
from pmcnet.io.plain import plain
from pmcnet.methods.base import Method
from pmcnet.runs.checkpoints import Problem
from pmcnet.runs.folder import RunFolder
from pmcnet.runs.signals import Stopping

SECONDS_BETWEEN_CHECKPOINTS = 15.0
VARIABLE = "PMCNET_CHECKPOINT_SECONDS"
"""Of the environment: another number of seconds between checkpoints, 0 for one after every step."""


class RunObserver:
    """Writes `history.jsonl` line by line, now and then a checkpoint, and stops when asked to.

    A state that counts steps needs their lines, and stays as it is. One that counts none, of a
    training, holds its own history and is changed by the next epoch: it is saved at once or never.

    Args:
        folder: of the run.
        stop: knows of signals.
        settle: called with the plan before any training, and with likelihood, noise and prior when
            these are known; says what the states from then on belong to.
        lines: of the history up to the state the run goes on from; `before` is their seconds.
    """

    def __init__(
        self,
        folder: RunFolder,
        stop: Stopping,
        settle: Callable[[Plan, Settled | None], Problem],
        lines: Sequence[dict[str, Any]] = (),
    ) -> None:
        self.folder, self.stop, self.settle = folder, stop, settle
        self.lines = list(lines)
        self.before = float(self.lines[-1]["seconds"]) if self.lines else 0.0
        self._latest: Any = None
        self._method: Method | None = None
        self._problem: Problem = {}
        self._seconds = seconds_between_checkpoints()
        self._written = time.monotonic()

    def stage(self, text: str) -> None:
        """A new part of the work begins."""
        self.stop.check(stepping=False)

    def planned(self, plan: Plan, settled: Settled | None) -> None:
        """The method is known, and later likelihood, noise and prior."""
        self._problem, self._method = self.settle(plan, settled), plan.method

    def __call__(self, state: Any, info: Any) -> None:
        """One step is done."""
        assert self._method is not None
        if state is None:
            return
        if state.step:
            line = info.line()
            self._write(line | {"seconds": self.before + line["seconds"]})
        if self._method.can_continue(state):
            if self.stop.asked or time.monotonic() - self._written >= self._seconds:
                self._save(state)
            elif state.step:  # after its line: the history never lacks a step of a checkpoint
                self._latest = state
        self.stop.check(stepping=True)

    def save(self) -> None:
        """Write the latest state, if there is one that has not been written."""
        if self._latest is not None:
            self._save(self._latest)

    def _write(self, line: dict[str, Any]) -> None:
        self.lines.append(plain(line))
        with self.folder.history.open("a", encoding="utf-8") as file:
            file.write(json.dumps(self.lines[-1]) + "\n")

    def _save(self, state: Any) -> None:
        if self.folder.history.is_file():
            sync(self.folder.history)
        self.folder.checkpoints.save(state, self._problem)
        self._latest, self._written = None, time.monotonic()


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
