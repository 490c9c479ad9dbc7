"""Log-likelihood of rows under populations of MLPs, by the compiled pass of `kernels.fused_mlp`.

A likelihood that the kernel knows needs one pass. Any other needs two: the first gives the outputs,
torch the derivatives by them, and the second carries these on to the weights.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from pmcnet.ais.target import ValueAndScore
from pmcnet.bnn.batch import Batch
from pmcnet.bnn.kernels import fused_mlp
from pmcnet.bnn.likelihoods.base import Likelihood
from pmcnet.bnn.networks.mlp import MLP


@dataclass(frozen=True, eq=False)
class CompiledRows:
    """Rows with all that is needed to evaluate them.

    Args:
        network: whose layers the kernel evaluates.
        likelihood: of the rows.
        batch: the rows.
    """

    network: MLP
    likelihood: Likelihood
    batch: Batch

    @property
    def _known(self) -> bool:
        return fused_mlp.knows(self.likelihood)

    @cached_property
    def _rows(self) -> fused_mlp.Rows:
        data = (self.batch.y, self.batch.weight) if self._known else (None, None)
        return fused_mlp.tiled(self.network.fused, self.batch.x, *data)

    @staticmethod
    def bytes_per_point(likelihood: Likelihood, n_rows: int, dim: int) -> int:
        """Temporaries of one network on so many rows."""
        by_torch = 0 if fused_mlp.knows(likelihood) else 4 * n_rows * likelihood.n_outputs
        return 8 * (4 * dim + by_torch)

    def log_likelihood(self, theta: Tensor) -> Tensor:
        """sum_n w_n log p(y_n | Phi(theta, x_n)): (P, D) -> (P,), float64."""
        flat, layers = self._flat(theta), self.network.fused
        if self._known:
            return fused_mlp.log_likelihood(layers, self.likelihood, flat, self._rows)
        output = fused_mlp.outputs_of(layers, flat, self._rows)
        extra = self._parts(theta)[1]
        return self.batch.total(self.likelihood.log_prob(output, self.batch.y, extra))

    def value_and_score(self, theta: Tensor) -> ValueAndScore:
        """The same with its gradient (P, D)."""
        flat, layers = self._flat(theta), self.network.fused
        if self._known:
            found = fused_mlp.likelihood_and_score(layers, self.likelihood, flat, self._rows)
        else:
            found = self._in_two_passes(flat)
        if flat is theta:
            return found
        n = self.network.layers.dim
        own, _ = self._parts(theta)
        by_weights = self.network.pulled_back(own, flat[:, :n], found.score[:, :n])
        return ValueAndScore(found.value, torch.cat([by_weights, found.score[:, n:]], 1))

    def _in_two_passes(self, flat: Tensor) -> ValueAndScore:
        layers, n = self.network.fused, self.network.layers.dim
        output = fused_mlp.outputs_of(layers, flat, self._rows)
        found = self.likelihood.gradients(output, self.batch.y, flat[:, n:])
        by_output = self.batch.counted(found.output)
        score = fused_mlp.pulled_back(layers, flat, self._rows, by_output)
        score[:, n:] = self.batch.counted(found.extra).sum(1)
        return ValueAndScore(self.batch.total(found.log_prob), score)

    def _parts(self, theta: Tensor) -> tuple[Tensor, Tensor]:
        n = self.network.layout.dim
        return theta[:, :n], theta[:, n:]

    def _flat(self, theta: Tensor) -> Tensor:
        """The parameters of the layers and the likelihood's, as the kernel reads them."""
        own, extra = self._parts(theta)
        weights = self.network.weights(own)
        return theta if weights is own else torch.cat([weights, extra], 1)
