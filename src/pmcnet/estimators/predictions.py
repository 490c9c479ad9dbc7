"""What estimators return besides arrays."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

Array = NDArray[np.float64]


class Uncertainty(NamedTuple):
    """Per row (N,), with total = aleatoric + epistemic.

    Classes: entropy of the averaged prediction, average entropy, mutual information, in nats.
    Regression: variances.
    """

    total: Array
    aleatoric: Array
    epistemic: Array


class AveragedPrediction(NamedTuple):
    """The averaged prediction of N rows, and its uncertainty as `Uncertainty` has it.

    `mean` is (N, C): class probabilities, or E[y] with C = 1.
    """

    mean: Array
    total: Array
    aleatoric: Array
    epistemic: Array

    @property
    def probability(self) -> Array:
        """Class probabilities (N, C), scaled to sum to 1."""
        return np.asarray(self.mean / self.mean.sum(-1, keepdims=True))


class EncodedRows(NamedTuple):
    """Rows as the network's inputs (N, ...): the model that made them takes them for X."""

    inputs: Tensor
