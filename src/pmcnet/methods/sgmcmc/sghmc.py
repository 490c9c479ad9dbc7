"""Stochastic gradient Hamiltonian Monte Carlo (Chen, Fox and Guestrin, 2014) with cyclical steps (Zhang et al., 2020).

    v <- (1 - a) v + h C g + sqrt(2 a h C) z,   theta <- theta + v,   g = (N / n) sum_batch score + prior score

with friction a and step h. The metric C (`metric`) is "fisher", the inverse of the diagonal
curvature that mini-batches show: F = (N / n) E[g_batch^2] is the empirical Fisher information, and
the prior adds its own; the mean is over chains and recent batches. Where rows count w times,
squares have w^2 for w, so F is divided by sum w^2 / sum w. With "prior" it is the prior's variance:
parameters that are known well only as long as others stay, such as the scales of normalisation
layers, are then not left behind, and steps have to be smaller. "kronecker" has the prior's variance
but in directions of each layer that batches tell much of (`kronecker`); chains that start at
networks learn it before their first step. Gradients of mini-batches have noise of their own, which
is not taken off: independent batches would heat chains by about h N / (2 a n), and those of one
epoch, which share no rows, by less. Within a cycle h falls by a cosine. In its first part chains
look for a mode, by steps of the gradient over its root mean square and without noise; draws are
kept after. Chains that long steps have thrown out of their networks there go back (`returning`).
"""

import math
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, Self

import torch
from torch import Tensor

from pmcnet.ais.comm import SERIAL, Communicator
from pmcnet.bnn import BayesianTarget, Population
from pmcnet.bnn.overflow import refuse_diverged
from pmcnet.errors import InputError
from pmcnet.methods.base import Fit, Observer, Rows
from pmcnet.methods.cost import PER_STEP_OF_BATCHES, Cost
from pmcnet.methods.sae import prior_scale
from pmcnet.methods.settings import PRIORS, Choice, choices, epochs
from pmcnet.methods.sgmcmc.diagonal_metric import Diagonal, Metric
from pmcnet.methods.sgmcmc.kronecker_metric import Kronecker
from pmcnet.methods.sgmcmc.resets import Returning
from pmcnet.methods.training.adam import default_start
from pmcnet.methods.training.loop import (
    Trained,
    Watch,
    batches,
    check_rate,
)
from pmcnet.methods.training.state import EpochInfo, Stage, TrainingState
from pmcnet.rng import standard_normal, stream

REASON = (
    "draws of stochastic gradient HMC come from steps that are never corrected and gradients of "
    "mini-batches: nothing "
    "measures how far they are from the posterior. Use hmc or the annealed method for one that is."
)
_NOISE_STEP = 1 << 40
_BATCHES_BETWEEN_TURNS = 100  # of the metric, at most
_LEAST_EPOCHS, _MOST_EPOCHS, _MOST_STEPS = 40, 2000, 20_000


class Walked(NamedTuple):
    """Where chains are (P, D), the preconditioner's standard deviations (D,), draws (S, P, D) and the history.

    `n_returns` (P,) is how often each was thrown out of its network and sent back.
    """

    theta: Tensor
    sigma: Tensor
    draws: Tensor
    history: tuple[EpochInfo, ...]
    n_returns: Tensor


