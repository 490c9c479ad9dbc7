"""What estimators return besides arrays."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Uncertainty(NamedTuple):
    """Per row (N,), with total = aleatoric + epistemic.

    Classes: entropy of the averaged prediction, average entropy, mutual information, in nats.
    Regression: variances.
    """

    total: Array
    aleatoric: Array
    epistemic: Array


class Averaged(NamedTuple):
    """The averaged prediction (N, C), class probabilities or E[y], with its `Uncertainty`."""

    mean: Array
    total: Array
    aleatoric: Array
    epistemic: Array
