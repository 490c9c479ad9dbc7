"""Which methods are best in a metric, and which do not differ significantly from the best.

Paired bootstrap: test rows are resampled with replacement, the same rows for all methods. A method
is tied with the best where the central 95 % of their differences contains 0.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pmcnet.competitors import RowPredictions
from pmcnet.estimators.evaluation.scores import BETTER_LOWER, Record
from pmcnet.rng import stream
from pmcnet.runs.number_truth import Measure

N_RESAMPLES = 300
Values = NDArray[np.float64]


class Truth(Protocol):
    """What is known of test rows: numbers or classes."""

    def losses(self, found: RowPredictions) -> dict[str, Values]:
        """Of each row, (N,)."""
        ...

    def measure(self, methods: Sequence[RowPredictions]) -> Measure:
        """Metrics of K methods, (K,), on any choice of the rows."""
        ...

    def metrics(self, found: RowPredictions) -> dict[str, float | None]:
        """As `metrics.json` has them, of one method."""
        ...

    def interval(self, found: RowPredictions) -> dict[str, float]:
        """Of the 90 % interval, where there is one."""
        ...

    def figures(self, found: RowPredictions) -> Record:
        """What the page draws of a method."""
        ...


def best_in(
    methods: Sequence[RowPredictions], truth: Truth, n_rows: int, *, seed: int
) -> list[list[str]]:
    """For each method the metrics in which it is best or tied.

    Args:
        methods: what each has predicted for the same rows.
        truth: of these rows.
        n_rows: how many there are.
        seed: of the resampling.
    """
    measure = truth.measure(methods)
    source = stream(seed, 0, 0).host
    once = measure(np.arange(n_rows))
    drawn = [measure(source.integers(0, n_rows, n_rows)) for _ in range(N_RESAMPLES)]
    marks: list[list[str]] = [[] for _ in methods]
    for name, values in once.items():
        resampled = np.stack([found[name] for found in drawn if name in found])  # (B, K)
        for k in tied(values, resampled, lower=name in BETTER_LOWER):
            marks[k].append(name)
    return marks


def tied(values: Values, resampled: Values, *, lower: bool) -> list[int]:
    """Positions of the best value and of those tied with it, from (K,) and (B, K)."""
    sign = 1.0 if lower else -1.0
    best = int(np.argmin(np.where(np.isfinite(values), sign * values, np.inf)))
    found = []
    for k in range(len(values)):
        with np.errstate(invalid="ignore"):
            difference = sign * (resampled[:, k] - resampled[:, best])
        difference = np.where(np.isnan(difference), np.inf, difference)
        if k == best or np.quantile(difference, 0.025, method="inverted_cdf") <= 0:
            found.append(k)
    return found
