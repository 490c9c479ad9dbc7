"""The prior's scale by the evidence: by the derivative of log Z rather than its noisy values.

d log Z / d log sigma is the posterior mean of d log p(theta | sigma) / d log sigma. Its sampling
error is far smaller than that of a difference of two log Z, so the search looks for the zero of the
derivative (`slope`) and uses log Z itself only to choose between trials that differ significantly.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch

from pmcnet.ais.annealed.algorithm import AnnealedPMC
from pmcnet.ais.annealed.result import AnnealedResult
from pmcnet.ais.comm import SERIAL, Communicator
from pmcnet.ais.islands.algorithm import Islands
from pmcnet.ais.islands.result import IslandsResult
from pmcnet.bnn import BayesianTarget
from pmcnet.errors import InputError

GROWTH = 2.0
"""Factor by which the scale goes uphill until the derivative changes its sign."""


class Trial(NamedTuple):
    """One prior scale: log Z and its derivative by log sigma, each with a standard error."""

    sigma: float
    log_evidence: float
    log_evidence_error: float
    slope: float
    slope_error: float


@dataclass(frozen=True)
class EvidenceSearch:
    """The chosen target with its posterior, all trials, and whether a maximum was reached."""

    target: BayesianTarget
    result: AnnealedResult | IslandsResult
    trials: tuple[Trial, ...]
    converged: bool

    @property
    def sigma(self) -> float:
        """The chosen scale."""
        return self.target.prior.sigma


def evidence_prior(
    target: BayesianTarget,
    sampler: AnnealedPMC | Islands,
    *,
    seed: int,
    low: float = 0.05,
    high: float = 50.0,
    tolerance: float = 0.1,
    n_trials: int = 8,
    progress: Callable[[Trial], None] | None = None,
    comm: Communicator = SERIAL,
) -> EvidenceSearch:
    """The scale of `target.prior`, whatever kind it is, with the largest evidence.

    Args:
        target: its prior's scale is the first trial.
        sampler: how each trial is run.
        seed: of every trial, so that they differ by the prior alone.
        low: smallest scale tried.
        high: largest scale tried.
        tolerance: a step in log sigma below this ends the search.
        n_trials: most trials.
        progress: called with each trial.
        comm: shares each trial between processes.
    """
    if not 0 < low <= target.prior.sigma <= high:
        raise InputError(
            f"low <= sigma <= high must all be positive; got {low}, {target.prior.sigma}, {high}."
        )
    if n_trials < 1 or not tolerance > 0:
        raise InputError(
            f"n_trials must be at least 1 and tolerance positive; got {n_trials}, {tolerance}."
        )
    found: list[tuple[BayesianTarget, AnnealedResult | IslandsResult, Trial]] = []
    sigma, converged = target.prior.sigma, False
    while len(found) < n_trials:
        trial_target = replace(target, prior=target.prior.rescaled(sigma))
        result = sampler.run(trial_target, seed=seed, comm=comm)
        trial = comm.agreed(torch.tensor(_trial(trial_target, result), dtype=torch.float64))
        found.append((trial_target, result, Trial(*trial.tolist())))
        trials = [trial for _, _, trial in found]
        if progress is not None:
            progress(trials[-1])
        following = min(max(_next(trials), low), high)
        nearest = min(abs(math.log(following / trial.sigma)) for trial in trials)
        level = abs(trials[-1].slope) < 2 * trials[-1].slope_error
        converged = level or (nearest < tolerance and low < following < high)
        if converged or nearest == 0:
            break
        sigma = following
    chosen = _choose([trial for _, _, trial in found])
    return EvidenceSearch(*found[chosen][:2], tuple(trial for _, _, trial in found), converged)


def _trial(target: BayesianTarget, result: AnnealedResult | IslandsResult) -> Trial:
    weights, _ = target.parts(result.samples.theta)
    slope = target.prior.scale_gradient(weights, target.network.layout).double()[:, None]  # (P, 1)
    return Trial(
        target.prior.sigma,
        result.log_evidence,
        result.log_evidence_error,
        float(result.samples.weight @ slope[:, 0]),
        float(result.mean_error(slope)[0]),
    )


def _next(trials: list[Trial]) -> float:
    """Where the derivative should vanish: interpolated, or a large step uphill."""
    last = trials[-1]
    rising = [t for t in trials if t.slope > 0]
    falling = [t for t in trials if t.slope <= 0]
    if rising and falling:
        left, right = max(rising, key=lambda t: t.sigma), min(falling, key=lambda t: t.sigma)
        share = left.slope / (left.slope - right.slope)
        return math.exp(math.log(left.sigma) + share * math.log(right.sigma / left.sigma))
    return last.sigma * (GROWTH if last.slope > 0 else 1 / GROWTH)


def _choose(trials: list[Trial]) -> int:
    """The smallest scale among the trials with the largest evidence, within 2 errors."""
    top = max(trials, key=lambda t: t.log_evidence)

    def competes(t: Trial) -> bool:
        noise = math.hypot(t.log_evidence_error, top.log_evidence_error)
        return top.log_evidence - t.log_evidence <= 2 * noise

    candidates = [i for i, t in enumerate(trials) if competes(t)]
    return min(candidates, key=lambda i: trials[i].sigma)
