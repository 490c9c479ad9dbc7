"""Whether data like those observed could have come from the fitted model.

Each replicate is one draw of y for every row, all rows by one network of the posterior. Where the
model is right, an observed y has any rank among its replicates with the same probability: its
probability integral transform (PIT) is uniform. Ties are broken at random, and a row whose event
came later has any rank above its time, which keeps it so.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from pmcnet.bnn import KnownGaussian, ParticlePosterior
from pmcnet.bnn.pointwise import replicates
from pmcnet.estimators.checks.check_rows import CheckRows
from pmcnet.estimators.exposure import predicting
from pmcnet.estimators.predictions import Array
from pmcnet.rng import check_seed, stream

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]

    from pmcnet.estimators.base import PMCNetEstimator

N_REPLICATES = 200
MOST_BINS = 10
_PER_BIN = 10  # rows at least, so that the test of uniformity holds
_NOISE_STEP, _TIE_STEP = (1 << 62) + 4, (1 << 62) + 5  # far from the steps of any sampler


class Uniformity(NamedTuple):
    """Rows in bins of equal width of the PIT, beside those of replicates in place of the data.

    `p_value` is the share of replicates with counts as unequal as those observed, by chi-square. It
    and the range allow for what all rows share: the error of the network that was learned.
    """

    counts: NDArray[np.int64]  # (n_bins,)
    low: Array  # (n_bins,) with `high` the range of 95 % of the replicates
    high: Array
    p_value: float

    @classmethod
    def of(cls, pit: Array, drawn: Array, seed: int = 0) -> "Uniformity":
        """That of transforms (n,), with the replicates (S, n) that they are ranks among."""
        n_bins = int(np.clip(len(pit) // _PER_BIN, 2, MOST_BINS))
        every = np.concatenate([pit[None], _own_transforms(drawn, seed)])  # (1 + S, n)
        places = np.minimum((every * n_bins).astype(np.int64), n_bins - 1)
        counts = (places[:, :, None] == np.arange(n_bins)).sum(1)  # (1 + S, n_bins)
        uneven = np.square(counts - len(pit) / n_bins).sum(1)
        low, high = np.quantile(counts[1:], (0.025, 0.975), axis=0)
        p_value = float((uneven >= uneven[0]).mean())  # the observed is one of them
        return cls(counts[0], low, high, p_value)


@dataclass(frozen=True, eq=False)
class PredictiveCheck:
    """Observed responses beside replicated ones.

    Args:
        row: positions of the rows (n,), from 0.
        y: observed (n,); of classes their places in `classes_`.
        observed: whether y is known, and not only a bound of it (n,).
        replicated: S draws of y for each row (S, n).
        pit: of each row (n,); of classes, which have no order, it says nothing.
        n_rows: of which these were drawn.
    """

    row: NDArray[np.int64]
    y: Array
    observed: NDArray[np.bool_]
    replicated: Array
    pit: Array
    n_rows: int

    @property
    def uniformity(self) -> Uniformity:
        """Whether the PIT is uniform."""
        return Uniformity.of(self.pit, self.replicated)

    @property
    def frame(self) -> "DataFrame":
        """One line for each row: row, y, PIT, and median and 95 % interval of its replicates."""
        from pandas import DataFrame

        low, median, high = np.quantile(self.replicated, (0.025, 0.5, 0.975), axis=0)
        columns = {"row": self.row, "y": self.y, "pit": self.pit}
        return DataFrame({**columns, "low": low, "median": median, "high": high})

    @property
    def statistics(self) -> "DataFrame":
        """Of all rows together: observed, replicated (95 %), and the share of replicates above."""
        from pandas import DataFrame

        lines = []
        for name, measure in _STATISTICS.items():
            found, each = float(measure(self.y)), measure(self.replicated)  # (S,)
            low, high = np.quantile(each, (0.025, 0.975))
            above = float((each > found).mean() + 0.5 * (each == found).mean())
            lines.append((name, found, float(low), float(high), above))
        return DataFrame(lines, columns=["statistic", "observed", "low", "high", "share_above"])

    def class_counts(self, n_classes: int) -> "DataFrame":
        """Of each class: rows observed, and the interval of 95 % of the replicates."""
        from pandas import DataFrame

        codes = np.arange(n_classes)
        each = (self.replicated[:, :, None] == codes).sum(1)  # (S, C)
        low, high = np.quantile(each, (0.025, 0.975), axis=0)
        found = (self.y[:, None] == codes).sum(0)
        parts = {"class": codes, "observed": found, "low": low, "high": high}
        return DataFrame({**parts, "mean": each.mean(0)})


def predictive_check(
    model: "PMCNetEstimator", rows: CheckRows, *, n_draws: int, seed: int
) -> PredictiveCheck:
    """Draw replicates of these rows.

    Args:
        model: fitted.
        rows: whose responses are known.
        n_draws: S.
        seed: of the draws.
    """
    theta = model.posterior_.chains(n_draws, seed).flatten(0, 1)
    drawn = drawn_responses(model, model.posterior_, rows, theta, seed)
    pit = transform(rows.y, rows.observed, drawn, seed)
    return PredictiveCheck(rows.place, rows.y, rows.observed, drawn, pit, rows.n_given)


def drawn_responses(
    model: "PMCNetEstimator",
    posterior: ParticlePosterior,
    rows: CheckRows,
    theta: Tensor,
    seed: int,
) -> Array:
    """Draws of y of each row from each of some networks, in units of y (S, n).

    Args:
        model: fitted.
        posterior: of the networks.
        rows: to draw y of.
        theta: the networks (S, D).
        seed: of the noise.
    """
    whole, x = predicting(posterior, rows.rows)
    if isinstance(whole.likelihood, KnownGaussian):
        whole = replace(whole, likelihood=whole.likelihood.of_rows(rows.targets[:, 1]))
    source = stream(check_seed(seed), _NOISE_STEP, 0)
    return model._units().values(replicates(whole, theta, x, source).cpu().numpy())


def transform(y: Array, observed: NDArray[np.bool_], drawn: Array, seed: int = 0) -> Array:
    """Where each y is among its replicates, from 0 to 1 (n,).

    Args:
        y: observed (n,).
        observed: whether y is known (n,); else it is above.
        drawn: replicates (S, n).
        seed: of ties.
    """
    below = (drawn < y).sum(0)
    upto = np.where(observed, (drawn <= y).sum(0) + 1, len(drawn) + 1)
    unit = stream(check_seed(seed), _TIE_STEP, 0).host.random(len(y))
    found: Array = (below + unit * (upto - below)) / (len(drawn) + 1)
    return found


def _own_transforms(drawn: Array, seed: int) -> Array:
    """Where each replicate is among all of them, from 0 to 1 (S, n)."""
    source = stream(check_seed(seed), _TIE_STEP, 1).host
    ties = np.lexsort((source.random(drawn.shape), drawn), axis=0).argsort(0)
    found: Array = (ties + source.random(drawn.shape)) / len(drawn)
    return found


_STATISTICS: dict[str, Callable[..., Any]] = {
    "mean": partial(np.mean, axis=-1),
    "standard deviation": partial(np.std, axis=-1),
    "smallest": partial(np.min, axis=-1),
    "median": partial(np.median, axis=-1),
    "largest": partial(np.max, axis=-1),
}
