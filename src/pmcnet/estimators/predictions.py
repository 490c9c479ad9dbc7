"""What estimators return besides arrays."""

from typing import NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pmcnet.ais.agreement import expected_tv
from pmcnet.bnn import Predictive
from pmcnet.bnn.likelihoods.response import Units

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

    `mean` is (N, C): class probabilities, or E[y] with C = 1. `error` (N, C) is the Monte Carlo
    standard error of `mean`, (N, 0) where the method has no islands or chains to tell it.
    """

    mean: Array
    total: Array
    aleatoric: Array
    epistemic: Array
    error: Array

    @classmethod
    def of(cls, found: Predictive, units: Units) -> Self:
        """What a posterior predicts, in units of y."""
        mean, total, aleatoric, epistemic, error = (part.double().cpu().numpy() for part in found)
        variances = (units.variances(part) for part in (total, aleatoric, epistemic))
        return cls(units.values(mean), *variances, units.scale * error)  # type: ignore[call-arg]

    @property
    def monte_carlo_error(self) -> Array | None:
        """One number for each row (N,); None where nothing tells it.

        That of E[y]; of probabilities the expected total variation between stated and exact ones.
        """
        if self.error.shape[1] < 2:
            return self.error[:, 0] if self.error.shape[1] else None
        return np.asarray(expected_tv(self.error))

    @property
    def probability(self) -> Array:
        """Class probabilities (N, C), scaled to sum to 1."""
        return np.asarray(self.mean / self.mean.sum(-1, keepdims=True))


class EncodedRows(NamedTuple):
    """Rows as the network's inputs (N, ...): the model that made them takes them for X.

    `log_exposure` (N,), float64, is that of counts; without it the exposure is 1.
    """

    inputs: Tensor
    log_exposure: Tensor | None = None

    def at(self, rows: NDArray[np.int64]) -> Self:
        """Those of some rows."""
        index = torch.as_tensor(rows, device=self.inputs.device)
        exposure = None if self.log_exposure is None else self.log_exposure[index]
        return type(self)(self.inputs[index], exposure)
