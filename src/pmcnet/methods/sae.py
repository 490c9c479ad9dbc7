"""Sequential anchored ensembles (Delaunoy and Louppe, 2021).

A member minimises -sum_n log p(y_n | theta) + |theta - a|^2 / (2 tau^2) with its anchor a from the
prior. Along a chain the anchor makes a guided walk that leaves the prior invariant, and each member
starts from the one before and trains a few epochs. Per coordinate, with direction d = +-1: propose
a + d |N(0, step^2)| in units of tau; accept with probability min(1, p(a') / p(a)), else keep a and
turn d.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import torch
from torch import Tensor

from pmcnet.ais.comm import SERIAL, Communicator
from pmcnet.bnn import BayesianTarget, Gaussian, GaussianPrior, LayerGaussianPrior, Population
from pmcnet.bnn.batch import Batch
from pmcnet.errors import InputError
from pmcnet.methods.base import Fit, Observer, Rows
from pmcnet.methods.settings import PRIORS, Choice, choices
from pmcnet.methods.training.adam import default_start
from pmcnet.methods.training.loop import (
    TrainedMethod,
    Watch,
    averages,
    batches,
    check_rate,
    set_rate,
)
from pmcnet.methods.training.state import EpochInfo, TrainingState
from pmcnet.rng import Stream, standard_normal, stream, uniform

REASON = (
    "an anchored ensemble is the posterior of linear networks only, and nothing here measures how "
    "far it is from that "
    "of others. Use the annealed method for a posterior."
)
_WALK_STEP, _TARGET_STEP = 1 << 40, 1 << 41


class _Place(NamedTuple):
    """The member that is trained, the epoch of its training, and how many epochs that has."""

    member: int
    epoch: int
    n_epochs: int


@dataclass(frozen=True, kw_only=True)
class SAE(TrainedMethod):
    """Chains of anchored networks, run as one batch.

    Args:
        n_chains: chains.
        n_members: networks of each chain.
        n_epochs: of the first member.
        n_next_epochs: of each later one.
        learning_rate: Adam's step at the beginning of the first member; it falls by a cosine to a
            two-hundredth.
        next_learning_rate: the same for each later member, falling to a twentieth.
        step: of the anchors' guided walk, in standard deviations of the prior.
        batch_size: rows per step.
        noisy_targets: for a Gaussian likelihood, whether each member sees targets with the
            likelihood's noise added, which makes the ensemble exact for linear networks.
        independent: draw each member's anchor anew instead of moving it.
    """

    n_chains: int = 5
    n_members: int = 20
    n_epochs: int = 100
    n_next_epochs: int = 5
    learning_rate: float = 9e-3
    next_learning_rate: float = 2.7e-3
    step: float = 0.02
    batch_size: int = 100
    noisy_targets: bool = False
    independent: bool = False

    needs_validation = False

    @property
    def grid(self) -> tuple[Choice, ...]:
        """The step of the anchors and the prior."""
        return choices(step=(0.02, 0.1), prior_std=PRIORS)

    def summary(self, name: str) -> str:
        """What it is called in full."""
        return "sequential anchored ensembles"

    def sized(self, n_rows: int) -> Self:
        """About 3000 steps of the first member, and 150 of each later one."""
        first, later = (steps * self.batch_size // max(1, n_rows) for steps in (3000, 150))
        return replace(
            self, n_epochs=min(max(20, first), 1500), n_next_epochs=min(max(2, later), 75)
        )

    def __post_init__(self) -> None:
        if (
            min(self.n_chains, self.n_members, self.n_epochs, self.n_next_epochs, self.batch_size)
            < 1
        ):
            raise InputError(
                "n_chains, n_members, n_epochs, n_next_epochs and batch_size must be at least 1."
            )
        for name in ("learning_rate", "next_learning_rate", "step"):
            check_rate(name, getattr(self, name))

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
        """Train all chains; validation rows are only for the history."""
        if self.noisy_targets and not isinstance(target.likelihood, Gaussian):
            raise InputError("noisy_targets needs a Gaussian likelihood with a given noise.")
        if not isinstance(target.prior, GaussianPrior | LayerGaussianPrior):
            raise InputError(f"anchors walk under a Gaussian prior; got {target.prior}.")
        theta = default_start(
            target, [stream(seed, 0, chain) for chain in range(self.n_chains)]
        ).requires_grad_()
        sources = [stream(seed, _WALK_STEP, chain) for chain in range(self.n_chains)]
        anchor = target.sample_prior(sources, 1)[:, 0]  # (C, D)
        direction = torch.where(uniform(sources, target.dim, like=anchor) < 0.5, -1.0, 1.0).to(
            anchor
        )
        members = theta.detach().new_empty(self.n_members, *theta.shape)  # (S, C, D)
        n_epochs = self.n_epochs + (self.n_members - 1) * self.n_next_epochs
        watch = Watch(target, validation, n_epochs, seed, state, observers)
        optimiser = torch.optim.Adam([theta])
        n_done = self._place(watch.first).member  # finished members
        walk = {"anchor": anchor, "direction": direction}
        watch.restore(
            {"theta": theta, **averages(optimiser, theta), **walk, "members": members[:n_done]},
            theta,
        )
        for epoch in range(watch.first, n_epochs):
            place = self._place(epoch)
            if place.epoch == 0:
                optimiser = torch.optim.Adam([theta])
                if place.member:
                    chains = [
                        stream(seed, _WALK_STEP + place.member, chain)
                        for chain in range(self.n_chains)
                    ]
                    anchor, direction = self._walked(target, anchor, direction, chains)
            self._train(target, theta, anchor, optimiser, seed, epoch, place)
            if place.epoch == place.n_epochs - 1:
                members[place.member] = theta.detach()
                n_done += 1
            if validation is not None:
                watch.judge(theta)
            walk = {"anchor": anchor, "direction": direction}
            watch.done(
                {"theta": theta, **averages(optimiser, theta), **walk, "members": members[:n_done]}
            )
        draws = members.transpose(0, 1).flatten(0, 1)  # (C * members, D)
        return Fit(Population.of(target, draws, REASON), tuple(watch.history))

    def _place(self, epoch: int) -> _Place:
        """Where an epoch of the whole training lies."""
        if epoch < self.n_epochs:
            return _Place(0, epoch, self.n_epochs)
        member, own = divmod(epoch - self.n_epochs, self.n_next_epochs)
        return _Place(1 + member, own, self.n_next_epochs)

    def _train(
        self,
        target: BayesianTarget,
        theta: Tensor,
        anchor: Tensor,
        optimiser: torch.optim.Optimizer,
        seed: int,
        epoch: int,
        place: _Place,
    ) -> None:
        """One epoch of a member of every chain, in place."""
        high, low = self.learning_rate, self.learning_rate / 200
        if place.member:
            high, low = self.next_learning_rate, self.next_learning_rate / 20
        n_batches = -(-len(target.x) // self.batch_size)
        n_steps, done = place.n_epochs * n_batches, place.epoch * n_batches
        noise = self._target_noise(target, seed, place.member)  # (C, N) or None
        for batch in batches(target, self.batch_size, seed=seed, epoch=epoch):
            set_rate(optimiser, low + 0.5 * (high - low) * (1 + math.cos(math.pi * done / n_steps)))
            theta.grad = self._gradient(target, theta.detach(), anchor, batch, noise)
            optimiser.step()
            done += 1

    def _gradient(
        self,
        target: BayesianTarget,
        theta: Tensor,
        anchor: Tensor,
        batch: Batch,
        noise: Tensor | None,
    ) -> Tensor:
        """Of the anchored loss of a batch: log p(theta - a) is the prior around the anchor."""
        share = batch.n_rows / len(target.x)
        prior = target.prior_and_score(prior_centre(target) + theta - anchor).score
        score = target.batch_likelihood_and_score(theta, batch).score
        if noise is not None:
            score = score + self._noise_score(target, theta, batch, noise[:, batch.positions])
        return -torch.add(score, prior, alpha=share)

    def _noise_score(
        self, target: BayesianTarget, theta: Tensor, batch: Batch, noise: Tensor
    ) -> Tensor:
        """What target noise adds to the score: sum_n noise_n d output_n / d theta / sigma^2."""
        likelihood = target.likelihood
        assert isinstance(likelihood, Gaussian)
        with torch.enable_grad():
            free = theta.detach().requires_grad_()
            output = target.network(free, batch.x)[..., 0]  # (C, n)
            (score,) = torch.autograd.grad((output * noise / likelihood.sigma**2).sum(), free)
        return score

    def _target_noise(self, target: BayesianTarget, seed: int, member: int) -> Tensor | None:
        if not self.noisy_targets:
            return None
        assert isinstance(target.likelihood, Gaussian)
        sources = [stream(seed, _TARGET_STEP + member, chain) for chain in range(self.n_chains)]
        return target.likelihood.sigma * standard_normal(
            sources, (len(target.x),), like=target.like
        )

    def _walked(
        self, target: BayesianTarget, anchor: Tensor, direction: Tensor, sources: Sequence[Stream]
    ) -> tuple[Tensor, Tensor]:
        """One step of the guided walk of every anchor, coordinate by coordinate."""
        if self.independent:
            return target.sample_prior(sources, 1)[:, 0], direction
        scale = prior_scale(target)  # (D,)
        size = standard_normal(sources, (target.dim,), like=anchor).abs() * self.step  # (C, D)
        centre = prior_centre(target)
        unit = (anchor - centre) / scale
        proposed = unit + direction * size
        accept = (
            uniform(sources, target.dim, like=anchor).log()
            < 0.5 * (unit.square() - proposed.square()).double()
        )
        moved = torch.where(accept, proposed, unit)
        return centre + scale * moved, torch.where(accept, direction, -direction)


def prior_scale(target: BayesianTarget) -> Tensor:
    """The prior's standard deviation (D,), from its curvature: exact for Gaussian priors."""
    centre = prior_centre(target)
    step = 1.0
    score = target.prior_and_score((centre + step)[None]).score[0]
    return (step / -score).sqrt()


def prior_centre(target: BayesianTarget) -> Tensor:
    """0 for the network's parameters, the prior's mean for the likelihood's own (D,)."""
    centre = target.like.new_zeros(target.dim)
    if target.likelihood.n_extra:
        centre[target.n_parameters :] = target.likelihood.from_normal(
            centre.new_zeros(target.likelihood.n_extra)
        )
    return centre
