"""Stochastic gradient Hamiltonian Monte Carlo (Chen, Fox and Guestrin, 2014), cyclical steps.

    v <- (1 - a) v + h C g + sqrt(2 a h C) z,   theta <- theta + v,
    g = (N / n) sum_batch score + prior score

with friction a and step h, which falls within each cycle (`cycles`). The metric C is "fisher", the
inverse of the diagonal curvature that mini-batches show: F = (N / n) E[g_batch^2] is the empirical
Fisher information, and the prior adds its own; the mean is over chains and recent batches. Where
rows count w times, squares have w^2 for w, so F is divided by sum w^2 / sum w. With "prior" it is
the prior's variance: parameters that are known well only as long as others stay, such as the scales
of normalisation layers, are then not left behind, and steps have to be smaller. "kronecker" has the
prior's variance except in directions of each layer that batches inform (`kronecker_metric`); chains
that start at networks learn it before their first step. The noise of mini-batch gradients is not
subtracted: independent batches would raise the temperature by about h N / (2 a n), and those of one
epoch, which share no rows, by less. In the first part of a cycle chains look for a mode, by steps
of the gradient over its root mean square and without noise; draws are kept after. Chains that
diverge there are reset (`resets`).
"""

import math
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
from pmcnet.methods.sgmcmc.cycles import Cycles, KeptDraws
from pmcnet.methods.sgmcmc.diagonal_metric import Diagonal, Metric, is_renewed, squares_per_row
from pmcnet.methods.sgmcmc.kronecker_metric import Kronecker
from pmcnet.methods.sgmcmc.resets import Resets
from pmcnet.methods.sgmcmc.shared_chains import SharedChains
from pmcnet.methods.training.adam import default_start
from pmcnet.methods.training.loop import TrainedMethod, Watch, batches, check_rate
from pmcnet.methods.training.state import EpochInfo, Stage, TrainingState
from pmcnet.rng import standard_normal, stream

REASON = (
    "draws of stochastic gradient HMC come from steps that are never corrected and gradients of "
    "mini-batches: nothing "
    "measures how far they are from the posterior. Use hmc or the annealed method for one that is."
)
_NOISE_STEP = 1 << 40
_LEAST_EPOCHS, _MOST_EPOCHS, _MOST_STEPS = 40, 2000, 20_000


class SGHMCRun(NamedTuple):
    """Where chains are (P, D), the metric's standard deviations (D,), draws (S, P, D), the history.

    `n_resets` (P,) is how often each diverged and was reset.
    """

    theta: Tensor
    sigma: Tensor
    draws: Tensor
    history: tuple[EpochInfo, ...]
    n_resets: Tensor


