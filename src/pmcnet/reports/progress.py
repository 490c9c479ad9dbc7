"""Progress of an annealed run and of a whole fit: a bar on a terminal, plain lines elsewhere."""

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

from pmcnet.ais import (
    AnnealedRecord,
    AnnealedState,
    ChainRecord,
    ChainState,
    PMCInfo,
    PMCState,
    forecast,
)

SECONDS_BETWEEN_LINES = 5.0
"""Where there is no terminal, lines of progress are at least this far apart."""


class _Display:
    """A bar that is shown on a terminal only."""

    def __init__(self, console: Console | None, *columns: ProgressColumn) -> None:
        self.console = console or Console(stderr=True)
        self._history: list[AnnealedRecord] = []
        self._bar = Progress(
            *columns, TextColumn("{task.fields[text]}"), TimeElapsedColumn(), console=self.console
        )

    def __enter__(self) -> Self:
        if self.console.is_terminal:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.console.is_terminal:
            self._bar.stop()


class AnnealingProgress(_Display):
    """An observer for `AnnealedPMC.run` that shows temperature, ESS, acceptance and the time left.

    with AnnealingProgress() as progress:
        result = ais.AnnealedPMC().run(target, seed=0, observers=[progress])

    The time left is the sampler's own forecast from the temperatures it has passed. It says "at
    least" while trajectories are still getting longer, since each temperature then costs more than
    the last.

    Args:
        console: where to write; standard error when absent.
    """

    def __init__(self, console: Console | None = None) -> None:
        super().__init__(console, TextColumn("annealing"), BarColumn())
        self._task = self._bar.add_task("annealing", total=1.0, text="drawing from the prior")

    def __call__(self, state: AnnealedState, record: AnnealedRecord) -> None:
        """One temperature is done."""
        self._history.append(record)
        text = describe(self._history)
        if self.console.is_terminal:
            left = forecast(self._history).n_temperatures
            done = len(self._history)
            self._bar.update(self._task, completed=done / (done + left), text=text)
        else:
            self.console.print(text, highlight=False, markup=False, soft_wrap=True)


class FitProgress(_Display):
    """Progress of a whole fit: its stages as lines, and a bar (or now and then a line) within each.

    Args:
        console: where to write; standard error when absent.
    """

    def __init__(self, console: Console | None = None) -> None:
        super().__init__(console, SpinnerColumn(), BarColumn())
        self._task: TaskID | None = None
        self._said = time.monotonic()

    def stage(self, text: str) -> None:
        """A new part of the work begins."""
        self._history.clear()
        if self._task is not None:
            self._bar.remove_task(self._task)
            self._task = None
        self.say(text)

    def say(self, text: str) -> None:
        """A remark in a line; it may come from a signal, in the middle of anything."""
        self.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def annealed(self, state: AnnealedState, record: AnnealedRecord) -> None:
        """One temperature is done."""
        self._history.append(record)
        done, left = len(self._history), forecast(self._history).n_temperatures
        self._show(done / (done + left), describe(self._history))

    def chained(self, state: ChainState, record: ChainRecord) -> None:
        """One trajectory of every chain is done."""
        part = "warm-up" if record.warming else "draws"
        text = f"{part}, trajectory {record.step}, log pi {record.log_density:.1f}"
        self._show(None, f"{text}, acceptance {record.acceptance:.0%}")

    def stepped(self, state: PMCState, info: PMCInfo) -> None:
        """One step is done."""
        self._show(None, f"step {state.step}, ESS {info.ess:.1f} of {info.log_weight.numel()}")

    def epoch(self, done: int, total: int) -> None:
        """One epoch of a start is done."""
        self._show(done / total, f"epoch {done} of {total}")

    def _show(self, share: float | None, text: str) -> None:
        if self.console.is_terminal:
            if self._task is None:
                self._task = self._bar.add_task(
                    "fit", total=None if share is None else 1.0, text=text
                )
            self._bar.update(self._task, completed=share or 0.0, text=text)
        elif share == 1.0 or time.monotonic() - self._said > SECONDS_BETWEEN_LINES:
            self._said = time.monotonic()
            self.console.print(text, highlight=False, markup=False, soft_wrap=True)


def describe(history: list[AnnealedRecord]) -> str:
    """One line about the latest temperature."""
    last = history[-1]
    text = (
        f"temperature {last.temperature:.3g}, ESS {last.ess:.0f}, acceptance {last.acceptance:.0%}"
    )
    left = forecast(history).seconds
    if left == 0:
        return f"{text}, log Z {last.log_evidence:.2f}"
    growing = len(history) > 1 and last.n_gradients > history[-2].n_gradients
    return f"{text}, {'at least ' if growing else 'about '}{_span(left)} left"


def _span(seconds: float) -> str:
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    if seconds < 6000:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:.1f} h"
