"""Intervals: those that the posterior states, and conformalised quantile regression around them.

Romano, Patterson and Candes (2019): with quantiles l and u of the posterior at the levels of a
central interval, the score of a calibration row is max(l - y, y - u), and the interval of a new row
is [l - q, u + q], where q is the order statistic of the scores. Scores depend on the coverage
through l and u. What is kept of a calibration row is therefore y minus its quantiles at the ends of
`COVERAGES`; at others l and u are interpolated, along the quantile of a normal distribution,
alike for calibration rows and for new ones.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from scipy.special import ndtri  # type: ignore[import-untyped]

from pmcnet.bnn.likelihoods.support import Support
from pmcnet.estimators.conformal.order_statistic import calibrated_score, check_coverage
from pmcnet.estimators.predictions import Array
from pmcnet.io.schema import Form, listing, number, row, table, text

COVERAGES = (0.0, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999)
"""Central intervals whose ends are kept; wider ones begin with the last."""
_LARGEST = 1e300
"""Of stored residuals: sums of two stay finite."""


class Intervals(Protocol):
    """How the quantiles of a row become an interval."""

    def levels(self, coverage: float) -> list[float]:
        """The levels of the quantiles that are needed, L of them."""
        ...

    def ends(self, quantiles: Array, coverage: float, support: Support) -> Array:
        """Quantiles (N, L) -> intervals (N, 2)."""
        ...


class StatedIntervals:
    """Central intervals of the posterior, as they are."""

    def levels(self, coverage: float) -> list[float]:
        """Those of its two ends."""
        check_coverage(coverage)
        return [(1 - coverage) / 2, (1 + coverage) / 2]

    def ends(self, quantiles: Array, coverage: float, support: Support) -> Array:
        """The quantiles."""
        return quantiles


STATED = StatedIntervals()
LEVELS = [(1 - each) / 2 for each in COVERAGES] + [(1 + each) / 2 for each in COVERAGES]
"""Of the quantiles that calibration rows need: all lower ends, then all upper ones."""


class CalibratedIntervals(NamedTuple):
    """Conformalised central intervals; `residuals` (n, L) are y minus its quantiles at `LEVELS`."""

    residuals: Array

    @classmethod
    def of(cls, quantiles: Array, y: Array) -> Self:
        """From calibration rows: quantiles at `LEVELS` (n, L), and y (n,)."""
        from mapie.conformity_scores import AbsoluteConformityScore  # an extra

        signed = AbsoluteConformityScore(sym=False).get_signed_conformity_scores
        return cls(np.column_stack([signed(y, quantile) for quantile in quantiles.T]))

    @property
    def n_rows(self) -> int:
        """Calibration rows."""
        return len(self.residuals)

    def levels(self, coverage: float) -> list[float]:
        """The ends of `coverage`, where it is one of `COVERAGES`, or of its neighbours."""
        check_coverage(coverage)
        used = np.flatnonzero(_shares(coverage))
        return [LEVELS[i] for i in (*used, *(used + len(COVERAGES)))]

    def ends(self, quantiles: Array, coverage: float, support: Support) -> Array:
        """The calibrated intervals, within the values that y can have."""
        shares = _shares(coverage)
        below, above = (part @ shares for part in np.split(self.residuals, 2, axis=1))  # (n,)
        offset = calibrated_score(np.maximum(-below, above), coverage)
        lower, upper = (part @ shares[shares > 0] for part in np.split(quantiles, 2, axis=1))
        return support.within(np.stack([lower - offset, upper + offset], axis=1))

    def to_plain(self) -> dict[str, Any]:
        """The stored form."""
        return {"kind": "intervals", "residuals": self.residuals.tolist()}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """What gave this stored form."""
        return cls(np.array(plain["residuals"], dtype=np.float64))


INTERVALS_FORM: Form = table(
    kind=text("intervals"),
    residuals=listing(row(*len(LEVELS) * (number(-_LARGEST, _LARGEST),)), 1),
)


def _shares(coverage: float) -> Array:
    """The share that each of `COVERAGES` has in the ends of an interval (L / 2,)."""
    place = np.interp(_normal(coverage), _normal(COVERAGES), np.arange(len(COVERAGES)))
    shares: Array = np.maximum(1 - np.abs(place - np.arange(len(COVERAGES))), 0.0)
    return shares


def _normal(coverage: Any) -> Any:
    """The upper end of the central interval of a standard normal distribution."""
    return ndtri((1 + np.asarray(coverage)) / 2)
