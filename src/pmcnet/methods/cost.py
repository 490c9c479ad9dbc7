"""What a fit costs, estimated from sizes alone.

The estimate depends on the data's shape and the kind of device and not on how busy the machine is:
one gradient of one network takes N (units * A + parameters * 6 / F) seconds, with A and F measured
on two CPU cores and on one H200 (docs/estimators.md).
"""

from typing import NamedTuple, Self

from pmcnet.bnn import MLP, BayesianTarget

N_EVIDENCE_TRIALS = 4
"""Runs of a search of the prior's scale by the evidence."""
N_VALIDATION_TRIALS = 6
"""Fits of a search of the prior's scale on validation rows."""
SEARCH_ROWS = 1000
"""Rows, at most, of a search by the evidence: the scale depends little on how many there are."""
PER_STEP_OF_BATCHES = 2.5
PER_STEP_OF_ADAM = 1.5
"""What a step on a mini-batch takes beside its gradient, in leapfrog steps on no rows."""
_SEARCHING = 4.0  # times the cost of a run, where the prior's scale is searched with shorter ones


class _Speed(NamedTuple):
    """Seconds per unit and row, operations per second, seconds of a leapfrog step on no rows."""

    per_unit: float
    rate: float
    per_step: float


_SPEEDS = {"cpu": _Speed(3.2e-9, 1.5e11, 5e-4), "cuda": _Speed(3e-11, 1e13, 5e-4)}
_OTHER = _SPEEDS["cpu"]


class Cost(NamedTuple):
    """Sizes and speeds that the cost of a fit follows from.

    Args:
        n_rows: training rows.
        per_row: seconds of the gradient of one network on one row.
        per_step: seconds of a leapfrog step on no rows.
        searching: whether the prior's scale is searched as well.
    """

    n_rows: int
    per_row: float
    per_step: float
    searching: bool = False

    @classmethod
    def of(cls, target: BayesianTarget, *, searching: bool = False) -> Self:
        """That of fits to a target."""
        network, speed = target.network, _SPEEDS.get(target.device.type, _OTHER)
        n_units = (
            sum(network.sizes[1:]) if isinstance(network, MLP) else network.numbers_per_input / 4
        )
        per_row = n_units * speed.per_unit + target.dim * 6 / speed.rate
        return cls(len(target.x), per_row, speed.per_step, searching)

    @property
    def times(self) -> float:
        """Cost of a fit with the search of its prior, in fits."""
        return _SEARCHING if self.searching else 1.0

    def gradient(self, n_rows: float) -> float:
        """Seconds of the gradient of one network on so many rows."""
        return n_rows * self.per_row
