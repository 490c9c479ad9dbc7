"""What a fit costs, estimated from sizes alone.

The estimate depends on the data's shape and the kind of device and not on how busy the machine is:
one gradient of one network takes N (units * A + parameters * 6 / F) + parameters * B seconds, with
A, F and B measured on two CPU cores, by the compiled pass and by torch, and on one H200
(docs/estimators.md).
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
    """Seconds per unit and row, operations per second, seconds of a leapfrog step on no rows.

    `per_parameter` is what a leapfrog step takes for each parameter beside the gradient.
    """

    per_unit: float
    rate: float
    per_step: float
    per_parameter: float


_COMPILED = _Speed(5e-11, 3.8e11, 5e-4, 6e-9)
_SPEEDS = {"cpu": _Speed(3.2e-9, 1.5e11, 5e-4, 1e-8), "cuda": _Speed(3e-11, 1e13, 5e-4, 0.0)}
_OTHER = _SPEEDS["cpu"]


class Cost(NamedTuple):
    """Sizes and speeds that the cost of a fit follows from.

    Args:
        n_rows: training rows.
        per_row: seconds of the gradient of one network on one row.
        per_step: seconds of a leapfrog step on no rows.
        per_network: seconds of a leapfrog step of one network beside its gradient.
        per_product: seconds of one network's vector times a dense matrix.
        searching: whether the prior's scale is searched as well.
        compared: whether priors are compared by small islands where the method allows it.
    """

    n_rows: int
    per_row: float
    per_step: float
    per_network: float = 0.0
    per_product: float = 0.0
    searching: bool = False
    compared: bool = False

    @classmethod
    def of(cls, target: BayesianTarget, *, searching: bool = False, compared: bool = False) -> Self:
        """That of fits to a target."""
        network, speed = target.network, _SPEEDS.get(target.device.type, _OTHER)
        if target.least_piece is not None:
            speed = _COMPILED
        n_units = (
            sum(network.sizes[1:]) if isinstance(network, MLP) else network.numbers_per_input / 4
        )
        per_row = n_units * speed.per_unit + target.dim * 6 / speed.rate
        per_network, per_product = target.dim * speed.per_parameter, 2 * target.dim**2 / speed.rate
        speeds = (per_row, speed.per_step, per_network, per_product)
        return cls(len(target.x), *speeds, searching, compared)

    @property
    def by_comparison(self) -> Self:
        """The cost of a method whose prior comparisons by small islands settle."""
        return self._replace(searching=self.searching and not self.compared)

    @property
    def times(self) -> float:
        """Cost of a fit with the search of its prior, in fits."""
        return _SEARCHING if self.searching else 1.0

    def gradient(self, n_rows: float) -> float:
        """Seconds of the gradient of one network on so many rows."""
        return n_rows * self.per_row + self.per_network
