"""One pass over the posterior for several questions about the same rows."""

from typing import Any

import torch
from torch import Tensor

from pmcnet.bnn import Network


class CachedNetwork:
    """A network that keeps the outputs of its last call and returns them to an equal call.

    Methods of a posterior that split rows and networks alike then share one evaluation, and each
    gets the very numbers that it would have computed. Memory grows by the outputs of one call.
    """

    def __init__(self, network: Network) -> None:
        self._network = network
        self._last: tuple[Tensor, Tensor, Tensor] | None = None  # (P, D), (N, ...), (P, N, C)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._network, name)

    def __call__(self, theta: Tensor, x: Tensor) -> Tensor:
        """Parameters (P, D) and inputs (N, ...) -> outputs (P, N, C)."""
        if self._last is not None:
            known_theta, known_x, output = self._last
            if torch.equal(theta, known_theta) and torch.equal(x, known_x):
                return output
        output = self._network(theta, x)
        self._last = theta, x, output
        return output
