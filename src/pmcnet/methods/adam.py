"""Adam on many networks at once: P parameter vectors, one optimiser, the same mini-batches for all.

Adam treats every coordinate by itself, so a batch of P runs is P separate runs. Used for ADAM-MLE and ADAM-MAP, and for
the starting points of the samplers.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from pmcnet.bnn import BayesianTarget, Layout
from pmcnet.errors import InputError
from pmcnet.rng import Stream, stream, uniform

Progress = Callable[[int, int], None]
"""Called with the number of epochs done and the number in all."""

# Streams of one optimisation: step 0 draws the starts, step 1 + epoch the order of the rows.
_START_STEP = 0


class Optimum(NamedTuple):
    """Parameter vectors (P, D), the loss per row (P,) by which each was kept, and the epoch (P,) it is from."""

    theta: Tensor
    loss: Tensor
    epoch: Tensor


def default_start(target: BayesianTarget, sources: list[Stream]) -> Tensor:
    """One random parameter vector per stream, as torch initialises linear layers: (P, D).

    Weights and biases are uniform within 1 / sqrt(fan-in); scales of normalisation layers are 1 and their biases 0; the
    likelihood's own parameters are at the centre of their prior.
    """
    centre, width = _start_box(target.network.layout)
    centre, width = centre.to(target.x), width.to(target.x)
    unit = 2 * uniform(sources, target.n_parameters, like=target.x).to(target.x.dtype) - 1  # (P, n_parameters)
    extra = target.likelihood.from_normal(unit.new_zeros(len(sources), target.likelihood.n_extra))
    return torch.cat([centre + width * unit, extra], dim=-1)


def _start_box(layout: Layout) -> tuple[Tensor, Tensor]:
    """Centre and half-width of the starting values of every coordinate (D,)."""
    centre, width = torch.zeros(layout.dim), torch.zeros(layout.dim)
    matrix_fan_in = 0  # of the matrix before, which a bias goes with; 0 after a normalisation's scale
    for p in layout:
        if not p.is_bias:
            matrix_fan_in = p.fan_in
        elif not p.name.endswith("bias"):
            matrix_fan_in = 0
            centre[p.start : p.stop] = 1.0
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
    """

    objective: Literal["mle", "map"] = "mle"
    learning_rate: float = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)
    batch_size: int = 10
    n_epochs: int = 500

    def __post_init__(self) -> None:
        if self.objective not in ("mle", "map"):
            raise InputError(f'objective must be "mle" or "map"; got {self.objective!r}.')
        if not self.learning_rate > 0:
            raise InputError(f"learning_rate must be positive; got {self.learning_rate}.")
        if self.batch_size < 1 or self.n_epochs < 1:
            raise InputError(f"batch_size and n_epochs must be at least 1; got {self.batch_size}, {self.n_epochs}.")

    def minimise(
        self,
        target: BayesianTarget,
        start: Tensor,
        *,
        seed: int,
        validation: tuple[Tensor, Tensor] | None = None,
        progress: Progress | None = None,
    ) -> Optimum:
        """Train P networks from `start` (P, D).

        Args:
            target: network, likelihood, prior and training rows.
            start: starting vectors.
            seed: decides the order of the rows.
            validation: rows (x, y) by whose loss each network keeps its best epoch; without them it keeps the last.
            progress: told after each epoch.
        """
        theta = start.detach().clone().requires_grad_()
        optimiser = torch.optim.Adam([theta], lr=self.learning_rate, betas=self.betas)
        held_out = target
        if validation is not None:
            held_out = replace(target, x=validation[0], y=validation[1], weight=None, n_batches=1)
        best = Optimum(start.clone(), start.new_full((len(start),), torch.inf), torch.zeros(len(start)).long())
        for epoch in range(1, self.n_epochs + 1):
            order = torch.as_tensor(stream(seed, _START_STEP + epoch, 0).host.permutation(len(target.x)))
            for rows in torch.split(order.to(target.x.device), self.batch_size):
                optimiser.zero_grad(set_to_none=True)
                self._loss(target, theta, rows).sum().backward()  # type: ignore[no-untyped-call]
                optimiser.step()
            last = epoch == self.n_epochs
            if validation is not None or last:
                best = _better(best, theta.detach(), held_out, epoch)
            if progress is not None:
                progress(epoch, self.n_epochs)
        return best

    def _loss(self, target: BayesianTarget, theta: Tensor, rows: Tensor) -> Tensor:
        """Negative log-likelihood of a batch (P,), plus for MAP the batch's share of the prior."""
        batch = replace(target.at(rows), share=len(rows) / len(target.x))
        return -(batch.log_density(theta) if self.objective == "map" else batch.log_likelihood(theta))


def _better(best: Optimum, theta: Tensor, held_out: BayesianTarget, epoch: int) -> Optimum:
    """Each network's better of two: the one with the smaller loss per held-out row."""
    with torch.no_grad():
        loss = (-held_out.log_likelihood(theta) / len(held_out.x)).to(theta.dtype)
    improved = loss < best.loss
    return Optimum(
        torch.where(improved[:, None], theta, best.theta),
        torch.where(improved, loss, best.loss),
        torch.where(improved.cpu(), epoch, best.epoch),
    )
