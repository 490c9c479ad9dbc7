"""What the test rows of a record say of its intervals and probabilities, against chance."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np

from pmcnet.reports.html import real
from pmcnet.reports.record import metric_value

CHANCE = 2.5
"""Standard errors of chance beyond which coverage or confidence is called off."""
LEAST_GAP = 0.02
"""Gap below which they are not, however many test rows there are."""
LEVEL = 0.9
CALIBRATED = "conformal_coverage90"
_PLAIN = "coverage90"
_OF_WHOLE_NUMBERS = ("poisson", "negative-binomial")  # whose intervals hold more than they state


class BaseRate(NamedTuple):
    """The commonest class of the test rows, and how often always saying it would be right."""

    name: str
    accuracy: float


def base_accuracy(record: Mapping[str, Any]) -> BaseRate | None:
    """How good always saying the commonest class would be, where the record has it."""
    found = record["summary"].get("base_rate")
    if not isinstance(found, Mapping) or not real(found.get("accuracy")):
        return None
    return BaseRate(str(found.get("class")), float(found["accuracy"]))


class Coverage(NamedTuple):
    """The share of test rows in intervals of a `level`, and its standard error by chance."""

    level: float
    found: float
    error: float
    calibrated: bool
    whole: bool

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Self | None:
        """That of calibrated intervals where there are some, and else of those stated."""
        calibrated = metric_value(record, CALIBRATED)
        found = metric_value(record, _PLAIN) if calibrated is None else calibrated
        n_test = record["summary"].get("n_test")
        if found is None or not real(n_test) or n_test < 1:
            return None
        error = math.sqrt(LEVEL * (1 - LEVEL) / n_test)
        whole = str(record["summary"].get("model")).startswith(_OF_WHOLE_NUMBERS)
        return cls(LEVEL, found, error, calibrated is not None, whole)

    @property
    def is_narrow(self) -> bool:
        """Whether intervals hold fewer rows than chance explains."""
        return self.level - self.found > max(CHANCE * self.error, LEAST_GAP)

    @property
    def is_wide(self) -> bool:
        """Whether they hold more; those of whole numbers must."""
        gap = self.found - self.level
        return gap > max(CHANCE * self.error, LEAST_GAP) and not self.whole


class Confidence(NamedTuple):
    """Mean probability of the predicted class, share of right rows, and the error by chance."""

    mean: float
    right: float
    error: float
    gap: float  # that chance makes of perfectly calibrated probabilities, on average over bins

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Self | None:
        """From the bins of the calibration; None where there are none."""
        from pmcnet.reports.figures.calibration import reliability  # waits for matplotlib

        data = record.get("calibration") or {}
        bins = reliability(data["bins"]) if "bins" in data else None
        if bins is None:
            return None
        share = bins.n / bins.n.sum()
        variance = bins.confidence * (1 - bins.confidence) / bins.n  # of the accuracy, if right
        return cls(
            float(share @ bins.confidence),
            float(share @ bins.accuracy),
            math.sqrt(float(np.square(share) @ variance)),
            float(share @ np.sqrt(2 / math.pi * variance)),
        )

    @property
    def is_overconfident(self) -> bool:
        """Whether fewer rows are right than chance explains."""
        return self.mean - self.right > max(CHANCE * self.error, LEAST_GAP)

    @property
    def is_underconfident(self) -> bool:
        """Whether more are."""
        return self.right - self.mean > max(CHANCE * self.error, LEAST_GAP)
