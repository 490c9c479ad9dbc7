"""The rows that a reader of the page begins with: a typical one, and a few test rows."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing  # type: ignore[import-untyped]

from pmcnet.estimators.columns import Matrix
from pmcnet.estimators.encoding import TableEncoder
from pmcnet.estimators.evaluation.column_controls import typical
from pmcnet.estimators.evaluation.known_table import KnownTable

N_TEST_ROWS = 6
N_TRAINING_ROWS = 10_000
"""Training rows, evenly spread, from which usual values are taken."""


class StartRows(NamedTuple):
    """Training rows as numbers (N, R), and the rows to begin with (S, R), their places, truths."""

    training: Matrix
    numbers: Matrix
    rows: list[int | None]
    truths: list[Any]

    @classmethod
    def of(
        cls, encoder: TableEncoder, tested: KnownTable, trained: KnownTable, *, classes: bool
    ) -> "StartRows":
        """The typical row, and test rows from the smallest to the largest truth."""
        columns = encoder.columns
        training = encoder.rows(_evenly(trained.x, N_TRAINING_ROWS))
        if not all(np.isfinite(training[:, part.start]).any() for part in columns.slices):
            training = encoder.rows(trained.x)  # a column has few values that are not missing
        parts = zip(columns.columns, columns.slices, strict=True)
        first = np.concatenate([typical(column, training[:, part]) for column, part in parts])
        chosen = _of_classes(tested.y) if classes else _spread(tested.y)
        if tested.seen or not len(chosen):
            return cls(training, first[None], [None], [None])
        others = encoder.rows(_safe_indexing(tested.x, chosen))
        truths = [str(tested.y[n]) if classes else _number(tested, n) for n in chosen.tolist()]
        places = [tested.number(n) for n in chosen.tolist()]
        return cls(training, np.vstack([first, others]), [None, *places], [None, *truths])


def _evenly(x: Any, n: int) -> Any:
    """At most `n` rows of a table."""
    size = len(x)
    return x if size <= n else _safe_indexing(x, np.linspace(0, size - 1, n).astype(np.int64))


def _spread(truth: NDArray[Any]) -> NDArray[np.int64]:
    """Rows evenly spaced by the rank of their truth."""
    n = min(N_TEST_ROWS, len(truth))
    ranks = ((np.arange(n) + 0.5) / max(n, 1) * len(truth)).astype(np.int64)
    return np.argsort(truth, kind="stable")[ranks]


def _of_classes(truth: NDArray[Any]) -> NDArray[np.int64]:
    """The first rows of each class, then the second ones, as long as there is room."""
    _, label, size = np.unique(truth.astype(str), return_inverse=True, return_counts=True)
    by_class = np.argsort(label, kind="stable")
    before = np.empty_like(label)  # rows of the same class above each row
    before[by_class] = np.arange(len(label)) - np.repeat(np.cumsum(size) - size, size)
    first = np.argsort(before, kind="stable")[:N_TEST_ROWS]
    chosen: NDArray[np.int64] = first[np.argsort(label[first], kind="stable")]
    return chosen


def _number(tested: KnownTable, n: int) -> float | str:
    """The truth of a row; of a censored one a lower bound, as a string."""
    value = float(tested.y[n])
    censored = tested.second.event is not None and not tested.second.event[n]
    return f"> {value:.4g}" if censored else value
