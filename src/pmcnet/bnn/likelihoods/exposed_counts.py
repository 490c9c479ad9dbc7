"""Counts of rows whose log exposure comes as the network's second output: for predictions.

    E[y] = exposure * exp(centre + spread * output_0),  log exposure = output_1

An exposure is no part of what the bound on the network's output is about, so it is added after it.
"""

from typing import ClassVar

from torch import Tensor

from pmcnet.bnn.likelihoods.base import Likelihood
from pmcnet.bnn.likelihoods.count_densities import CountRows
from pmcnet.bnn.likelihoods.counts import Counts, NegativeBinomial, Poisson
from pmcnet.bnn.likelihoods.registry import FAMILIES


class _Exposed(Counts):
    """What the members share; an exposure of the data multiplies that of the outputs."""

    n_outputs: ClassVar[int] = 2

    def mean(self, output: Tensor, extra: Tensor) -> Tensor:
        """Mu times the exposure (P, N, 1)."""
        return super().mean(output[..., :1], extra) * output[..., 1:].exp()

    def _log_rate(self, output: Tensor) -> Tensor:
        return super()._log_rate(output) + output[..., 1].double()

    def _rows(self, output: Tensor, y: Tensor) -> CountRows:
        log_exposure = output[0, :, 1].double()  # (N,), that of every network
        return CountRows.of(self._moved(output[..., 0]), self.centre + log_exposure, y)


class ExposedPoisson(_Exposed, Poisson):
    """`Poisson` with the exposure of each row."""


class ExposedNegativeBinomial(_Exposed, NegativeBinomial):
    """`NegativeBinomial` with the exposure of each row."""


_FORMS: dict[type, type[ExposedPoisson] | type[ExposedNegativeBinomial]] = {
    Poisson: ExposedPoisson,
    NegativeBinomial: ExposedNegativeBinomial,
}
COUNT_FAMILIES = tuple(name for name, (first, *_) in FAMILIES.items() if first in _FORMS)
"""Names of the likelihoods whose rows may have an exposure."""


def exposed(likelihood: Likelihood) -> Likelihood:
    """The same likelihood of counts, for outputs that end with the log exposure."""
    return _FORMS[type(likelihood)](**vars(likelihood))
