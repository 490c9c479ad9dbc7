"""A column that predictions need beside the target: exposures of counts, or events of times.

It is no feature.
"""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from pmcnet.bnn.likelihoods.response import Array


class SecondColumn(NamedTuple):
    """Exposures (N,), or whether events were observed, 1, or are censored, 0 (N,); or neither."""

    exposure: Array | None = None
    event: Array | None = None

    def at(self, rows: NDArray[np.int64]) -> Self:
        """Those of some rows."""
        return type(self)(*(None if column is None else column[rows] for column in self))

    def response(self, y: NDArray[Any]) -> NDArray[Any]:
        """The target as estimators take it: times with their events (N, 2), else as it is (N,)."""
        return y if self.event is None else np.column_stack([y, self.event])

    @property
    def arguments(self) -> dict[str, Any]:
        """What estimators take beside X and y."""
        return {} if self.exposure is None else {"exposure": self.exposure}

    @property
    def columns(self) -> dict[str, NDArray[Any]]:
        """By their names in tables of predictions."""
        if self.event is not None:
            return {"event": self.event.astype(np.int64)}
        return {} if self.exposure is None else {"exposure": self.exposure}

    def observed(self, n_rows: int) -> NDArray[np.bool_]:
        """Whether the target is known, and not only a bound of it: (N,)."""
        return np.ones(n_rows, dtype=bool) if self.event is None else self.event > 0


NO_COLUMN = SecondColumn()
