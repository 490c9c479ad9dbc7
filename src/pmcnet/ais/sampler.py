"""The loop: steps, observers, stopping, and the weighted draws at the end."""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
import torch

from pmcnet.ais import diagnostics
from pmcnet.ais.comm import SERIAL, Communicator, agreed
from pmcnet.ais.pmc.algorithm import PMC, PMCInfo, PMCState
from pmcnet.ais.pmc.proposals import Proposals
from pmcnet.ais.samples import Judged, WeightedSamples
from pmcnet.ais.target import Target
from pmcnet.errors import InputError

Keep = Literal["last", "all", "mixture"]
Stop = Literal["steps", "ess", "time"]
Observer = Callable[[PMCState, PMCInfo], None]


class StepRecord(NamedTuple):
    """One line of a run's history.

    `ess` and `log_evidence` are of this step's draws; the `pooled_` ones of all draws so far, each
    weighted by its own step's proposals. `step_size` is the mean accepted step, `seconds` the time
    since the run began; the other `seconds_` are of this step, and `memory` its peak on a GPU: see
    `Phases`.
    """

    step: int
    ess: float
    max_weight: float
    log_evidence: float
    pooled_ess: float
    pooled_log_evidence: float
    step_size: float
    n_rejected_scale: int
    n_starved: int
    seconds: float
    seconds_proposals: float
    seconds_target: float
    seconds_moves: float
    memory: int


@dataclass(frozen=True)
class Result(Judged):
    """What a run leaves: weighted draws, the state to go on from, and the history.

    `stopped` says why it ended: "steps", "ess" or "time".
    """

    samples: WeightedSamples
    state: PMCState
    history: tuple[StepRecord, ...]
    stopped: Stop


def run(
    algorithm: PMC,
    target: Target,
    state: PMCState,
    *,
    n_steps: int = 20,
    keep: Keep = "last",
    min_ess: float | None = None,
    max_seconds: float | None = None,
    observers: Iterable[Observer] = (),
    comm: Communicator = SERIAL,
) -> Result:
    """Run `algorithm` on `target` from `state`.

    Args:
        algorithm: one of `ais.pmcnet`, `ais.pmcnet_light`, ... or any `PMC(...)`.
        target: what to sample.
        state: from `algorithm.init(...)`, or from an earlier result to continue it.
        n_steps: T, the most steps that are made.
        keep: which draws to return. "last": the M*K of the last step. "all": those of every step,
            each weighted by the proposals of its own step; the evidence is unbiased. "mixture":
            those of every step, all weighted by the mixture of the proposals of all steps. It has
            the lower variance and costs T times the densities, but later proposals sit where
            earlier draws were, which biases the evidence downwards by an amount that its standard
            error does not show: small in few dimensions, visible from about 20.
        min_ess: stop after the first step whose kept draws have at least this many effective ones.
        max_seconds: stop after the first step that ends past this time.
        observers: called with (state, info) after each step.
        comm: shares the proposals between processes, each of which calls this function.

    Returns:
        The weighted draws with their diagnostics, the last state and the history.
    """
    _check_limits(n_steps, keep, min_ess, max_seconds)
    start = time.monotonic()
    steps: list[tuple[Proposals, WeightedSamples]] = []
    history: list[StepRecord] = []
    stopped: Stop = "steps"
    for _ in range(n_steps):
        proposals = state.proposals
        state, info = algorithm.step(state, target, comm)
        if keep == "last":
            steps.clear()
        steps.append((proposals, info.samples))
        history.append(step_record(state, info, history, agreed(comm, time.monotonic() - start)))
        for observer in observers:
            observer(state, info)
        if (
            min_ess is not None
            and (history[-1].ess if keep == "last" else history[-1].pooled_ess) >= min_ess
        ):
            stopped = "ess"
            break
        if max_seconds is not None and history[-1].seconds >= max_seconds:
            stopped = "time"
            break
    steps = [
        (proposals, _of_all(samples, len(proposals.loc), comm)) for proposals, samples in steps
    ]
    return Result(_kept(algorithm, target, steps, keep), state, tuple(history), stopped)


