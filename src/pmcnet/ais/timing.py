"""Where the time of a step goes, and how much memory the device needed."""

import time
from typing import NamedTuple

import torch


class Phases(NamedTuple):
    """Seconds for proposals, for log pi of the draws and for the moves; peak GPU bytes."""

    proposals: float
    target: float
    moves: float
    memory: int


class Stopwatch:
    """Seconds since the last lap, when everything asked of the device is done."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(device)
        self._last = self._now()

    def lap(self) -> float:
        """Seconds since the last lap."""
        now = self._now()
        seconds, self._last = now - self._last, now
        return seconds

    def memory(self) -> int:
        """The most bytes that were allocated on a GPU since the start; 0 elsewhere."""
        return torch.cuda.max_memory_allocated(self._device) if self._device.type == "cuda" else 0

    def _now(self) -> float:
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
        return time.monotonic()
