"""What goes along with the fit of a run: progress, history and checkpoints in the run's folder."""

import json
import time
from collections.abc import Callable
from typing import Any

from pmcnet import ais
from pmcnet.ais.run import step_record
from pmcnet.estimators.fitting import Companion
from pmcnet.estimators.plain import plain
from pmcnet.estimators.planning import Plan
from pmcnet.estimators.showing import Shown
from pmcnet.runs.folder import RunFolder, read_lines

SECONDS_BETWEEN_CHECKPOINTS = 15.0


class RunCompanion(Companion):
    """Shows progress, writes `history.jsonl` line by line and now and then a checkpoint.

    Args:
        folder: of the run.
        shown: displays progress.
        when_settled: called with the plan and the prior's scale before sampling begins.
        state: to go on from.
    """

    def __init__(
        self,
        folder: RunFolder,
        shown: Shown,
        when_settled: Callable[[Plan, float], None],
        state: ais.State | None = None,
    ) -> None:
        self.folder, self.shown, self.when_settled, self.state = folder, shown, when_settled, state
        self.latest: ais.State | None = None
        self._last_step: int | None = None
        self._resumable = True
        self._steps: list[ais.StepRecord] = []
        self._started = self._written = time.monotonic()

    def stage(self, text: str) -> None:
        """A new part of the work begins."""
        self.shown.stage(text)

    def epoch(self, done: int, total: int) -> None:
        """One epoch of a start is done."""
        self.shown.epoch(done, total)

    def settled(self, plan: Plan, prior_std: float) -> ais.State | None:
        """Sampling begins."""
        self.when_settled(plan, prior_std)
        self._last_step = getattr(plan.options, "n_steps", None)
        # draws of earlier steps are in no state, so a run that keeps them can only begin again
        self._resumable = getattr(plan.options, "keep", "last") == "last"
        if isinstance(self.state, ais.PMCState):
            self._steps = [ais.StepRecord(**line) for line in read_lines(self.folder.history)]
        self._started = time.monotonic()
        return self.state

    def annealed(self, state: ais.AnnealedState, record: ais.AnnealedRecord) -> None:
        """One temperature is done."""
        self.shown.annealed(state, record)
        self._note(state, record._asdict())

    def stepped(self, state: ais.PMCState, info: ais.PMCInfo) -> None:
        """One step is done."""
        self.shown.stepped(state, info)
        self._steps.append(step_record(state, info, self._steps, time.monotonic() - self._started))
        self._note(state, self._steps[-1]._asdict())

    def save(self) -> bool:
        """Write the latest state, if there is one."""
        if self.latest is None:
            return False
        self.folder.checkpoint.parent.mkdir(exist_ok=True)
        ais.save_state(self.latest, self.folder.checkpoint)
        self._written = time.monotonic()
        return True

    def _note(self, state: ais.State, record: dict[str, Any]) -> None:
        with self.folder.history.open("a", encoding="utf-8") as file:
            file.write(json.dumps(plain(record)) + "\n")
        if not self._resumable or getattr(state, "step", None) == self._last_step:
            return  # after the last step there is nothing to go on with
        self.latest = state  # after its line: a checkpoint never knows a step that the history lacks
        if time.monotonic() - self._written > SECONDS_BETWEEN_CHECKPOINTS:
            self.save()