@dataclass(frozen=True, kw_only=True)
class SGHMC(TrainedMethod):
    """Chains on mini-batches: an approximation, where full batches exceed the budget.

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
            chains that start at modes: with all of it at once they diverge, since scales measured
            at a mode are too long elsewhere.
        cold_step: share of the step that such chains begin with; it grows as the noise does, and
            has no effect without heating. Batches of networks that fit all rows have almost no
            gradient, so that "fisher" steps are too long at first.
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
        check_rate("step", self.step)
        check_rate("learning_rate", self.learning_rate)
        for name in ("information", "friction", "cold_step", "last_step"):
            if not 0 < (share := getattr(self, name)) <= 1:
                raise InputError(f"{name} must be above 0 and at most 1; got {share}.")
        for name in ("exploration", "heating"):
            if not 0 <= (share := getattr(self, name)) < 1:
                raise InputError(f"{name} must lie in [0, 1); got {share}.")

    @classmethod
    def from_modes(cls, *, step: float, batch_size: int, n_epochs: int) -> Self:
        """The burn-in of chains from modes: one cycle, growing noise, steps that stay large."""
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
        """Run the chains; validation rows are only for the history."""
        theta = default_start(target, [stream(seed, 0, block) for block in range(self.n_chains)])
        found = self.run(
            target,
            theta,
            seed=seed,
            state=state,
            observers=observers,
            comm=comm,
            validation=validation,
        )
        kept = found.draws.flatten(0, 1)[-self.n_kept :] if len(found.draws) else found.theta
        refuse_diverged(target, kept, "Use a smaller step.")
        return Fit(Population.of(target, kept, reason(int(found.n_resets.sum()))), found.history)

    def run(
        self,
        target: BayesianTarget,
        start: Tensor,
        *,
        seed: int,
        state: TrainingState | None = None,
        observers: Iterable[Observer] = (),
        comm: Communicator = SERIAL,
        validation: Rows | None = None,
        stage: Stage = "fit",
        keep: bool = True,
    ) -> SGHMCRun:
        """From `start` (P, D), through all cycles; the other arguments are those of `fit`.

        Without `keep` no draws are kept: observers make of each state what they need.
        """
        theta, velocity = start.detach().clone(), torch.zeros_like(start)
        chains = SharedChains(target, comm)
        metric = self._metric(target, prior_scale(target).square().reciprocal(), len(theta))
        watch = Watch(target, validation, self.n_epochs, seed, state, observers, stage)
        n_batches, once = -(-len(target.x) // self.batch_size), squares_per_row(target)
        n_steps, n_done = n_batches * self.n_epochs, n_batches * watch.first
        n_lessons = 0
        if not self.exploration:
            n_lessons = min(metric.n_lessons, int((self.heating / 2 or 0.1) * n_steps))
        times = self._cycles.draw_times(n_steps, self.n_kept // len(theta)) if keep else []
        draws = KeptDraws(theta, [at for at in times if at > n_lessons], n_done)
        resets = Resets(theta, self._level(chains, theta, state), metric)
        parts = {"theta": theta, "velocity": velocity, **metric.parts}
        watch.restore({**parts, **resets.parts, **draws.parts}, theta)
        metric.restore()
        for epoch in range(watch.first, self.n_epochs):
            source = stream(seed, _NOISE_STEP + epoch, 0, target.device)
            resets.begin(theta)
            level = torch.zeros(len(theta), dtype=torch.float64, device=theta.device)
            for batch in batches(target, self.batch_size, seed=seed, epoch=epoch):
                value, score = chains.batch_likelihood_and_score(theta, batch)
                level, share = level + value, len(target.x) / batch.n_rows
                metric.learn(score, n_done)
                if is_renewed(n_done):
                    metric.renew()
                if n_done >= n_lessons:
                    gradient = torch.add(target.prior_and_score(theta).score, score, alpha=share)
                    noise = standard_normal([source], tuple(theta.shape), like=theta)[0]
                    gradient, noise = resets.shortened(gradient, noise)
                    done = n_done / n_steps
                    self._accelerate(metric, velocity, gradient, noise, done, share, once)
                    theta += velocity
                n_done += 1
                draws.add(theta, n_done)
            exploring = not self._cycles.samples((n_done - 1) / n_steps)
            diverged = resets.judge(level, theta, velocity, searching=exploring)
            draws.replace(diverged, theta, since=(epoch - 1) * n_batches)
            if validation is not None:
                watch.judge(theta)
            watch.done({**parts, **resets.parts, **draws.parts})
        level = chains.log_likelihood(theta)
        diverged = resets.judge(level, theta, velocity, searching=False)
        draws.replace(diverged, theta, since=(self.n_epochs - 1) * n_batches)
        share = len(target.x) / min(self.batch_size, len(target.x))
        sigma = metric.curvature(once * share).rsqrt()
        return SGHMCRun(theta, sigma, draws.kept, tuple(watch.history), resets.n_resets)

    @property
    def _cycles(self) -> Cycles:
        return Cycles(self.n_cycles, self.exploration, self.last_step)

    def _level(self, chains: SharedChains, theta: Tensor, state: TrainingState | None) -> Tensor:
        """Log-likelihoods (P,) that chains must not fall far below; none for an exploration."""
        if self.exploration or state is not None:  # where they go on it is in the state
            return theta.new_full((len(theta),), -torch.inf)
        return chains.log_likelihood(theta)

    def _accelerate(
        self,
        metric: Metric,
        velocity: Tensor,
        gradient: Tensor,
        noise: Tensor,
        done: float,
        share: float,
        once: float,
    ) -> None:
        """Change velocities (P, D) when this share of all steps is done; `share` is N / n."""
        height = self._cycles.share(done)
        velocity *= 1 - self.friction
        if self._cycles.samples(done):
            temperature = min(1.0, done / self.heating) if self.heating else 1.0
            step = height * self.step * (self.cold_step + (1 - self.cold_step) * temperature)
            spread = 2 * self.friction * temperature
            count = once * share
            metric.accelerate(velocity, gradient, noise, step=step, spread=spread, count=count)
        else:
            rate = self.friction * height * self.learning_rate
            velocity.addcmul_(
                gradient, rate / (share * metric.square.sqrt() + metric.precision.sqrt())
            )

    def _metric(self, target: BayesianTarget, precision: Tensor, n_chains: int) -> Metric:
        if self.metric == "kronecker":
            return Kronecker(target.network.layout, precision, self.information, n_chains)
        return Diagonal(precision, self.information if self.metric == "fisher" else 0.0)


def reason(n_resets: int) -> str:
    """Why draws are not known to be the posterior's, where chains were reset so often."""
    if n_resets == 0:
        return REASON
    return f"{REASON} Chains diverged and were reset {n_resets} times: use a smaller step."
