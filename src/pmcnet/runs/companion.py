"""What goes along with the fit of a run: progress, history and checkpoints in the run's folder."""

import json
import time
from collections.abc import Callable
from typing import Any

from pmcnet import ais
from pmcnet.estimators.fitting import Companion
from pmcnet.estimators.plain import plain
from pmcnet.estimators.planning import Plan
from pmcnet.estimators.showing import Shown
from pmcnet.runs.folder import RunFolder

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
        self._n_steps: int | None = None
        self._written = time.monotonic()

    def stage(self, text: str) -> None:
        """A new part of the work begins."""
        self.shown.stage(text)

    def epoch(self, done: int, total: int) -> None:
        """One epoch of a start is done."""
        self.shown.epoch(done, total)

    def settled(self, plan: Plan, prior_std: float) -> ais.State | None:
        """Sampling begins."""
        self.when_settled(plan, prior_std)
        self._n_steps = getattr(plan.options, "n_steps", None)
        return self.state

    def annealed(self, state: ais.AnnealedState, record: ais.AnnealedRecord) -> None:
        """One temperature is done."""
        self.shown.annealed(state, record)
        self._note(state, record._asdict())

    def stepped(self, state: ais.PMCState, info: ais.PMCInfo) -> None:
        """One step is done."""
        self.shown.stepped(state, info)
        if state.step != self._n_steps:  # after the last step there is nothing to go on with
            self._note(state, {"step": state.step, "ess": info.samples.ess, "log_evidence": info.samples.log_evidence})

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
        self.latest = state  # after its line: a checkpoint never knows a step that the history lacks
        if time.monotonic() - self._written > SECONDS_BETWEEN_CHECKPOINTS:
            self.save()
