"""Bayes by Backprop (Blundell et al., 2015): the best Gaussian with independent coordinates.

q(theta) = N(mu, s^2), s = 1e-6 + softplus(rho). Each batch lowers an estimate of
    -sum_batch E_q log p(y | theta) + (n_batch / N) [E_q log q(theta) - E_q log p(theta)]
from draws theta = mu + s eps. The entropy of q is exact: d/ds E_q log q = -1 / s; the rest is averaged over draws.
The local estimator of the same loss draws outputs of layers and has the prior in closed form where it is Gaussian.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from pmcnet.bnn import BayesianTarget, Population
from pmcnet.bnn.target import Batch
from pmcnet.errors import InputError
from pmcnet.methods.fit import Fit
from pmcnet.methods.local_reparametrisation import local_slopes
from pmcnet.methods.training import EpochRecord, Progress, Rows, Trained, Watch, batches, check_rate
from pmcnet.rng import Stream, standard_normal, stream, uniform

REASON = (
    "draws of a Gaussian with independent coordinates fitted to the posterior: such a fit is narrower than the "
    "posterior, and nothing here measures by how much. Use the annealed method for one that is."
)
_LEAST = 1e-6
_NOISE_STEP = 1 << 40


@dataclass(frozen=True, kw_only=True)
class BBP(Trained):
    """Mean-field variational inference by Adam on mini-batches.

    Args:
        n_draws: draws of theta per step.
        estimator: "weights" draws theta for a batch, and estimates prior and likelihood from the draws. "local" draws
            the outputs of layers for each row (MLPs only), with less noise in the gradient, and needs no draws for the
            prior where it is Gaussian; for others it draws theta.
        learning_rate: Adam's step.
        batch_size: rows per step.
        n_epochs: passes over the rows.
        early_stopping: with validation rows the epoch whose mean network does best is kept; otherwise the last.
        start: half-width of the uniform start of mu.
        n_kept: draws of q that make the posterior.
        predict: "draws" averages them; "mean" is the network at mu, as the paper reports it.
    """

    n_draws: int = 3
    estimator: Literal["weights", "local"] = "weights"
    learning_rate: float = 1e-3
    batch_size: int = 100
    n_epochs: int = 200
    early_stopping: bool = True
    start: float = 0.1
    n_kept: int = 100
    predict: Literal["draws", "mean"] = "draws"

    def __post_init__(self) -> None:
        if min(self.n_draws, self.batch_size, self.n_epochs, self.n_kept) < 1:
            raise InputError("n_draws, batch_size, n_epochs and n_kept must be at least 1.")
        check_rate("learning_rate", self.learning_rate)
        if not self.start >= 0:
            raise InputError(f"start must not be negative; got {self.start}.")
        if self.predict not in ("draws", "mean"):
            raise InputError(f'predict must be "draws" or "mean"; got {self.predict!r}.')
        if self.estimator not in ("weights", "local"):
            raise InputError(f'estimator must be "weights" or "local"; got {self.estimator!r}.')

    def fit(
        self, target: BayesianTarget, *, seed: int, validation: Rows | None = None, progress: Progress | None = None
    ) -> Fit[EpochRecord]:
        """Train mu and rho, and draw."""
        found, history = self.trained(target, seed=seed, validation=validation, progress=progress)
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
        self, target: BayesianTarget, *, seed: int, validation: Rows | None = None, progress: Progress | None = None
    ) -> tuple[Tensor, tuple[EpochRecord, ...]]:
        """Mu and rho (2, D), and the history; the arguments are those of `fit`."""
        parameters = self._start(target, seed).requires_grad_()  # (2, D)
        optimiser = torch.optim.Adam([parameters], lr=self.learning_rate)
        watch = Watch(target, validation if self.early_stopping else None, self.n_epochs, progress)
        for epoch in range(self.n_epochs):
            source = stream(seed, _NOISE_STEP + epoch, 0, target.device)
            for batch in batches(target, self.batch_size, seed=seed, epoch=epoch):
                parameters.grad = self._gradient(target, parameters.detach(), batch, source)
                optimiser.step()
            if watch.validation is not None or epoch == self.n_epochs - 1:
                watch.judge(parameters[None], parameters[:1])
            watch.done()
        return watch.best[0], tuple(watch.history)

    def _start(self, target: BayesianTarget, seed: int) -> Tensor:
        """Mu uniform within the start, the likelihood's own at their prior's centre; rho uniform in [-3, -2]."""
        unit = uniform([stream(seed, 0, 0)], 2 * target.dim, like=target.like).to(target.like).reshape(2, -1)
        mu = self.start * (2 * unit[0] - 1)
        if target.likelihood.n_extra:
            mu[target.n_parameters :] = target.likelihood.from_normal(mu.new_zeros(target.likelihood.n_extra))
        return torch.stack([mu, unit[1] - 3])

    def _gradient(self, target: BayesianTarget, parameters: Tensor, batch: Batch, source: Stream) -> Tensor:
        slopes_of = local_slopes if self.estimator == "local" else weight_slopes
        q = moments(parameters)
        slopes = slopes_of(target, q, batch, self.n_draws, source)
        slopes[1] += batch.n_rows / len(target.x) / q[1]
        slopes[1] *= parameters[1].sigmoid()
        return slopes.neg_()


def weight_slopes(target: BayesianTarget, q: Tensor, batch: Batch, n_draws: int, source: Stream) -> Tensor:
    """Slopes of E_q log p(y | theta) + (n_batch / N) E_q log p(theta) by mean and standard deviation of q: (2, D).

    Args:
        target: any.
        q: mean and standard deviation (2, D).
        batch: rows.
        n_draws: draws of theta, each for the whole batch.
        source: of the noise.
    """
    eps = standard_normal([source], (n_draws, target.dim), like=q)[0]
    theta = q[0] + q[1] * eps  # (S, D)
    score = target.batch_likelihood_and_score(theta, batch).score
    score = torch.add(score, target.prior_and_score(theta).score, alpha=batch.n_rows / len(target.x))
    return torch.stack([score.mean(0), (score * eps).mean(0)])


def moments(parameters: Tensor) -> Tensor:
    """Mean and standard deviation of q, from (mu, rho): (2, D) -> (2, D)."""
    return torch.stack([parameters[0], _LEAST + F.softplus(parameters[1])])
