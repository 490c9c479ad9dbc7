"""Numbers that are known, and how good predictions of them are, by whatever method."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pmcnet.competitors import LEVELS, RowPredictions
from pmcnet.estimators.evaluation.figure_data import finite
from pmcnet.estimators.evaluation.scores import OBSERVED, Record

MOST_ERRORS = 500
"""Test rows, at most, whose squared errors the page shows."""
ENDS = [int(np.abs(LEVELS - level).argmin()) for level in (0.05, 0.95)]
"""Where the ends of the central 90 % interval are among the levels."""

Values = NDArray[np.float64]
Measure = Callable[[NDArray[np.int64]], Mapping[str, Values]]


class NumberTruth(NamedTuple):
    """The target of test rows (N,), and whether it is known or only a bound of it (N,)."""

    value: Values
    observed: NDArray[np.bool_]

    def losses(self, found: RowPredictions) -> dict[str, Values]:
        """Of each row, those that the prediction allows; errors of bounds mean nothing.

        `crps` is twice the mean pinball loss at all levels, `pinball` that at the ends of the 90 %
        interval.
        """
        each: dict[str, Values] = {}
        if found.mean is not None:
            error = found.mean - self.value
            each |= {"mse": np.square(error), "mae": np.abs(error)}
        if found.log_density is not None:
            each["nll"] = -found.log_density
        if found.quantiles is not None and self.observed.all():
            pinball = pinball_losses(found.quantiles, self.value)  # (Q, N)
            each |= {"crps": 2 * pinball.mean(0), "pinball": pinball[ENDS].mean(0)}
        return each

    def measure(self, methods: Sequence[RowPredictions]) -> Measure:
        """The losses of K methods, (K,), on any choice of the rows; not-a-number for none."""
        each = [self.losses(found) for found in methods]
        missing = np.full(len(self.value), np.nan)
        names = dict.fromkeys(name for losses in each for name in losses)
        stacked = {name: np.stack([one.get(name, missing) for one in each]) for name in names}
        errors = {name: stacked.pop(name) for name in ("mse", "mae")}  # each (K, N)

        def of(rows: NDArray[np.int64]) -> Mapping[str, Values]:
            means = {name: losses[:, rows].mean(1) for name, losses in stacked.items()}
            known = rows[self.observed[rows]]
            if not len(known):
                return means
            mse, mae = (errors[name][:, known].mean(1) for name in ("mse", "mae"))
            found = {"mse": mse, "rmse": np.sqrt(mse), "mae": mae}
            if self.observed.all():
                return found | {"r2": -mse} | means
            return {f"{name}{OBSERVED}": values for name, values in found.items()} | means

        return of

    def metrics(self, found: RowPredictions) -> dict[str, float | None]:
        """As `metrics.json` has them, of one method."""
        each = {name: float(v[0]) for name, v in self.measure([found])(self._rows).items()}
        if "r2" in each:
            each["r2"] = 1 - each["mse"] / self.value.var() if self.value.var() > 0 else np.inf
        return {name: finite(value) for name, value in (each | self.interval(found)).items()}

    def interval(self, found: RowPredictions) -> dict[str, float]:
        """The share of rows in the 90 % interval, and its mean width."""
        if found.quantiles is None or not self.observed.all():
            return {}
        low, high = found.quantiles[ENDS]
        inside = (low <= self.value) & (self.value <= high)
        return {"coverage90": float(inside.mean()), "width90": float((high - low).mean())}

    def figures(self, found: RowPredictions) -> Record:
        """What the page draws of a method."""
        known = np.flatnonzero(self.observed)[:MOST_ERRORS]
        return {"squared_errors": self.losses(found)["mse"][known].tolist()}

    @property
    def _rows(self) -> NDArray[np.int64]:
        return np.arange(len(self.value))


def pinball_losses(quantiles: Values, y: Values) -> Values:
    """Of the quantiles at `LEVELS`, (Q, N)."""
    level, beyond = LEVELS[:, None], y - quantiles
    return np.maximum(level * beyond, (level - 1) * beyond)
