"""Bayes by Backprop (Blundell et al., 2015): the best Gaussian with independent coordinates.

q(theta) = N(mu, s^2), s = 1e-6 + softplus(rho). Each batch lowers an estimate of
    -sum_batch E_q log p(y | theta) + (n_batch / N) [E_q log q(theta) - E_q log p(theta)]
from draws theta = mu + s eps. The entropy of q is exact: d/ds E_q log q = -1 / s; the rest is
averaged over draws. The local estimator of the same loss draws outputs of layers and has the prior
in closed form where it is Gaussian.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, Self

import torch
from torch import Tensor
from torch.nn import functional as F

from pmcnet.ais.comm import SERIAL, Communicator
from pmcnet.bnn import BayesianTarget, Population
from pmcnet.bnn.batch import Batch
from pmcnet.errors import InputError
from pmcnet.methods.base import Fit, Observer, Rows
from pmcnet.methods.local_reparametrisation import local_gradients
from pmcnet.methods.settings import PRIORS, Choice, choices, epochs
from pmcnet.methods.training.adam import default_start
from pmcnet.methods.training.loop import (
    Schedule,
    TrainedMethod,
    Watch,
    averages,
    batches,
    check_rate,
    check_schedule,
    scheduled,
    set_rate,
)
from pmcnet.methods.training.state import EpochInfo, TrainingState
from pmcnet.rng import Stream, standard_normal, stream, uniform

REASON = (
    "draws of a Gaussian with independent coordinates fitted to the posterior: such a fit is "
    "narrower than the "
    "posterior, and nothing here measures by how much. Use the annealed method for one that is."
)
_LEAST = 1e-6
_NOISE_STEP = 1 << 40


@dataclass(frozen=True, kw_only=True)
class BBP(TrainedMethod):
    """Mean-field variational inference by Adam on mini-batches.

    Args:
        n_draws: draws of theta per step.
        estimator: "weights" draws theta for a batch, and estimates prior and likelihood from the
            draws. "local" draws the outputs of layers for each row (MLPs only), with less noise in
            the gradient, and needs no draws for the prior where it is Gaussian; for others it draws
            theta.
        learning_rate: Adam's step.
        schedule: of Adam's step, "constant" or "cosine".
        batch_size: rows per step.
        n_epochs: passes over the rows.
        kl_weight: share of the divergence from the prior that counts. Less than 1 fits a posterior
            that is narrower than Bayes' rule has it, a common help where that one underfits.
        early_stopping: with validation rows the epoch whose mean network does best is kept;
            otherwise the last.
        start: half-width of the uniform start of mu; None starts it as torch initialises layers.
        deviation: standard deviation at the start; without it rho is drawn from [-3, -2],
            deviations of .05 to .13.
        n_kept: draws of q that make the posterior.
        predict: "draws" averages them; "mean" is the network at mu, as the paper reports it.
    """

    n_draws: int = 3
    estimator: Literal["weights", "local"] = "weights"
    learning_rate: float = 1e-3
    schedule: Schedule = "constant"
    batch_size: int = 100
    n_epochs: int = 200
    kl_weight: float = 1.0
    early_stopping: bool = True
    start: float | None = 0.1
    deviation: float | None = None
    n_kept: int = 100
    predict: Literal["draws", "mean"] = "draws"

    may_be_zero = frozenset({"start"})

    @property
    def grid(self) -> tuple[Choice, ...]:
        """Early stopping and the prior."""
        return choices(early_stopping=(True, False), learning_rate=(3e-3,), prior_std=PRIORS)

    def summary(self, name: str) -> str:
        """What it is called in full."""
        return "Bayes by Backprop: the best Gaussian with independent coordinates"

    def sized(self, n_rows: int) -> Self:
        """About 10 000 steps."""
        return replace(self, n_epochs=epochs(self.batch_size, n_rows, most=2000))

    def __post_init__(self) -> None:
        if min(self.n_draws, self.batch_size, self.n_epochs, self.n_kept) < 1:
            raise InputError("n_draws, batch_size, n_epochs and n_kept must be at least 1.")
        check_rate("learning_rate", self.learning_rate)
        check_schedule(self.schedule)
        if self.start is not None and not self.start >= 0:
            raise InputError(f"start must not be negative; got {self.start}.")
        if self.deviation is not None and not _LEAST < self.deviation < 1e3:
            raise InputError(
                f"deviation must be above {_LEAST:g} and below 1000; got {self.deviation}."
            )
        if not 0 < self.kl_weight <= 1:
            raise InputError(f"kl_weight must be above 0 and at most 1; got {self.kl_weight}.")
        if self.predict not in ("draws", "mean"):
            raise InputError(f'predict must be "draws" or "mean"; got {self.predict!r}.')
        if self.estimator not in ("weights", "local"):
            raise InputError(f'estimator must be "weights" or "local"; got {self.estimator!r}.')

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
        """Train mu and rho, and draw."""
        found, history = self.trained(
            target,
            seed=seed,
            validation=validation,
            state=state,
            observers=observers,
        )
        return Fit(self.posterior(target, found, seed=seed), history)

    def posterior(self, target: BayesianTarget, found: Tensor, *, seed: int) -> Population:
        """Draws of q, or the network at its mean.

        Args:
            target: what was trained on.
            found: (mu, rho), from `trained`.
            seed: of the draws.
        """
        mean, deviation = moments(found)
        if self.predict == "mean":
            return Population.of(target, mean[None], REASON)
        source = stream(seed, _NOISE_STEP + self.n_epochs, 0, target.device)
        noise = standard_normal([source], (self.n_kept, target.dim), like=target.like)[0]
        return Population.of(target, mean + deviation * noise, REASON)

    def trained(
        self,
        target: BayesianTarget,
        *,
        seed: int,
        state: TrainingState | None = None,
        observers: Iterable[Observer] = (),
        validation: Rows | None = None,
    ) -> tuple[Tensor, tuple[EpochInfo, ...]]:
        """Mu and rho (2, D), and the history; the arguments are those of `fit`."""
        parameters = self._start(target, seed).requires_grad_()  # (2, D)
        optimiser = torch.optim.Adam([parameters], lr=self.learning_rate)
        held_out = validation if self.early_stopping else None
        watch = Watch(target, held_out, self.n_epochs, seed, state, observers)
        parts = {"parameters": parameters, **averages(optimiser, parameters)}
        watch.restore(parts, parameters[None])
        n_batches = -(-len(target.x) // self.batch_size)
        n_steps, step = self.n_epochs * n_batches, watch.first * n_batches
        for epoch in range(watch.first, self.n_epochs):
            source = stream(seed, _NOISE_STEP + epoch, 0, target.device)
            for batch in batches(target, self.batch_size, seed=seed, epoch=epoch):
                set_rate(optimiser, scheduled(self.learning_rate, self.schedule, step / n_steps))
                step += 1
                parameters.grad = self._gradient(target, parameters.detach(), batch, source)
                optimiser.step()
            if watch.validation is not None:
                watch.judge(parameters[None], parameters[:1])
            watch.done(parts)
        watch.settle(parameters[None], parameters[:1])
        return watch.best[0], tuple(watch.history)

    def _start(self, target: BayesianTarget, seed: int) -> Tensor:
        """Mu uniform, the likelihood's own parameters at their prior's centre; rho: (2, D)."""
        unit = (
            uniform([stream(seed, 0, 0)], 2 * target.dim, like=target.like)
            .to(target.like)
            .reshape(2, -1)
        )
        if self.start is None:
            mu = default_start(target, [stream(seed, 0, 0)])[0]
        else:
            mu = self.start * (2 * unit[0] - 1)
            if target.likelihood.n_extra:
                mu[target.n_parameters :] = target.likelihood.from_normal(
                    mu.new_zeros(target.likelihood.n_extra)
                )
        rho = unit[1] - 3
        if self.deviation is not None:
            rho = torch.full_like(rho, math.log(math.expm1(self.deviation - _LEAST)))
        return torch.stack([mu, rho])

    def _gradient(
        self, target: BayesianTarget, parameters: Tensor, batch: Batch, source: Stream
    ) -> Tensor:
        gradients_of = local_gradients if self.estimator == "local" else weight_gradients
        q = moments(parameters)
        share = self.kl_weight * batch.n_rows / len(target.x)  # of the divergence
        gradients = gradients_of(target, q, batch, self.n_draws, source, share)
        gradients[1] += share / q[1]
        gradients[1] *= parameters[1].sigmoid()
        return gradients.neg_()


def weight_gradients(
    target: BayesianTarget, q: Tensor, batch: Batch, n_draws: int, source: Stream, share: float
) -> Tensor:
    """Gradients of E_q log p(y | theta) + share E_q log p(theta) by the moments of q: (2, D).

    Args:
        target: any.
        q: mean and standard deviation (2, D).
        batch: rows.
        n_draws: draws of theta, each for the whole batch.
        source: of the noise.
        share: of the prior, n_batch / N for Bayes' rule.
    """
    eps = standard_normal([source], (n_draws, target.dim), like=q)[0]
    theta = q[0] + q[1] * eps  # (S, D)
    score = target.batch_likelihood_and_score(theta, batch).score
    score = torch.add(score, target.prior_and_score(theta).score, alpha=share)
    return torch.stack([score.mean(0), (score * eps).mean(0)])


def moments(parameters: Tensor) -> Tensor:
    """Mean and standard deviation of q, from (mu, rho): (2, D) -> (2, D)."""
    return torch.stack([parameters[0], _LEAST + F.softplus(parameters[1])])
