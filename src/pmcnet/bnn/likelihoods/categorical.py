"""Classes: two from one logit, or several by softmax. Predictions are probabilities."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional as F

from pmcnet.bnn.likelihoods.base import (
    Gradients,
    Likelihood,
    NoExtra,
    Stored,
    Task,
    column,
    no_extra_gradient,
)
from pmcnet.bnn.likelihoods.response import Response, Units
from pmcnet.errors import InputError
from pmcnet.io.schema import Form, whole
from pmcnet.rng import Stream

MOST_CLASSES = 1 << 24


class Classes(NoExtra, Stored):
    """What likelihoods of classes share: they predict probabilities; uncertainty is entropy."""

    task: ClassVar[Task] = "classification"

    @classmethod
    def units(cls, response: Response) -> Units:
        """Codes of classes stay as they are."""
        return Units()

    @classmethod
    def for_response(cls, response: Response, units: Units) -> Likelihood:
        """One logit for two classes, else a logit for each."""
        return Bernoulli() if response.n_classes == 2 else Categorical(response.n_classes)

    def mean(self, output: Tensor, extra: Tensor) -> Tensor:
        """Probabilities (P, N, n_classes)."""
        raise NotImplementedError

    def usable(self, extra: Tensor) -> Tensor:
        """Always."""
        return torch.ones(extra.shape[:-1], dtype=torch.bool, device=extra.device)

    def aleatoric(self, mean: Tensor, output: Tensor, extra: Tensor) -> Tensor:
        """-sum_c p_c log p_c of each network's prediction, in nats."""
        return entropy(mean)

    def total(self, mean: Tensor, aleatoric: Tensor, variance: Tensor) -> Tensor:
        """Entropy of the averaged prediction."""
        return entropy(mean)

    def sample(self, output: Tensor, extra: Tensor, source: Stream) -> Tensor:
        """Codes of classes, by inverting the distribution function."""
        below = self.mean(output, extra).double().cumsum(-1)[..., :-1]  # (P, N, n_classes - 1)
        unit = torch.as_tensor(source.host.random(tuple(below.shape[:-1]))).to(below.device)
        return (unit[..., None] >= below).sum(-1).double()

    def quantiles(
        self, output: Tensor, extra: Tensor, weight: Tensor, levels: Sequence[float]
    ) -> Tensor:
        """Refused: classes have no order."""
        raise InputError(f"quantiles are of a regression's response; {self} predicts classes.")


def entropy(probability: Tensor) -> Tensor:
    """-sum_c p_c log p_c over the last axis, with 0 log 0 = 0."""
    terms: Tensor = torch.special.entr(probability)
    return terms.sum(-1)


@dataclass(frozen=True)
class Bernoulli(Classes):
    """Two classes from one logit z: P(y = 1) = sigmoid(z)."""

    n_outputs = 1

    @property
    def n_classes(self) -> int:
        """Two."""
        return 2

    def log_prob(self, output: Tensor, y: Tensor, extra: Tensor) -> Tensor:
        """y log s(z) + (1 - y) log(1 - s(z)) = log s((2 y - 1) z), from the logit."""
        return F.logsigmoid((2 * y - 1) * column(output, y))

    def gradients(self, output: Tensor, y: Tensor, extra: Tensor) -> Gradients:
        """y - s(z)."""
        log_prob = self.log_prob(output, y, extra)
        residual = y - column(output, y).sigmoid()
        return Gradients(log_prob, residual[..., None], no_extra_gradient(log_prob))

    def mean(self, output: Tensor, extra: Tensor) -> Tensor:
        """(1 - s(z), s(z))."""
        return torch.cat([(-output).sigmoid(), output.sigmoid()], dim=-1)


@dataclass(frozen=True)
class Categorical(Classes):
    """One of C classes from C logits, by softmax."""

    n_classes: int

    stored_form: ClassVar[Mapping[str, Form]] = {"n_classes": whole(2, MOST_CLASSES)}

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

    def gradients(self, output: Tensor, y: Tensor, extra: Tensor) -> Gradients:
        """1[c = y] - softmax(z)_c."""
        index, log_total = _index(output, y), output.logsumexp(-1, keepdim=True)
        gradient = (output - log_total).exp_().neg_()
        gradient.scatter_add_(-1, index, gradient.new_ones(()).expand(index.shape))
        log_prob = (output.gather(-1, index) - log_total)[..., 0]
        return Gradients(log_prob, gradient, no_extra_gradient(log_prob))

    def mean(self, output: Tensor, extra: Tensor) -> Tensor:
        """softmax(z)."""
        return output.softmax(-1)


def _index(output: Tensor, y: Tensor) -> Tensor:
    """Where each row's class is among the outputs (P, N, C): (P, N, 1)."""
    return y.long().expand(output.shape[:-1])[..., None]
