"""Likelihoods of classes: two from one logit, or several by softmax. Predictions are probabilities."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from pmcnet.bnn.likelihoods.gaussian import NoExtra, Slopes, Task, column, no_extra_slope
from pmcnet.errors import InputError


def _index(output: Tensor, y: Tensor) -> Tensor:
    """Where each row's class is among the outputs (P, N, C): (P, N, 1)."""
    return y.long().expand(output.shape[:-1])[..., None]


class _Classification:
    """Predicts probabilities; uncertainty is entropy in nats."""

    task: Task = "classification"

    def aleatoric(self, mean: Tensor, extra: Tensor) -> Tensor:
        """-sum_c p_c log p_c of each network's prediction."""
        return entropy(mean)

    def total(self, mean: Tensor, aleatoric: Tensor, variance: Tensor) -> Tensor:
        """Entropy of the averaged prediction."""
        return entropy(mean)


def entropy(probability: Tensor) -> Tensor:
    """-sum_c p_c log p_c over the last axis, with 0 log 0 = 0."""
    terms: Tensor = torch.special.entr(probability)
    return terms.sum(-1)


@dataclass(frozen=True)
class Bernoulli(NoExtra, _Classification):
    """Two classes from one logit z: P(y = 1) = sigmoid(z)."""

    n_outputs = 1

    def log_prob(self, output: Tensor, y: Tensor, extra: Tensor) -> Tensor:
        """y log s(z) + (1 - y) log(1 - s(z)) = log s((2 y - 1) z), from the logit."""
        return F.logsigmoid((2 * y - 1) * column(output, y))

    def slopes(self, output: Tensor, y: Tensor, extra: Tensor) -> Slopes:
        """y - s(z)."""
        log_prob = self.log_prob(output, y, extra)
        return Slopes(
            log_prob, (y - column(output, y).sigmoid())[..., None], no_extra_slope(log_prob)
        )

    def mean(self, output: Tensor) -> Tensor:
        """(1 - s(z), s(z))."""
        return torch.cat([(-output).sigmoid(), output.sigmoid()], dim=-1)


@dataclass(frozen=True)
class Categorical(NoExtra, _Classification):
    """One of C classes from C logits, by softmax."""

    n_classes: int

    def __post_init__(self) -> None:
        if self.n_classes < 2:
            raise InputError(f"n_classes must be at least 2; got {self.n_classes}.")

    @property
    def n_outputs(self) -> int:
        """One logit per class."""
        return self.n_classes

    def log_prob(self, output: Tensor, y: Tensor, extra: Tensor) -> Tensor:
        """log softmax(z)[y] = z_y - log sum_c exp(z_c)."""
        return output.gather(-1, _index(output, y))[..., 0] - output.logsumexp(-1)

    def slopes(self, output: Tensor, y: Tensor, extra: Tensor) -> Slopes:
        """1[c = y] - softmax(z)_c."""
        index, log_total = _index(output, y), output.logsumexp(-1, keepdim=True)
        slope = (output - log_total).exp_().neg_()
        slope.scatter_add_(-1, index, slope.new_ones(()).expand(index.shape))
        log_prob = (output.gather(-1, index) - log_total)[..., 0]
        return Slopes(log_prob, slope, no_extra_slope(log_prob))

    def mean(self, output: Tensor) -> Tensor:
        """softmax(z)."""
        return output.softmax(-1)
