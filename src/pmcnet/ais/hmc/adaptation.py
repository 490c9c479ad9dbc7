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
HOPELESS = 1e-3
"""Acceptance below which a trajectory says that its start is wild, not that steps are long."""
MAX_WILD = 0.15
"""Share of wild starts up to which the others decide the step size."""
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
    by matching the mean. A few points that no step of this order would move, far from all others,
    have no say: at the tuned step size the theory gives such a rejection no probability.

    Args:
        acceptance: of trajectories (P,).
        step: the step size of each (P,).
        target: mean acceptance.
    """
    known = _typical(acceptance)
    mean, square = float(acceptance[known].mean()), step[known].double().cpu().square()
    low, high = math.log(1e-9), math.log(1e9)
    for _ in range(60):
        middle = 0.5 * (low + high)
        predicted = float(2 * torch.special.ndtr(-0.5 * math.exp(middle) * square).mean())
        low, high = (middle, high) if predicted > mean else (low, middle)
    quantile = -float(torch.special.ndtri(torch.tensor(0.5 * target, dtype=torch.float64)))
    return math.sqrt(2 * quantile / math.exp(0.5 * (low + high)))


def best_length(jumps: Tensor, variance: Tensor) -> int:
    """The number of leapfrog steps that decorrelates the coordinates at the least cost.

    A squared jump over twice the variance is 1 - r, with r the autocorrelation, and 1 / (1 - r) is
    about the number of trajectories for an independent value. Its mean over the coordinates, times
    the gradients of a trajectory, is the cost. Slow coordinates decide that mean: the mean of 1 - r
    would follow the fast ones, and leave the slow ones to a random walk. In a Gaussian of unit
    spread 1 - r is 1 - cos t after time t, and the cost is least at t = 2.33: longer trajectories
    turn back.

    Args:
        jumps: mean squared jumps of S coordinates after 1, 2, ... steps (L, S).
        variance: of the coordinates (S,).
    """
    varying = variance > 0
    change = jumps[:, varying].double() / (2 * variance[varying])  # (L, S)
    known = (change > 0).all(1)
    if not varying.any() or not known.any():
        return 1 + int(jumps.sum(1).argmax())
    cost = (1 / change).mean(1).cpu() * torch.arange(1, len(change) + 1)
    return 1 + int(torch.where(known.cpu(), cost, torch.inf).argmin())


def _typical(acceptance: Tensor) -> Tensor:
    """Which trajectories (P,) are not hopeless, or all where too many are."""
    hopeless = acceptance < HOPELESS
    return ~hopeless if float(hopeless.double().mean()) <= MAX_WILD else hopeless | ~hopeless


def around(uniforms: Tensor) -> Tensor:
    """Factors of a pilot's step size around 1, from uniform numbers."""
    return torch.exp(math.log(PILOT_SPREAD) * (2 * uniforms - 1))


def bounded(change: float) -> float:
    """The change of the step size, limited to what one trajectory may make."""
    return min(max(change, 1 / STEP_CHANGE), STEP_CHANGE)