@dataclass(frozen=True, kw_only=True)
class SGHMC(Trained):
    """Chains on mini-batches; an approximation that budgets allow which full batches exceed.

    Args:
        n_chains: chains, run as one batch.
        n_cycles: times that the step falls; each cycle may find another mode.
        step: h at the beginning of a cycle, in units of the metric.
        metric: C, "fisher", "prior" or "kronecker".
        information: share of the Fisher information in the first and the last.
        learning_rate: step of the search for a mode, likewise.
        friction: a.
        exploration: share of a cycle that looks for a mode.
        heating: share of all steps over which the noise grows from none to its full strength, for
            chains that start at modes: with all of it at once, by scales that are felt at a mode
            and too long elsewhere, they are thrown out of their networks.
        cold_step: share of the step that such chains begin with; it grows as the noise does, and
            without heating means nothing. Of networks that fit all rows batches tell nothing, so
            that "fisher" steps are too long at first.
        last_step: share of the first step that a cycle ends with.
        batch_size: rows per step.
        n_epochs: passes over the rows, of all cycles together.
        n_kept: draws kept at most, of all chains together.
    """

    n_chains: int = 4
    n_cycles: int = 4
    step: float = 3e-3
    metric: Literal["fisher", "prior", "kronecker"] = "fisher"
    information: float = 1.0
    learning_rate: float = 1e-2
    friction: float = 0.1
    exploration: float = 0.5
    heating: float = 0.0
    cold_step: float = 1.0
    last_step: float = 0.05
    batch_size: int = 128
    n_epochs: int = 200
    n_kept: int = 100

    needs_validation = False
    may_be_zero = frozenset({"exploration", "heating"})

    @property
    def grid(self) -> tuple[Choice, ...]:
        """The step and the prior."""
        return choices(step=(3e-3, 1e-2), prior_std=PRIORS)

    def summary(self, name: str) -> str:
        """What it is called in full."""
        return "stochastic gradient Hamiltonian Monte Carlo on mini-batches, with cyclical steps"

    def sized(self, n_rows: int) -> Self:
        """About 10 000 steps, on few rows too, since chains must travel."""
        return replace(self, n_epochs=epochs(self.batch_size, n_rows, most=10_000))

    def within(self, cost: Cost, seconds: float) -> dict[str, int]:
        """As many epochs as fit: 40 to 2000, or to 20 000 steps where that is more."""
        n_rows = min(self.batch_size, cost.n_rows)
        n_batches = math.ceil(cost.n_rows / n_rows)
        step = PER_STEP_OF_BATCHES * cost.per_step + self.n_chains * cost.gradient(n_rows)
        n_epochs = int(seconds / cost.times / (step * n_batches))
        most = max(_MOST_EPOCHS, _MOST_STEPS // n_batches)
        return {"n_epochs": min(max(n_epochs, _LEAST_EPOCHS), most)}

    def __post_init__(self) -> None:
        if min(self.n_chains, self.n_cycles, self.batch_size, self.n_epochs, self.n_kept) < 1:
            raise InputError(
                "n_chains, n_cycles, batch_size, n_epochs and n_kept must be at least 1."
            )
        if self.metric not in ("fisher", "prior", "kronecker"):
            raise InputError(
                f'metric must be "fisher", "prior" or "kronecker"; got {self.metric!r}.'
            )
        if not 0 < self.information <= 1:
            raise InputError(f"information must be above 0 and at most 1; got {self.information}.")
        check_rate("step", self.step)
        check_rate("learning_rate", self.learning_rate)
        if not 0 < self.friction <= 1:
            raise InputError(f"friction must be above 0 and at most 1; got {self.friction}.")
        if not 0 <= self.exploration < 1:
            raise InputError(f"exploration must lie in [0, 1); got {self.exploration}.")
        if not 0 <= self.heating < 1:
            raise InputError(f"heating must lie in [0, 1); got {self.heating}.")
        for name, share in (("cold_step", self.cold_step), ("last_step", self.last_step)):
            if not 0 < share <= 1:
                raise InputError(f"{name} must be above 0 and at most 1; got {share}.")

    @classmethod
    def from_modes(cls, *, step: float, batch_size: int, n_epochs: int) -> Self:
        """The walk of chains from modes to where the mass is: one cycle, noise that grows, steps that stay large."""
        return cls(
            n_cycles=1,
            exploration=0.0,
            heating=0.5,
            last_step=0.3,
            step=step,
            batch_size=batch_size,
            n_epochs=n_epochs,
        )

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
        """Run the chains; validation rows only tell the history."""
        theta = default_start(target, [stream(seed, 0, block) for block in range(self.n_chains)])
        found = self.walk(
            target,
            theta,
            seed=seed,
            validation=validation,
            state=state,
            observers=observers,
        )
        kept = found.draws.flatten(0, 1)[-self.n_kept :] if len(found.draws) else found.theta
        refuse_diverged(target, kept, "Use a smaller step.")
        return Fit(Population.of(target, kept, reason(int(found.n_returns.sum()))), found.history)

    def walk(
        self,
        target: BayesianTarget,
        start: Tensor,
        *,
        seed: int,
        state: TrainingState | None = None,
        observers: Iterable[Observer] = (),
        validation: Rows | None = None,
        stage: Stage = "fit",
        keep: bool = True,
    ) -> Walked:
        """From `start` (P, D), through all cycles; the other arguments are those of `fit`.

        Without `keep` no draws are kept: observers make of each state what they need.
        """
        theta, velocity = start.detach().clone(), torch.zeros_like(start)
        prior = prior_scale(target).square().reciprocal()  # (D,)
        metric = self._metric(target, prior, len(theta))
        watch = Watch(target, validation, self.n_epochs, seed, state, observers, stage)
        n_batches, once = -(-len(target.x) // self.batch_size), _once(target)
        n_steps = n_batches * self.n_epochs
        n_lessons = (
            0
            if self.exploration
            else min(metric.n_lessons, int((self.heating / 2 or 0.1) * n_steps))
        )
        times = [at for at in self._times(n_batches, len(theta)) if at > n_lessons] if keep else []
        draws = theta.new_empty(len(times), *theta.shape)  # (S, P, D)
        n_done = watch.first * n_batches
        n_drawn = sum(at <= n_done for at in times)
        returning = Returning(theta, self._level(target, theta, state), metric)
        parts = {"theta": theta, "velocity": velocity, **metric.parts}
        watch.restore({**parts, **returning.parts, "draws": draws[:n_drawn]}, theta)
        metric.again()
        for epoch in range(watch.first, self.n_epochs):
            source = stream(seed, _NOISE_STEP + epoch, 0, target.device)
            returning.begin(theta)
            level = torch.zeros(len(theta), dtype=torch.float64, device=theta.device)
            for batch in batches(target, self.batch_size, seed=seed, epoch=epoch):
                value, score = target.batch_likelihood_and_score(theta, batch)
                level, share = level + value, len(target.x) / batch.n_rows
                metric.learn(score, n_done)
                if _is_turn(n_done):
                    metric.renew()
                if n_done >= n_lessons:
                    gradient = torch.add(target.prior_and_score(theta).score, score, alpha=share)
                    noise = standard_normal([source], tuple(theta.shape), like=theta)[0]
                    gradient, noise = returning.shortened(gradient, noise)
                    self._push(
                        metric,
                        velocity,
                        gradient,
                        noise,
                        done=n_done / n_steps,
                        share=share,
                        once=once,
                    )
                    theta += velocity
                n_done += 1
                if n_drawn < len(times) and times[n_drawn] == n_done:
                    draws[n_drawn] = theta
                    n_drawn += 1
            _, noisy = self._height((n_done - 1) / n_steps)
            thrown = returning.judge(level, theta, velocity, searching=not noisy)
            _put_back(
                draws[:n_drawn], thrown, theta, first=bisect_right(times, (epoch - 1) * n_batches)
            )
            if validation is not None:
                watch.judge(theta)
            watch.done({**parts, **returning.parts, "draws": draws[:n_drawn]})
        with torch.no_grad():
            thrown = returning.judge(target.log_likelihood(theta), theta, velocity, searching=False)
        _put_back(
            draws[:n_drawn],
            thrown,
            theta,
            first=bisect_right(times, (self.n_epochs - 1) * n_batches),
        )
        share = len(target.x) / min(self.batch_size, len(target.x))
        sigma = metric.curvature(once * share).rsqrt()
        return Walked(theta, sigma, draws[:n_drawn], tuple(watch.history), returning.n_returns)

    def _level(self, target: BayesianTarget, theta: Tensor, state: TrainingState | None) -> Tensor:
        """Log-likelihoods (P,) that chains must not fall far below: of those that look for a mode first, anything."""
        if self.exploration or state is not None:  # where they go on it is in the state
            return theta.new_full((len(theta),), -torch.inf)
        with torch.no_grad():
            return target.log_likelihood(theta)

    def _push(
        self,
        metric: Metric,
        velocity: Tensor,
        gradient: Tensor,
        noise: Tensor,
        *,
        done: float,
        share: float,
        once: float,
    ) -> None:
        """Change velocities (P, D) when this share of all steps is done, of batches with one of `share` rows each."""
        height, noisy = self._height(done)
        velocity *= 1 - self.friction
        if noisy:
            temperature = min(1.0, done / self.heating) if self.heating else 1.0
            step = height * self.step * (self.cold_step + (1 - self.cold_step) * temperature)
            spread = 2 * self.friction * temperature
            metric.push(velocity, gradient, noise, step=step, spread=spread, count=once * share)
        else:
            rate = self.friction * height * self.learning_rate
            velocity.addcmul_(
                gradient, rate / (share * metric.square.sqrt() + metric.precision.sqrt())
            )

    def _metric(self, target: BayesianTarget, precision: Tensor, n_chains: int) -> Metric:
        if self.metric == "kronecker":
            return Kronecker(target.network.layout, precision, self.information, n_chains)
        return Diagonal(precision, self.information if self.metric == "fisher" else 0.0)

    def _height(self, done: float) -> tuple[float, bool]:
        """The share of the first step when this share of all steps is done, and whether noise is added."""
        within = done * self.n_cycles % 1
        last = self.last_step
        return last + 0.5 * (1 - last) * (
            1 + math.cos(math.pi * within)
        ), within >= self.exploration

    def _times(self, n_batches: int, n_chains: int) -> list[int]:
        """After how many steps draws are kept: evenly in the part of each cycle that has noise."""
        n_steps = self.n_epochs * n_batches
        each = max(1, self.n_kept // (n_chains * self.n_cycles))
        times = set()
        for cycle in range(self.n_cycles):
            first, last = (
                n_steps * (cycle + share) / self.n_cycles for share in (self.exploration, 1.0)
            )
            times |= {math.floor(first + (last - first) * (i + 1) / each) for i in range(each)}
        return sorted(at for at in times if at >= 1)


def reason(n_returns: int) -> str:
    """Why draws are not known to be the posterior's, where chains were sent back so often."""
    if n_returns == 0:
        return REASON
    return f"{REASON} Steps were too long {n_returns} times, and the chain went back: use a smaller step."


def _put_back(draws: Tensor, thrown: Tensor, theta: Tensor, *, first: int) -> None:
    """In draws (S, P, D) from the first on, made since thrown chains were where they are now, put these places."""
    draws[first:, thrown] = theta[thrown]


def _is_turn(n_done: int) -> bool:
    """Whether the metric is renewed at this step: after 0, 1, 2, 4... and then every so many."""
    return n_done & (n_done - 1) == 0 or n_done % _BATCHES_BETWEEN_TURNS == 0


def _once(target: BayesianTarget) -> float:
    """sum w / sum w^2, by which squared gradients of rows that count w times are too large."""
    if target.weight is None or not bool(target.weight.any()):
        return 1.0
    weight = target.weight.double()
    return float(weight.sum() / weight.square().sum())
