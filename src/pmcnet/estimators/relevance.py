"""How much each column matters to a network whose prior has a scale for each input."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pmcnet.bnn import HierarchicalMLP, ParticlePosterior
from pmcnet.errors import AbsentError
from pmcnet.estimators.encoding import Encoder, TableEncoder

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]

_N_DRAWS = 2000
_LEVELS = (0.05, 0.5, 0.95)


def has_relevance(posterior: ParticlePosterior) -> bool:
    """Whether the prior has a scale for each input."""
    network = posterior.network
    return isinstance(network, HierarchicalMLP) and network.per_input


def relevance_of(posterior: ParticlePosterior, encoder: Encoder) -> "DataFrame":
    """Scale of each column's weights relative to the layer's: median and 90 % credible interval.

    A column that is several inputs has the root mean square of their scales.
    """
    from pandas import DataFrame

    network = posterior.network
    if not (isinstance(network, HierarchicalMLP) and has_relevance(posterior)):
        raise AbsentError(
            "this model has no scale for each input. Fit with prior_std='ard', or let "
            "prior_std='auto' choose it."
        )
    assert isinstance(encoder, TableEncoder)
    theta = posterior.resample(_N_DRAWS)[:, : network.layout.dim]
    square = network.relevance(theta).double().square().cpu().numpy()  # (n, inputs)
    names = [column.name for column in encoder.columns.columns]
    columns = encoder.input_columns
    each = [np.sqrt(square[:, columns == i].mean(1)) for i in range(len(names))]  # (n,) of a column
    low, median, high = np.quantile(np.stack(each), _LEVELS, axis=1)
    order: NDArray[np.int64] = np.argsort(-median, kind="stable")
    table = {"feature": names, "relevance": median, "low": low, "high": high}
    return DataFrame(table).iloc[order].reset_index(drop=True)