def _of_all(samples: WeightedSamples, n_proposals: int, comm: Communicator) -> WeightedSamples:
    """The draws of all processes."""
    return WeightedSamples(*comm.gather(n_proposals, [samples]))


def _check_limits(
    n_steps: int, keep: str, min_ess: float | None, max_seconds: float | None
) -> None:
    if isinstance(n_steps, bool) or not isinstance(n_steps, int) or n_steps < 1:
        raise InputError(f"n_steps must be a whole number, at least 1; got {n_steps!r}.")
    if keep not in get_args(Keep):
        raise InputError(f"keep must be one of {', '.join(get_args(Keep))}; got {keep!r}.")
    for name, value in (("min_ess", min_ess), ("max_seconds", max_seconds)):
        if value is not None and not value > 0:
            raise InputError(f"{name} must be positive, or None for no limit; got {value}.")


def step_record(
    state: PMCState, info: PMCInfo, history: Sequence[StepRecord], seconds: float
) -> StepRecord:
    """The line of one step, from its draws and the lines before."""
    log_weight, n_effective, n_before = info.log_weight, info.ess, len(history)
    log_evidence = float(diagnostics.log_evidence(log_weight))
    pooled_log_evidence, pooled_ess = log_evidence, n_effective
    if n_before:
        # Sums of w and of w^2 over the steps before follow from their pooled evidence and ESS; n
        # draws a step.
        last, log_n = history[-1], math.log(log_weight.numel())
        log_sum = log_evidence + log_n
        log_sum_before = last.pooled_log_evidence + log_n + math.log(n_before)
        log_squares = 2 * log_sum - math.log(n_effective)
        log_squares_before = 2 * log_sum_before - math.log(last.pooled_ess)
        log_sum_all = np.logaddexp(log_sum, log_sum_before)
        pooled_log_evidence = float(log_sum_all - log_n - math.log(n_before + 1))
        pooled_ess = float(np.exp(2 * log_sum_all - np.logaddexp(log_squares, log_squares_before)))
    return StepRecord(
        step=state.step,
        ess=n_effective,
        max_weight=float(diagnostics.max_weight(log_weight.flatten())),
        log_evidence=log_evidence,
        pooled_ess=pooled_ess,
        pooled_log_evidence=pooled_log_evidence,
        step_size=float(info.step_size.mean()),
        n_rejected_scale=int(info.rejected_scale.sum()),
        n_starved=int((info.ancestors < 0).sum()),
        seconds=seconds,
        seconds_proposals=info.phases.proposals,
        seconds_target=info.phases.target,
        seconds_moves=info.phases.moves,
        memory=info.phases.memory,
    )


def _kept(
    algorithm: PMC, target: Target, steps: Sequence[tuple[Proposals, WeightedSamples]], keep: Keep
) -> WeightedSamples:
    """The draws asked for: (M, K) of the last step, or (T, M, K) of all with their own or the common mixture."""
    if keep == "last":
        return steps[-1][1]
    theta = torch.stack([samples.theta for _, samples in steps])  # (T, M, K, D)
    log_weight = torch.stack([samples.log_weight for _, samples in steps])  # (T, M, K)
    if keep == "all":
        return WeightedSamples(theta, log_weight)
    own = torch.stack(
        [algorithm.weighting(p, s.theta, target.memory) for p, s in steps]
    )  # (T, M, K)
    flat = theta.flatten(0, -2)  # (T * M * K, D)
    common = torch.full(flat.shape[:1], -torch.inf, dtype=torch.float64, device=flat.device)
    for proposals, _ in steps:
        common = torch.logaddexp(common, proposals.log_mixture(flat, target.memory))
    common = common.reshape(own.shape) - math.log(len(steps))
    return WeightedSamples(theta, log_weight + own - common)
