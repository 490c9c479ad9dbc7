"""MC dropout (Gal and Ghahramani, 2016): dropout in training, and in predictions as well.

Dropping a unit is dropping its column of the next layer's weights: W diag(z / (1 - p)), z ~
Bernoulli(1 - p). A stochastic pass is therefore a network with such weights, and S passes are S
parameter vectors, which predict like any other posterior's. Units are the inputs of every weight
tensor but the first (for convolutions: channels), with `on_inputs` of the first as well. In
training an MLP has a mask for each row, any other network one for each batch.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, Self

import torch
from torch import Tensor
from torch.nn import functional as F

from pmcnet.ais.comm import SERIAL, Communicator
from pmcnet.bnn import MLP, BayesianTarget, Layout, Parameter, Population
from pmcnet.bnn.batch import Batch
from pmcnet.bnn.networks.mlp import ACTIVATIONS
from pmcnet.errors import InputError
from pmcnet.methods.base import Fit, Observer, Rows
from pmcnet.methods.settings import Choice, choices, epochs
from pmcnet.methods.training.adam import default_start
from pmcnet.methods.training.loop import (
    TrainedMethod,
    Watch,
    averages,
    batches,
    check_rate,
)
from pmcnet.methods.training.state import EpochInfo, TrainingState
from pmcnet.rng import Stream, many_uniform, stream

REASON = (
    "passes of a network with dropout: their spread follows from the dropout rate that was set, "
    "and does not shrink as "
    "data come in. Use the annealed method for a posterior."
)
_MASK_STEP = 1 << 40


@dataclass(frozen=True, kw_only=True)
class MCDropout(TrainedMethod):
    """Adam on -sum log p(y | masked theta) - share log p(theta).

    Args:
        rate: p, the probability with which a unit is dropped.
        on_inputs: whether inputs are dropped too.
        objective: "map" has weight decay from the prior, "mle" none.
        learning_rate: Adam's step.
        batch_size: rows per step.
        n_epochs: passes over the rows; with validation rows the epoch whose network without dropout
            does best is kept.
        n_passes: S.
    """

    rate: float = 0.5
    on_inputs: bool = False
    objective: Literal["mle", "map"] = "map"
    learning_rate: float = 1e-3
    batch_size: int = 128
    n_epochs: int = 400
    n_passes: int = 100

    may_be_zero = frozenset({"rate"})

    @property
    def grid(self) -> tuple[Choice, ...]:
        """The dropout rate and the prior."""
        return choices(rate=(0.05, 0.2, 0.5), prior_std=(1.0, 3.0))

    def summary(self, name: str) -> str:
        """What it does."""
        return "one network trained with dropout, which predictions leave on"

    def sized(self, n_rows: int) -> Self:
        """About 10 000 steps."""
        return replace(self, n_epochs=epochs(self.batch_size, n_rows, most=2000))

    def __post_init__(self) -> None:
        if not 0 <= self.rate < 1:
            raise InputError(f"rate must lie in [0, 1); got {self.rate}.")
        if min(self.batch_size, self.n_epochs, self.n_passes) < 1:
            raise InputError("batch_size, n_epochs and n_passes must be at least 1.")
        check_rate("learning_rate", self.learning_rate)
        if self.objective not in ("mle", "map"):
            raise InputError(f'objective must be "mle" or "map"; got {self.objective!r}.')

    def fit(
        self,
        target: BayesianTarget,
        *,
        seed: int,
        state: TrainingState | None = None,
        observers: Iterable[Observer] = (),
        comm: Communicator = SERIAL,
        validation: Rows | None = None,
    ) -> Fit[EpochInfo]:
        """Train one network with dropout, then draw S masks."""
        theta = default_start(target, [stream(seed, 0, 0)]).requires_grad_()  # (1, D)
        optimiser = torch.optim.Adam([theta], lr=self.learning_rate)
        watch = Watch(target, validation, self.n_epochs, seed, state, observers)
        parts = {"theta": theta, **averages(optimiser, theta)}
        watch.restore(parts, theta)
        for epoch in range(watch.first, self.n_epochs):
            source = stream(seed, _MASK_STEP + epoch, 0, target.device)
            for batch in batches(target, self.batch_size, seed=seed, epoch=epoch):
                theta.grad = self._gradient(target, theta.detach(), batch, source)
                optimiser.step()
            if validation is not None:
                watch.judge(theta)
            watch.done(parts)
        watch.settle(theta)
        draws = watch.best * self.masks(
            target, self.n_passes, stream(seed, _MASK_STEP + self.n_epochs, 0, target.device)
        )
        return Fit(Population.of(target, draws, REASON), tuple(watch.history))

    def masks(self, target: BayesianTarget, n: int, source: Stream) -> Tensor:
        """Factors of parameters (n, D): 0 or 1 / (1 - p) where a unit multiplies them, else 1."""
        factors = target.like.new_ones(n, target.dim)
        for weight in dropped(target.network.layout, self.on_inputs):
            kept = self._kept(n, weight.shape[1], source, like=factors)
            block = kept.reshape(n, 1, -1, *(1 for _ in weight.shape[2:])).expand(n, *weight.shape)
            factors[:, weight.start : weight.stop] = block.reshape(n, -1)
        return factors

    def _kept(self, n: int, n_units: int, source: Stream, like: Tensor) -> Tensor:
        """0 or 1 / (1 - p) for each unit (n, n_units)."""
        return (many_uniform(source, (n, n_units), like) >= self.rate).to(like) / (1 - self.rate)

    def _gradient(
        self, target: BayesianTarget, theta: Tensor, batch: Batch, source: Stream
    ) -> Tensor:
        if type(target.network) is MLP:
            score = self._mlp_score(target, target.network, theta, batch, source)
        else:
            mask = self.masks(target, 1, source)
            score = mask * target.batch_likelihood_and_score(theta * mask, batch).score
        if self.objective == "map":
            score = torch.add(
                score, target.prior_and_score(theta).score, alpha=batch.n_rows / len(target.x)
            )
        return -score

    def _mlp_score(
        self, target: BayesianTarget, network: MLP, theta: Tensor, batch: Batch, source: Stream
    ) -> Tensor:
        """The score of a batch with a mask for each row: (1, D)."""
        hidden, activation = batch.x, ACTIVATIONS[network.activation][0]
        with torch.enable_grad():
            free = theta.detach().requires_grad_()
            weights, extra = target.parts(free)
            tensors = list(network.layout.unflatten(weights[0]).values())
            for layer, (weight, bias) in enumerate(zip(tensors[::2], tensors[1::2], strict=True)):
                if layer or self.on_inputs:
                    hidden = hidden * self._kept(batch.n_rows, hidden.shape[1], source, like=hidden)
                hidden = F.linear(hidden, weight, bias)
                if 2 * layer + 2 < len(tensors):
                    hidden = activation(hidden)
            log_prob = target.likelihood.log_prob(hidden[None], batch.y, extra)
            (score,) = torch.autograd.grad(batch.total(log_prob).sum(), free)
        return score


def dropped(layout: Layout, on_inputs: bool) -> list[Parameter]:
    """The weight tensors whose input units are dropped."""
    weights = [parameter for parameter in layout if not parameter.is_bias]
    return weights if on_inputs else weights[1:]
