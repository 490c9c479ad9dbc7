"""Progress of a run and of a whole fit: a bar on a terminal and in a notebook, lines elsewhere."""

import math
import time
from functools import singledispatch
from types import TracebackType
from typing import Any, Self

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
    Agreement,
    AnnealedInfo,
    AnnealedState,
    ChainInfo,
    IslandsInfo,
    PMCInfo,
    forecast,
)
from pmcnet.methods.training.state import EpochInfo
from pmcnet.reports.notebook_cell import NotebookCell

SECONDS_BETWEEN_LINES = 5.0
"""Where there is no terminal, lines of progress are at least this far apart."""
_STAGES = {"fit": "", "start": "starting networks, ", "burn-in": "burn-in on mini-batches, "}


class _Display:
    """A bar that is shown on a terminal, or in an output of a notebook."""

    def __init__(self, console: Console | None, *columns: ProgressColumn) -> None:
        self.console = console or Console(stderr=True)
        self._cell = NotebookCell() if self.console.is_jupyter else None
        self._history: list[Any] = []
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
        if self._cell is not None:
            self._cell.close(failed=kind is not None)
        elif self.console.is_terminal:
            self._bar.stop()


class AnnealingProgress(_Display):
    """An observer for `AnnealedPMC.run` that shows beta, ESS, acceptance and the time left.

    with AnnealingProgress() as progress:
        result = ais.AnnealedPMC().run(target, seed=0, observers=[progress])

    The time left is the sampler's own forecast from the tempering steps it has made. It says "at
    least" while trajectories are still getting longer, since each step then costs more than
    the last.

    Args:
        console: where to write; standard error when absent.
    """

    def __init__(self, console: Console | None = None) -> None:
        super().__init__(console, TextColumn("annealing"), BarColumn())
        self._task = self._bar.add_task("annealing", total=1.0, text="drawing from the prior")

    def __call__(self, state: AnnealedState, info: AnnealedInfo) -> None:
        """One tempering step is done."""
        self._history.append(info)
        share, text = _course(self._history)
        if self._cell is not None:
            self._cell.show(share, text)
        elif self.console.is_terminal:
            self._bar.update(self._task, completed=share, text=text)
        else:
            self.console.print(text, highlight=False, markup=False, soft_wrap=True)


class FitProgress(_Display):
    """Shows a whole fit: its stages as lines, and a bar (or now and then a line) within each.

    Args:
        console: where to write; standard error when absent.
    """

    def __init__(self, console: Console | None = None) -> None:
        super().__init__(console, SpinnerColumn(), BarColumn())
        self._task: TaskID | None = None
        self._kind: object = None
        self._said = time.monotonic()

    def stage(self, text: str) -> None:
        """A new part of the work begins."""
        self._begin(None)
        self.say(text)

    def planned(self, plan: Any, settled: Any) -> None:
        """The method is chosen: says why; what else was open is settled later and not shown."""
        if settled is None:
            self.stage(plan.reason)

    def say(self, text: str) -> None:
        """A remark in a line; it may come from a signal, in the middle of anything."""
        if self._cell is not None:
            self._cell.say(text)
            return
        self.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def __call__(self, state: Any, info: Any) -> None:
        """One step is done."""
        kind = type(info), getattr(info, "stage", None)
        if kind != self._kind:
            self._begin(kind)
        share, text = progress_of(info, state, self._history)
        if self._cell is not None:
            self._cell.show(share, text)
        elif self.console.is_terminal:
            if self._task is None:
                self._task = self._bar.add_task(
                    "fit", total=None if share is None else 1.0, text=text
                )
            self._bar.update(self._task, completed=share or 0.0, text=text)
        elif share == 1.0 or time.monotonic() - self._said > SECONDS_BETWEEN_LINES:
            self._said = time.monotonic()
            self.say(text)

    def _begin(self, kind: object) -> None:
        """A bar of its own for the steps of one kind."""
        self._kind = kind
        self._history.clear()
        if self._task is not None:
            self._bar.remove_task(self._task)
            self._task = None


@singledispatch
def progress_of(info: Any, state: Any, history: list[Any]) -> tuple[float | None, str]:
    """How far a part of the work is, where that is known, and its latest step in words.

    Args:
        info: of the latest step.
        state: after it.
        history: earlier infos of this part, where a forecast needs them.
    """
    line = (f"{name} {value:.4g}" for name, value in info.line().items() if value is not None)
    return None, ", ".join(line)


@progress_of.register
def _(info: AnnealedInfo, state: Any, history: list[Any]) -> tuple[float | None, str]:
    history.append(info)
    return _course(history)


@progress_of.register
def _(info: IslandsInfo, state: Any, history: list[Any]) -> tuple[float | None, str]:
    text = "polishing" if info.polishing else f"annealing, beta {info.beta:.3g}"
    text += f", acceptance {info.acceptance:.0%}"
    if math.isfinite(state.agreement.median):
        text += f", {error_text(state.agreement)} by {state.agreement.n_islands} islands"
    if not math.isfinite(info.left):
        return None, text
    if state.ended:
        return 1.0, text
    share = info.seconds / (info.seconds + max(1.0, info.left))
    return share, f"{text}, about {_span(info.left)} left"


@progress_of.register
def _(info: ChainInfo, state: Any, history: list[Any]) -> tuple[float | None, str]:
    part = "warm-up" if info.warming else "draws"
    text = f"{part}, trajectory {info.step}, log pi {info.log_density:.1f}"
    return None, f"{text}, acceptance {info.acceptance:.0%}"


@progress_of.register
def _(info: PMCInfo, state: Any, history: list[Any]) -> tuple[float | None, str]:
    return None, f"step {state.step}, ESS {info.ess:.1f} of {info.log_weight.numel()}"


@progress_of.register
def _(info: EpochInfo, state: Any, history: list[Any]) -> tuple[float | None, str]:
    text = f"{_STAGES[info.stage]}epoch {info.epoch} of {info.n_epochs}"
    return info.epoch / info.n_epochs, text


def error_text(agreement: Agreement) -> str:
    """The error of predictions at the median row."""
    if agreement.quantity == "probabilities":
        return f"error of probabilities {agreement.median:.2g}"
    return f"error of predictions {agreement.median:.1%} of their spread"


def _course(history: list[AnnealedInfo]) -> tuple[float, str]:
    """The share of the tempering steps that are made, and the latest in words."""
    left = forecast(history).n_steps
    return len(history) / (len(history) + left), describe(history)


def describe(history: list[AnnealedInfo]) -> str:
    """One line about the latest tempering step."""
    last = history[-1]
    text = f"beta {last.beta:.3g}, ESS {last.ess:.0f}, acceptance {last.acceptance:.0%}"
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
