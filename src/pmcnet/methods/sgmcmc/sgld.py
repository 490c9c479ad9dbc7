"""Stochastic gradient Langevin dynamics (Welling and Teh, 2011), plain and preconditioned.

theta <- theta + (lr_t / 2) G [(N / n) sum_batch score + prior score] + sqrt(lr_t G) N(0, I), with G
= 1, or for pSGLD (Li et al., 2016) G = 1 / (sqrt V + 1e-8), V a mean of squares. Gamma(theta),
the derivative of G, is left out, as is usual. lr_t = learning_rate (1 + t / delay)^-decay.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor

from pmcnet.ais.comm import SERIAL, Communicator
from pmcnet.bnn import BayesianTarget, Population
from pmcnet.errors import InputError
from pmcnet.methods.base import Fit, Observer, Rows
from pmcnet.methods.settings import PRIORS, Choice, choices, epochs
from pmcnet.methods.training.adam import default_start
from pmcnet.methods.training.loop import (
    TrainedMethod,
    Watch,
    batches,
    check_rate,
)
from pmcnet.methods.training.state import EpochInfo, TrainingState
from pmcnet.rng import standard_normal, stream

REASON = (
    "draws of SGLD come from steps that are never corrected: nothing measures how far they are "
    "from the posterior. Use "
    "the annealed method for one that is."
)
_FORGET, _FLOOR = 0.99, 1e-8
_NOISE_STEP = 1 << 40  # streams of the noise, apart from those of the order of rows


@dataclass(frozen=True, kw_only=True)
class SGLD(TrainedMethod):
    """Langevin steps on mini-batches; draws after the burn-in are kept, evenly thinned.

    Args:
        n_chains: chains, run as one batch.
        learning_rate: lr, the variance of the noise of one step.
        decay: gamma; 0 for a constant rate, in (.5, 1] for one that vanishes.
        delay: steps after which the rate begins to fall.
        preconditioned: pSGLD.
        batch_size: rows per step.
        n_epochs: passes over the rows.
        burn_in: share of the epochs that is left out.
        n_kept: draws kept at most, of all chains together.
    """

    n_chains: int = 1
    learning_rate: float = 1e-4
    decay: float = 0.0
    delay: float = 1000.0
    preconditioned: bool = False
    batch_size: int = 128
    n_epochs: int = 200
    burn_in: float = 0.5
    n_kept: int = 100

    needs_validation = False
    may_be_zero = frozenset({"decay", "burn_in"})

    @property
    def grid(self) -> tuple[Choice, ...]:
        """The step and the prior."""
        rates = (1e-3, 1e-2) if self.preconditioned else (1e-3, 3e-3)
        return choices(learning_rate=rates, prior_std=PRIORS)

    def summary(self, name: str) -> str:
        """What it is called in full."""
        kind = "preconditioned stochastic" if self.preconditioned else "stochastic"
        return f"{kind} gradient Langevin dynamics on mini-batches"

    def sized(self, n_rows: int) -> Self:
        """About 10 000 steps, on few rows too, since chains must travel."""
        return replace(self, n_epochs=epochs(self.batch_size, n_rows, most=10_000))

    def __post_init__(self) -> None:
        if self.n_chains < 1 or self.batch_size < 1 or self.n_epochs < 1 or self.n_kept < 1:
            raise InputError("n_chains, batch_size, n_epochs and n_kept must be at least 1.")
        check_rate("learning_rate", self.learning_rate)
        if not self.delay > 0 or not 0 <= self.decay <= 1:
            raise InputError(f"delay must be positive and decay in [0, 1]; got {self}.")
        if not 0 <= self.burn_in < 1:
            raise InputError(f"burn_in must lie in [0, 1); got {self.burn_in}.")

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
        """Run the chains; validation rows are only for the history."""
        theta = default_start(target, [stream(seed, 0, block) for block in range(self.n_chains)])
        watch = Watch(target, validation, self.n_epochs, seed, state, observers)
        squares, n_batches = torch.zeros_like(theta), -(-len(target.x) // self.batch_size)
        step, n_steps = watch.first * n_batches, self.n_epochs * n_batches
        first = int(self.burn_in * self.n_epochs) * n_batches
        every = max(1, (n_steps - first) * self.n_chains // self.n_kept)
        draws = theta.new_empty((n_steps - first) // every, *theta.shape)  # (S, C, D)
        n_drawn = max(0, step - first) // every
        watch.restore({"theta": theta, "squares": squares, "draws": draws[:n_drawn]}, theta)
        for epoch in range(watch.first, self.n_epochs):
            source = stream(seed, _NOISE_STEP + epoch, 0, target.device)
            noise = standard_normal(
                [source], (n_batches, self.n_chains, target.dim), like=target.like
            )[0]  # (B, C, D)
            for i, batch in enumerate(batches(target, self.batch_size, seed=seed, epoch=epoch)):
                gradient = target.batch_likelihood_and_score(theta, batch).score
                gradient *= len(target.x) / batch.n_rows
                gradient += target.prior_and_score(theta).score
                rate = self.learning_rate * (1 + step / self.delay) ** -self.decay
                theta, squares = self._moved(theta, squares, gradient, noise[i], rate)
                step += 1
                if step > first and (step - first) % every == 0:
                    draws[n_drawn] = theta
                    n_drawn += 1
            if validation is not None:
                watch.judge(theta)
            watch.done({"theta": theta, "squares": squares, "draws": draws[:n_drawn]})
        kept = draws.flatten(0, 1)[-self.n_kept :] if n_drawn else theta
        return Fit(Population.of(target, kept, REASON), tuple(watch.history))

    def _moved(
        self, theta: Tensor, squares: Tensor, gradient: Tensor, noise: Tensor, rate: float
    ) -> tuple[Tensor, Tensor]:
        if not self.preconditioned:
            return theta + 0.5 * rate * gradient + rate**0.5 * noise, squares
        squares = (
            _FORGET * squares + (1 - _FORGET) * gradient.square()
            if squares.any()
            else gradient.square()
        )
        scale = rate / (squares.sqrt() + _FLOOR)
        return theta + 0.5 * scale * gradient + scale.sqrt() * noise, squares
