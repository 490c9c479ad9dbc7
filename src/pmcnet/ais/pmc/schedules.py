"""Numbers that change with the step t = 1, 2, ...: beta_t and eta_t of Eq. (13)."""

import math
from dataclasses import dataclass
from typing import Protocol

from pmcnet.errors import InputError


class Schedule(Protocol):
    """A value in [0, 1] for each step, counted from 1."""

    def __call__(self, step: int) -> float:
        """The value at this step."""
        ...


@dataclass(frozen=True)
class Constant:
    """The same value at every step; the paper's beta_t = 0.5."""

    value: float = 0.5

    def __post_init__(self) -> None:
        if not 0 <= self.value <= 1:
            raise InputError(f"value must lie in [0, 1]; got {self.value}.")

    def __call__(self, step: int) -> float:
        """The value."""
        return self.value


@dataclass(frozen=True)
class Harmonic:
    """1 / t^power; the paper's eta_t = 1 / t."""

    power: float = 1.0

    def __post_init__(self) -> None:
        if not self.power >= 0:
            raise InputError(f"power must not be negative; got {self.power}.")

    def __call__(self, step: int) -> float:
        """1 / step^power."""
        return 1.0 / math.pow(step, self.power)


@dataclass(frozen=True)
class LinearDecay:
    """From 1 at the first step to 0 at step `n_steps` and after: eta_1 = 1, eta_T = 0."""

    n_steps: int

    def __post_init__(self) -> None:
        if self.n_steps < 2:
            raise InputError(f"n_steps must be at least 2; got {self.n_steps}.")

    def __call__(self, step: int) -> float:
        """(T - t) / (T - 1), not below 0."""
        return max(0.0, (self.n_steps - step) / (self.n_steps - 1))
