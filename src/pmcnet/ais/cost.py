"""What an annealed run has still to do, judged from the temperatures it has passed."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from pmcnet.ais.annealed_result import AnnealedRecord

RECENT = 3
"""Temperatures that a forecast looks back on."""


class Forecast(NamedTuple):
    """Temperatures, batches of gradients and seconds still to come."""

    n_temperatures: float
    n_gradients: float
    seconds: float


def forecast(history: Sequence[AnnealedRecord]) -> Forecast:
    """What is left, if temperature steps go on growing like the square root of the temperature.

    Steps are shorter where the likelihood varies more. With a step of c sqrt(b) at temperature b there remain
    2 (1 - sqrt(b)) / c of them. Each is taken to cost what the recent ones did, so while trajectories are still getting
    longer the forecast is too low, and it rises.
    """
    if not history:
        return Forecast(math.nan, math.nan, math.nan)
    last, recent = history[-1], history[-RECENT:]
    if last.temperature >= 1:
        return Forecast(0.0, 0.0, 0.0)
    before = history[-len(recent) - 1] if len(history) > len(recent) else None
    rise = (last.temperature - (before.temperature if before else 0.0)) / len(recent)
    n_left = max(1.0, 2 * math.sqrt(last.temperature) * (1 - math.sqrt(last.temperature)) / rise)
    seconds = (last.seconds - (before.seconds if before else 0.0)) / len(recent)
    gradients = sum(record.n_gradients for record in recent) / len(recent)
    return Forecast(n_left, n_left * gradients, n_left * seconds)
