"""Calibrations in model files."""

from collections.abc import Mapping
from typing import Any, Protocol

from pmcnet.estimators.conformal.class_sets import SETS_FORM, CalibratedSets
from pmcnet.estimators.conformal.intervals import INTERVALS_FORM, CalibratedIntervals
from pmcnet.io.schema import Form, either, nothing

CALIBRATION_FORMS: dict[str, Form] = {
    "regression": either(nothing, INTERVALS_FORM),
    "classification": either(nothing, SETS_FORM),
}
"""By task."""


class Calibration(Protocol):
    """What the rows held out have taught."""

    @property
    def n_rows(self) -> int:
        """How many there were."""
        ...

    def to_plain(self) -> dict[str, Any]:
        """The stored form."""
        ...


def plain_calibration(calibration: Calibration | None) -> dict[str, Any] | None:
    """The stored form; None of a model that is not calibrated."""
    return None if calibration is None else calibration.to_plain()


def calibration_from(plain: Mapping[str, Any] | None) -> Any:
    """The calibration that has this stored form."""
    if plain is None:
        return None
    kinds: dict[str, Any] = {"intervals": CalibratedIntervals, "sets": CalibratedSets}
    return kinds[plain["kind"]].from_plain(plain)
