"""Step-size and length tuning of Hamiltonian trajectories, from pilot moves."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from pmcnet.io.state_checks import check_whole, require

PILOT_SPREAD = 1.5
"""Step sizes of a pilot move lie within this factor of the last one."""
STEP_CHANGE = 4.0
"""Largest factor by which one pilot changes the step size."""
PILOT_REACH = 1.5
"""How much longer than the tuned trajectory a pilot is."""
BEST_TIME = 2.33
"""Duration of the trajectory with the largest squared jump per gradient; see `best_length`."""
MAX_LENGTH = 256
"""Leapfrog steps of a tuned trajectory."""
MAX_PILOTS = 8
_MOST_LEAPFROG = 10_000  # of a state from a file: more would keep a run busy for days


class Tuning(NamedTuple):
    """Step size and number of leapfrog steps."""

    step_size: float
    n_leapfrog: int

    def check(self) -> None:
        """Refuse what no run has tuned."""
        positive = type(self.step_size) in (int, float) and 0 < self.step_size < math.inf
        require(positive, "step_size", "a positive number")
        check_whole(self.n_leapfrog, "n_leapfrog", 1, _MOST_LEAPFROG)


def solve_step(acceptance: Tensor, step: Tensor, target: float) -> float:
    """The step size at which the mean acceptance is `target`.

    For trajectories of fixed length the energy error is Gaussian with a spread proportional to
    step^2, so acceptance is 2 Phi(-k step^2 / 2) (Beskos et al., Bernoulli 19, 2013). k is fitted
    by matching the mean.

    Args:
        acceptance: of trajectories (P,).
        step: the step size of each (P,).
        target: mean acceptance.
    """
    mean, square = float(acceptance.mean()), step.double().cpu().square()
    low, high = math.log(1e-9), math.log(1e9)
    for _ in range(60):
        middle = 0.5 * (low + high)
        predicted = float(2 * torch.special.ndtr(-0.5 * math.exp(middle) * square).mean())
        low, high = (middle, high) if predicted > mean else (low, middle)
    quantile = -float(torch.special.ndtri(torch.tensor(0.5 * target, dtype=torch.float64)))
    return math.sqrt(2 * quantile / math.exp(0.5 * (low + high)))


def best_length(jumps: Tensor) -> int:
    """The number of leapfrog steps with the largest squared jump per gradient.

    In a Gaussian of unit spread the squared jump is 2 (1 - cos t) after time t, so the best t is
    2.33: longer trajectories turn back, shorter ones perform a random walk.

    Args:
        jumps: mean squared jumps of 1, 2, ... steps (L,).
    """
    return 1 + int((jumps.cpu() / torch.arange(1, len(jumps) + 1)).argmax())


def around(uniforms: Tensor) -> Tensor:
    """Factors of a pilot's step size around 1, from uniform numbers."""
    return torch.exp(math.log(PILOT_SPREAD) * (2 * uniforms - 1))


def bounded(change: float) -> float:
    """The change of the step size, limited to what one trajectory may make."""
    return min(max(change, 1 / STEP_CHANGE), STEP_CHANGE)
