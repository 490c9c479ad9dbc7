"""Ctrl-C and SIGTERM in a run: it stops after the step, with its state saved, or at once."""

import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any, Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stopping:
    """Catches signals while a run is under way in the main thread, unless they are ignored.

    A signal that comes while there are steps sets `asked`, and `check` raises after the step. A
    second one, or one that comes where there are no steps, raises at once.

    Args:
        report: called when a signal comes that takes effect after the step.
    """

    def __init__(self, report: Callable[[], None]) -> None:
        self.number: int | None = None
        self.at_once = False
        self._stepping = False
        self._report = report
        self._before: dict[int, Any] = {}

    @property
    def asked(self) -> bool:
        """Whether a signal has come."""
        return self.number is not None

    def check(self, *, stepping: bool) -> None:
        """A step is done, or a part of the work begins that has none.

        Args:
            stepping: whether `check` is called again after the next step, so that a signal can wait
                until then.

        Raises:
            KeyboardInterrupt: if a signal has come.
        """
        self._stepping = stepping
        if self.asked:
            raise KeyboardInterrupt

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            heard = [
                number
                for number in _SIGNALS
                if signal.getsignal(number) not in (signal.SIG_IGN, None)
            ]
            self._before = {number: signal.signal(number, self._handle) for number in heard}
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        first, self.number = not self.asked, number
        if first and self._stepping:
            with suppress(
                RuntimeError
            ):  # the signal may come in the middle of a line that is being written
                self._report()
            return
        self.at_once = not first
        raise KeyboardInterrupt
