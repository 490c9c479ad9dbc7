"""Parallel Hamiltonian chains, each from a starting point of its own, where annealing is expensive.

P chains move as one population by leapfrog trajectories with a Metropolis test. During the warm-up
step size, length and preconditioner follow what the population shows; then they are frozen, and
only draws made with them are kept, so that each chain leaves the target invariant (Neal, 2011).
Chains do not exchange anything else: they stay near the modes they start from for as long as the
target keeps them there, and the average is over all of them.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from pmcnet import rng
from pmcnet.ais.agreement import Agreement
from pmcnet.ais.comm import SERIAL, Communicator, agreed
from pmcnet.ais.hmc.adaptation import (
    MAX_LENGTH,
    MAX_PILOTS,
    PILOT_REACH,
    PILOT_SPREAD,
    Tuning,
    around,
    best_length,
    bounded,
    solve_step,
)
from pmcnet.ais.hmc.groups import agreement
from pmcnet.ais.hmc.kept_draws import LEAST_JUDGED, LEAST_KEPT, stride_of, with_draw
from pmcnet.ais.hmc.kernel import HMC, Transition, gaussian_step, watched_part
from pmcnet.ais.hmc.preconditioners import hessian_scale, learned_scale
from pmcnet.ais.hmc.result import ChainResult
from pmcnet.ais.hmc.shared_kernel import chain_kernel
from pmcnet.ais.hmc.state import ChainInfo, ChainState
from pmcnet.ais.path import Path
from pmcnet.ais.tempered import Tempered
from pmcnet.ais.verdict import needs_no_more
from pmcnet.errors import InputError, TargetError

SMALLEST_STEP = 0.7
"""Step sizes of trajectories that count are uniform between this share of the tuned one and it."""
LATEST = 2 / 3
"""Share of the draws that count where a run may end early; those before are burn-in."""
_FORGET = 1 / 3  # of the warm-up, after which the preconditioner begins anew away from the start
_STEPS = 1 << 42  # streams of trajectories, apart from those of starts and of batches


@dataclass(frozen=True, kw_only=True)
class HMCPopulation:
    """Parallel Hamiltonian chains.

    Args:
        n_warmup: trajectories that adapt and are discarded.
        n_draws: K, draws kept of each chain.
        thin: trajectories from one kept draw to the next.
        move: trajectories; the length is tuned during the warm-up where it is "auto".
        max_leapfrog: longest trajectory.
        adapt_scale: whether the warm-up learns the preconditioner from the chains' scores. It must
            not where there are many more dimensions than chains: scales that follow a chain's own
            score drive it away from the target.
        keep: whether draws are kept; without them, observers make of each state what they need.
        most_kept: draws that are kept of each chain, at most; beyond, every second one is dropped,
            and they are kept half as often. None for all.
        until_known: whether it ends once chains agree and settled; then the latest draws count.
        max_seconds: computing time after which no trajectory begins, once there are draws to judge.
    """

    n_warmup: int = 200
    n_draws: int = 200
    thin: int = 1
    move: HMC = HMC(target_acceptance=0.8)
    max_leapfrog: int = MAX_LENGTH
    adapt_scale: bool = True
    keep: bool = True
    most_kept: int | None = None
    until_known: bool = False
    max_seconds: float | None = None

    default_steps: ClassVar[int | None] = None

    def __post_init__(self) -> None:
        for name, least in (("n_warmup", 1), ("n_draws", 2), ("thin", 1), ("max_leapfrog", 1)):
            value = getattr(self, name)
            if type(value) is not int or value < least:
                raise InputError(f"{name} must be a whole number, at least {least}; got {value!r}.")
        most = self.most_kept
        if most is not None and (type(most) is not int or most < LEAST_KEPT):
            raise InputError(
                f"most_kept must be a whole number, at least {LEAST_KEPT}, or None; got {most!r}."
            )

    @property
    def n_steps(self) -> int:
        """Trajectories in all."""
        return self.n_warmup + self.n_draws * self.thin

    def init(
        self,
        target: Tempered | Path,
        theta: Tensor,
        *,
        seed: int,
        sigma: Tensor | None = None,
        comm: Communicator = SERIAL,
    ) -> ChainState:
        """Chains at `theta` (P, D).

        Args:
            target: what to sample.
            theta: starting points, best one mode each.
            seed: decides everything random.
            sigma: standard deviations (D,) that steps are first scaled by; measured by a small
                displacement without them.
            comm: whose first process measures them.
        """
        path = Path.of(target)
        if theta.ndim != 2 or len(theta) < 2:
            raise InputError(
                f"theta must be (n_chains, dim) with at least 2 chains; got {tuple(theta.shape)}."
            )
        points = path.decided(path.start(theta.detach()))
        if not points.log_density(1.0).isfinite().all():
            raise TargetError(
                "log pi is not finite at every starting point. Start chains where the target has "
                "mass."
            )
        seed = rng.check_seed(seed)
        if sigma is None:
            source = rng.stream(seed, _STEPS, 0, theta.device)
            sigma = comm.agreed(hessian_scale(path, points, source))
        tuning = Tuning(gaussian_step(path.dim), min(self.move.first_length(), self.max_leapfrog))
        values = points.log_prior.new_empty(0, len(theta))
        return ChainState(
            points=points,
            sigma=sigma,
            curvature=torch.zeros_like(sigma),
            n_seen=0,
            tuning=tuning,
            log_step=0.0,
            kept=theta.new_empty(0, *theta.shape),
            log_density=values,
            monitors=values.new_empty(0, *path.monitor(points.theta).shape),
            acceptance=0.0,
            precision=path.precision,
            agreement=Agreement.unknown(path.quantity),
            seconds=0.0,
            ended=False,
            step=0,
            seed=seed,
        )

    def prepared(self, target: Tempered | Path) -> Path:
        """The path of the target, whose captured graph all steps share."""
        return Path.of(target)

    def step(
        self, state: ChainState, target: Tempered | Path, comm: Communicator = SERIAL
    ) -> tuple[ChainState, ChainInfo]:
        """One trajectory of every chain; before the first, pilots that tune the step size."""
        start = time.monotonic()
        state, info = self._moved(state, Path.of(target), comm)
        seconds = state.seconds + agreed(comm, time.monotonic() - start)
        late = self.max_seconds is not None and seconds >= self.max_seconds
        ended = state.ended or (late and len(state.log_density) >= LEAST_KEPT)
        return state._replace(seconds=seconds, ended=ended), info

    def _moved(
        self, state: ChainState, path: Path, comm: Communicator
    ) -> tuple[ChainState, ChainInfo]:
        warming = state.step < self.n_warmup
        if state.step == 0:
            state = self._piloted(state, path, comm)
        (source,) = rng.streams(state.seed, _STEPS + state.step + 1, 1, state.points.theta.device)
        noise, first, jitter, test = _randomness(source, state.points.theta)
        length = self.move.length(state.tuning.n_leapfrog, first)
        share = around(jitter) if warming else SMALLEST_STEP + (1 - SMALLEST_STEP) * jitter
        watched = warming and self.move.tunes_length
        if watched:
            length = math.ceil(PILOT_REACH * state.tuning.n_leapfrog)
        length = min(length, self.max_leapfrog)
        step = (state.tuning.step_size * share).to(noise.dtype)[:, None]  # (P, 1)
        kernel = chain_kernel(path, state.sigma, len(noise), comm)
        moved, jumps = kernel.move(state.points, step, length, noise, test, watched=watched)
        info = ChainInfo.of(state, moved, length, warming=warming)
        state = state._replace(points=moved.points, step=state.step + 1)
        if warming:
            best = None
            if watched:
                variance = watched_part(state.points.theta).double().var(0)
                best = best_length(comm.agreed(jumps.mean(0)), comm.agreed(variance))
            change = self._change(state.tuning, moved, step[:, 0], comm)
            return self._adapted(state, moved, change, best), info
        n_made = state.step - self.n_warmup
        mean = state.acceptance + (info.acceptance - state.acceptance) / n_made
        state = state._replace(acceptance=mean)
        n, rest = divmod(n_made, self.thin)
        if rest or n % stride_of(n, self.most_kept):
            return state, info
        state = with_draw(state, path, n, self.keep, self.most_kept)
        if self.until_known and n >= LEAST_JUDGED:
            state = self._judged(state, path, comm)
            found = state.agreement
            info = info._replace(error=found.median, error_upper=found.upper)
        return state, info

    def done(self, state: ChainState) -> bool:
        """Whether all trajectories were made, or no more are wanted."""
        return state.ended or state.step >= self.n_steps

    def compact(self, info: ChainInfo) -> ChainInfo:
        """All of it."""
        return info

    def result(
        self,
        state: ChainState,
        history: Sequence[ChainInfo],
        target: Tempered | Path,
        comm: Communicator = SERIAL,
    ) -> ChainResult:
        """The draws of all chains."""
        share = LATEST if self.until_known else 1.0
        return ChainResult.of(state, tuple(history), finished=self.done(state), share=share)

    def _judged(self, state: ChainState, path: Path, comm: Communicator) -> ChainState:
        """The state with how far its chains agree, ended where more time would change little."""
        result = self.result(state, (), path)
        found = agreement(result.theta, path).agreed(comm)
        ended = bool(agreed(comm, needs_no_more(result, found)))
        return state._replace(agreement=found, ended=ended)

    def _piloted(self, state: ChainState, path: Path, comm: Communicator) -> ChainState:
        length, n_chains = state.tuning.n_leapfrog, len(state.points.theta)
        kernel = chain_kernel(path, state.sigma, n_chains, comm)
        _, *sources = rng.streams(state.seed, _STEPS, 1 + MAX_PILOTS, state.points.theta.device)
        for source in sources:
            noise, _, jitter, test = _randomness(source, state.points.theta)
            step = (state.tuning.step_size * around(jitter)).to(noise.dtype)[:, None]  # (P, 1)
            moved, _ = kernel.move(state.points, step, length, noise, test)
            change = self._change(state.tuning, moved, step[:, 0], comm)
            tuning = state.tuning._replace(step_size=state.tuning.step_size * change)
            state = state._replace(points=moved.points, tuning=tuning)
            if 1 / PILOT_SPREAD <= change <= PILOT_SPREAD:
                break
        return state

    def _change(self, tuning: Tuning, moved: Transition, step: Tensor, comm: Communicator) -> float:
        """The factor by which a trajectory changes the step size, within bounds."""
        solved = solve_step(moved.acceptance, step, self.move.target_acceptance)
        return agreed(comm, bounded(solved / tuning.step_size))

    def _adapted(
        self, state: ChainState, moved: Transition, change: float, best: int | None
    ) -> ChainState:
        """Step size, length and preconditioner after a trajectory of the warm-up.

        The length follows the `best` one of each trajectory halfway, since few chains show it
        poorly.
        """
        tuning, done = state.tuning, state.step / self.n_warmup
        change **= 1 / math.sqrt(state.step)  # less and less
        length = tuning.n_leapfrog
        if best is not None:
            longest = max(1, round(self.max_leapfrog / (1 + self.move.jitter)))
            length = min(longest, math.ceil(math.sqrt(best * length)))
        tuning = Tuning(tuning.step_size * change, length)
        n_last, log_step = state.step - self.n_warmup // 2, state.log_step
        if n_last > 0:
            log_step += (math.log(tuning.step_size) - log_step) / n_last
        if state.step == self.n_warmup and n_last > 0:
            tuning = tuning._replace(step_size=math.exp(log_step))
        forget = state.step == max(1, round(_FORGET * self.n_warmup))
        seen, curvature = (
            (0, torch.zeros_like(state.curvature)) if forget else (state.n_seen, state.curvature)
        )
        square = moved.points.score(1.0).square().mean(0)  # (D,)
        curvature = curvature + (square - curvature) / (seen + 1)
        state = state._replace(
            curvature=curvature, n_seen=seen + 1, tuning=tuning, log_step=log_step
        )
        return (
            state._replace(sigma=learned_scale(curvature, state.n_seen * len(moved.points.theta)))
            if self.adapt_scale and done >= _FORGET
            else state
        )


def _randomness(source: rng.Stream, theta: Tensor) -> tuple[Tensor, float, Tensor, Tensor]:
    """Noise (P, D), a uniform number for all chains, and two for each (P,)."""
    noise = rng.standard_normal([source], tuple(theta.shape), like=theta)[0]
    uniforms = rng.uniform([source], 2 * len(noise) + 1, like=noise)[0]
    return noise, float(uniforms[0]), uniforms[1 : len(noise) + 1], uniforms[len(noise) + 1 :]
