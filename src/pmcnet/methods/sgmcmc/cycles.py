"""Cyclical steps (Zhang et al., 2020): the step falls by a cosine, several times over a run."""

import math
from bisect import bisect_right
from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Cycles:
    """Cycles of a run, each of which explores before it samples.

    Args:
        n_cycles: times that the step falls.
        exploration: share of a cycle that looks for a mode, without noise.
        last_step: share of the first step that a cycle ends with.
    """

    n_cycles: int
    exploration: float
    last_step: float

    def share(self, done: float) -> float:
        """The share of the first step when this share of all steps is done."""
        within = done * self.n_cycles % 1
        return self.last_step + 0.5 * (1 - self.last_step) * (1 + math.cos(math.pi * within))

    def samples(self, done: float) -> bool:
        """Whether noise is added when this share of all steps is done."""
        return done * self.n_cycles % 1 >= self.exploration

    def draw_times(self, n_steps: int, n_kept: int) -> list[int]:
        """After how many steps draws are kept: evenly in the part of each cycle that has noise.

        Args:
            n_steps: of all cycles.
            n_kept: draws in all, about; at least one of each cycle.
        """
        each = max(1, n_kept // self.n_cycles)
        times = set()
        for cycle in range(self.n_cycles):
            first, last = (
                n_steps * (cycle + share) / self.n_cycles for share in (self.exploration, 1.0)
            )
            times |= {math.floor(first + (last - first) * (i + 1) / each) for i in range(each)}
        return sorted(at for at in times if at >= 1)


class KeptDraws:
    """Draws (S, P, D) of P chains at given times.

    Args:
        theta: the chains (P, D), of whose type the draws are.
        times: after how many steps, in order.
        n_done: steps that are done already, whose draws are restored from `parts`.
    """

    def __init__(self, theta: Tensor, times: list[int], n_done: int) -> None:
        self._times = times
        self._draws = theta.new_empty(len(times), *theta.shape)
        self._n = bisect_right(times, n_done)

    @property
    def kept(self) -> Tensor:
        """Those so far."""
        return self._draws[: self._n]

    @property
    def parts(self) -> dict[str, Tensor]:
        """What a checkpoint needs, by name."""
        return {"draws": self.kept}

    def add(self, theta: Tensor, n_done: int) -> None:
        """Keep the chains (P, D) if it is time."""
        if self._n < len(self._times) and self._times[self._n] == n_done:
            self._draws[self._n] = theta
            self._n += 1

    def replace(self, diverged: Tensor, theta: Tensor, *, since: int) -> None:
        """Put where chains (P,) are now in the place of their draws after so many steps."""
        first = bisect_right(self._times, since)
        self._draws[first : self._n, diverged] = theta[diverged]
