"""What an annealed run still has to do, judged from the tempering steps it has made."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from pmcnet.ais.annealed.state import AnnealedInfo

RECENT = 3
"""Tempering steps on which each end of a forecast's trend rests."""


class Forecast(NamedTuple):
    """Tempering steps, batches of gradients and seconds still to come."""

    n_steps: float
    n_gradients: float
    seconds: float


def forecast(history: Sequence[AnnealedInfo]) -> Forecast:
    """What is left, if the steps of beta go on growing as they did.

    Steps grow like a power of beta: its first power where the data decide every direction, about
    its square root in networks whose prior decides many. From a step d at beta there remain
    (beta / d) integral of x^-g over [1, 1/beta] of them, with g the power seen lately. Each is
    taken to cost what the recent ones did: while trajectories are still getting longer that is too
    little, and the forecast rises.
    """
    if not history:
        return Forecast(math.nan, math.nan, math.nan)
    last = history[-1]
    if last.beta >= 1:
        return Forecast(0.0, 0.0, 0.0)
    passed = [history[0].beta - history[0].rise, *(info.beta for info in history)]
    n = min(RECENT, len(history))
    rise = (passed[-1] - passed[-1 - n]) / n
    n_left = max(1.0, last.beta / rise * _integral(1 / last.beta, _power(passed, n)))
    began = history[-1 - n].seconds if len(history) > n else 0.0
    gradients = sum(info.n_gradients for info in history[-n:]) / n
    return Forecast(n_left, n_left * gradients, n_left * (last.seconds - began) / n)


def _power(passed: Sequence[float], n: int) -> float:
    """g of steps ~ beta^g from the last 2n steps, within [0, 1]; 1/2 while too few are known."""
    if len(passed) < 2 * n + 2:
        return 0.5
    late, early = passed[-1] - passed[-1 - n], passed[-1 - n] - passed[-1 - 2 * n]
    return min(1.0, max(0.0, math.log(late / early) / math.log(passed[-1] / passed[-1 - n])))


def _integral(end: float, power: float) -> float:
    """Integral of x^-power from 1 to `end`."""
    if power > 1 - 1e-9:
        return math.log(end)
    return float((end ** (1 - power) - 1) / (1 - power))
