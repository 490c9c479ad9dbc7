"""Fully connected networks whose prior scales are sampled with the weights (non-centred).

A weight or bias of layer l is w = z s_l exp(t_l), with z ~ N(0, 1) for each and t_l ~ N(0, 1) for
the layer; s_l is 1 / sqrt(fan-in) for weights and 1 for biases, times `base`. With `per_input`, the
weights of input j of the first layer have a factor exp(t_j) more (automatic relevance
determination): an input whose t_j is low is switched off. With `per_output` each output has its own
t in place of the last layer's. The posterior of z and t has no funnel where data say little, since
both are independent under the prior.

The flat vector holds z in the order of an `MLP`, and after it all t: the layers' (with
`per_output` the hidden layers' and then the outputs'), then the inputs'. The prior of the whole
vector is N(0, 1), `GaussianPrior()`.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from pmcnet.bnn.networks.base import Layout
from pmcnet.bnn.networks.mlp import MLP
from pmcnet.bnn.priors.base import check_positive

LOG_SCALES = "log_scales"
"""The name of the hyperparameters t in the layout."""


class _Block(NamedTuple):
    """A weight (O, I) or bias (O, 1) of a layer: where it lies, its scale, where its t begin.

    `per_output` says whether each output has a t, `inputs` where those of the inputs begin, if any.
    """

    start: int
    stop: int
    shape: tuple[int, int]
    scale: float
    own: int
    per_output: bool
    inputs: int | None


@dataclass(frozen=True)
class HierarchicalMLP(MLP):
    """An MLP with a scale for each layer, and for each input, among its parameters.

    Args:
        base: of all scales: their prior median.
        per_input: whether inputs have scales.
        per_output: whether outputs have scales of their own.
    """

    base: float = 1.0
    per_input: bool = False
    per_output: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("base", self.base)

    @cached_property
    def layout(self) -> Layout:
        """That of the layers, then the hyperparameters t. Every z has scale 1."""
        shapes = [(p.name, p.shape) for p in self.layers]
        plain = Layout.of([*shapes, (LOG_SCALES, (self._n_scales,))])
        return Layout(p._replace(fan_in=1) for p in plain)

    @property
    def _n_layers(self) -> int:
        return len(self.sizes) - 1

    @property
    def _n_own(self) -> int:
        """Scales of layers and outputs."""
        return self._n_layers - 1 + (self.sizes[-1] if self.per_output else 1)

    @property
    def _n_scales(self) -> int:
        return self._n_own + (self.sizes[0] if self.per_input else 0)

    @cached_property
    def _blocks(self) -> tuple[_Block, ...]:
        blocks = []
        for i, p in enumerate(self.layers):
            layer = i // 2
            n_in = 1 if p.is_bias else p.shape[1]
            scale = self.base / math.sqrt(p.fan_in)
            last = self.per_output and layer == self._n_layers - 1
            inputs = self._n_own if self.per_input and i == 0 else None
            blocks.append(_Block(p.start, p.stop, (p.shape[0], n_in), scale, layer, last, inputs))
        return tuple(blocks)

    def weights(self, theta: Tensor) -> Tensor:
        """The layers' weights and biases w (P, D')."""
        n = self.layers.dim
        factor = theta[:, n:].exp()  # (P, K)
        pieces = []
        for b in self._blocks:
            z = theta[:, b.start : b.stop].reshape(-1, *b.shape)
            pieces.append((z * self._factor(factor, b)).flatten(1))
        return torch.cat(pieces, 1)

    def pulled_back(self, theta: Tensor, weights: Tensor, gradient: Tensor) -> Tensor:
        """From the gradient by w to that by z and t.

        dw / dz = w / z is the scale, and dw / dt = w for each t that a weight depends on.
        """
        n = self.layers.dim
        factor = theta[:, n:].exp()
        result = torch.zeros_like(theta)
        by_log_scale = gradient * weights  # (P, D')
        for b in self._blocks:
            g = gradient[:, b.start : b.stop].reshape(-1, *b.shape)
            result[:, b.start : b.stop] = (g * self._factor(factor, b)).flatten(1)
            each = by_log_scale[:, b.start : b.stop].reshape(-1, *b.shape)
            at = n + b.own
            if b.per_output:
                result[:, at : at + b.shape[0]] += each.sum(2)
            else:
                result[:, at] += each.sum((1, 2))
            if b.inputs is not None:
                result[:, n + b.inputs :] += each.sum(1)
        return result

    @staticmethod
    def _factor(factor: Tensor, b: _Block) -> Tensor:
        """The scale of each weight of a block: (P, O or 1, I or 1)."""
        if b.per_output:
            scale = factor[:, b.own : b.own + b.shape[0], None]
        else:
            scale = factor[:, b.own, None, None]
        scale = scale * b.scale
        return scale if b.inputs is None else scale * factor[:, None, b.inputs :]

    def relevance(self, theta: Tensor) -> Tensor:
        """exp(t_j), the scale of each input relative to the layer's: (P, d); see `per_input`."""
        return theta[:, self.layers.dim + self._n_own : self.layers.dim + self._n_scales].exp()
