"""Progress of a fit on standard error."""

from types import TracebackType
from typing import Self

from pmcnet import ais
from pmcnet.estimators.fitting import Companion
from pmcnet.reports.progress import FitProgress


class Shown(Companion):
    """Shows each stage as a line and the work within as a bar."""

    def __init__(self) -> None:
        self.progress = FitProgress()

    def __enter__(self) -> Self:
        self.progress.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.progress.__exit__(kind, error, trace)

    def stage(self, text: str) -> None:
        """A new part of the work begins."""
        self.progress.stage(text)

    def annealed(self, state: ais.AnnealedState, record: ais.AnnealedRecord) -> None:
        """One temperature is done."""
        self.progress.annealed(state, record)

    def stepped(self, state: ais.PMCState, info: ais.PMCInfo) -> None:
        """One step is done."""
        self.progress.stepped(state, info)

    def epoch(self, done: int, total: int) -> None:
        """One epoch of a start is done."""
        self.progress.epoch(done, total)
