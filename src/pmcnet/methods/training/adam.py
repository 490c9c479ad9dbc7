"""Adam on many networks at once: P parameter vectors, one optimiser, the same mini-batches for all.

Adam treats every coordinate by itself, so a batch of P runs is P separate runs. Used for ADAM-MLE
and ADAM-MAP, and for the starting points of the samplers.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from pmcnet.bnn import BayesianTarget, Layout
from pmcnet.bnn.batch import Batch
from pmcnet.bnn.networks.hierarchical import LOG_SCALES
from pmcnet.bnn.overflow import refuse_diverged
from pmcnet.errors import InputError
from pmcnet.methods.base import Observer, Rows
from pmcnet.methods.training.loop import (
    Schedule,
    Watch,
    averages,
    batches,
    check_rate,
    check_schedule,
    scheduled,
    set_rate,
)
from pmcnet.methods.training.state import EpochInfo, Stage, TrainingState
from pmcnet.rng import Stream, uniform


class Optimum(NamedTuple):
    """Networks (P, D), the loss per row (P,) by which each was kept, its epoch, the history."""

    theta: Tensor
    loss: Tensor
    epoch: Tensor
    history: tuple[EpochInfo, ...] = ()


def default_start(target: BayesianTarget, sources: list[Stream]) -> Tensor:
    """One random parameter vector per stream, as torch initialises linear layers: (P, D).

    Weights and biases are uniform within 1 / sqrt(fan-in); scales of normalisation layers are 1 and
    their biases 0; the likelihood's own parameters, and scales that are sampled with the weights,
    are at the centre of their prior.
    """
    centre, width = _start_box(target.network.layout)
    centre, width = centre.to(target.like), width.to(target.like)
    unit = 2 * uniform(sources, target.n_parameters, like=target.like).to(target.like) - 1
    extra = target.likelihood.from_normal(unit.new_zeros(len(sources), target.likelihood.n_extra))
    return torch.cat([centre + width * unit, extra], dim=-1)


def _start_box(layout: Layout) -> tuple[Tensor, Tensor]:
    """Centre and half-width of the starting values of every coordinate (D,)."""
    centre, width = torch.zeros(layout.dim), torch.zeros(layout.dim)
    matrix_fan_in = 0  # of the matrix a bias belongs to; 0 after a normalisation's scale
    for p in layout:
        if not p.is_bias:
            matrix_fan_in = p.fan_in
        elif p.name.endswith("weight"):
            matrix_fan_in = 0
            centre[p.start : p.stop] = 1.0
        elif p.name == LOG_SCALES:
            matrix_fan_in = 0
        width[p.start : p.stop] = 1 / math.sqrt(matrix_fan_in) if matrix_fan_in else 0.0
    return centre, width


@dataclass(frozen=True, kw_only=True)
class Adam:
    """Minimises -log p(y | theta), or -log pi(theta) for "map", over mini-batches.

    Args:
        objective: "mle" or "map".
        learning_rate: Adam's step.
        betas: decay of its two averages.
        batch_size: rows per step.
        n_epochs: passes over the rows; with validation rows each network keeps its best epoch.
        schedule: "constant", or "cosine": the step rises over the first twentieth and then falls to
            zero.
        weight_decay: share of every parameter, times the step, that is taken off at each step
            (AdamW).
    """

    objective: Literal["mle", "map"] = "mle"
    learning_rate: float = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)
    batch_size: int = 10
    n_epochs: int = 500
    schedule: Schedule = "constant"
    weight_decay: float = 0.0

    def __post_init__(self) -> None:
        check_schedule(self.schedule)
        if not self.weight_decay >= 0:
            raise InputError(f"weight_decay must not be negative; got {self.weight_decay}.")
        if self.objective not in ("mle", "map"):
            raise InputError(f'objective must be "mle" or "map"; got {self.objective!r}.')
        check_rate("learning_rate", self.learning_rate)
        if self.batch_size < 1 or self.n_epochs < 1:
            raise InputError(
                f"batch_size and n_epochs must be at least 1; got {self.batch_size}, "
                f"{self.n_epochs}."
            )

    def minimise(
        self,
        target: BayesianTarget,
        start: Tensor,
        *,
        seed: int,
        validation: Rows | None = None,
        state: TrainingState | None = None,
        observers: Iterable[Observer] = (),
        stage: Stage = "fit",
    ) -> Optimum:
        """Train P networks from `start` (P, D).

        Args:
            target: network, likelihood, prior and training rows.
            start: starting vectors.
            seed: decides the order of the rows.
            validation: rows (x, y) by whose loss each network keeps its best epoch; without them it
                keeps the last.
            state: where to go on from.
            observers: called with (state, info) after each epoch; the next one changes the state.
            stage: what the networks are for.

        Raises:
            DivergedError: where a network that is kept does not predict the rows.
        """
        theta = start.detach().clone().requires_grad_()
        optimiser = torch.optim.AdamW(
            [theta],
            lr=self.learning_rate,
            betas=self.betas,
            weight_decay=self.weight_decay,
            fused=theta.is_cuda,
        )
        trained = replace(target, network=target.network.for_training())
        watch = Watch(target, validation, self.n_epochs, seed, state, observers, stage)
        parts = {"theta": theta, **averages(optimiser, theta)}
        watch.restore(parts, theta)
        n_batches = -(-len(target.x) // self.batch_size)
        n_steps, step = self.n_epochs * n_batches, watch.first * n_batches
        for epoch in range(watch.first, self.n_epochs):
            for batch in batches(trained, self.batch_size, seed=seed, epoch=epoch):
                set_rate(optimiser, scheduled(self.learning_rate, self.schedule, step / n_steps))
                theta.grad = self._gradient(trained, theta.detach(), batch)
                optimiser.step()
                step += 1
            if validation is not None:
                watch.judge(theta)
            watch.done(parts)
        watch.settle(theta)
        refuse_diverged(target, watch.best)
        return Optimum(watch.best, watch.loss.to(start.dtype), watch.at.cpu(), tuple(watch.history))

    def _gradient(self, target: BayesianTarget, theta: Tensor, batch: Batch) -> Tensor:
        """Of the negative log-likelihood (P, D), for "map" with the batch's share of the prior."""
        score = target.batch_likelihood_and_score(theta, batch).score
        if self.objective == "map":
            score = torch.add(
                score, target.prior_and_score(theta).score, alpha=batch.n_rows / len(target.x)
            )
        return -score
