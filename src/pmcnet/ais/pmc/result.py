"""What population Monte Carlo leaves: weighted draws, the state to go on from, the history."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch

from pmcnet.ais.comm import Communicator
from pmcnet.ais.pmc.proposals import Proposals
from pmcnet.ais.pmc.state import PMCInfo, PMCState
from pmcnet.ais.pmc.weighting import Weighting
from pmcnet.ais.samples import SampleDiagnostics, WeightedSamples

Keep = Literal["last", "all", "mixture"]


@dataclass(frozen=True)
class Result(SampleDiagnostics):
    """Weighted draws, the last state, and the history."""

    samples: WeightedSamples
    state: PMCState
    history: tuple[PMCInfo, ...]


def kept_draws(
    history: Sequence[PMCInfo], keep: Keep, weighting: Weighting, memory: int, comm: Communicator
) -> WeightedSamples:
    """The draws of the last step (M, K), or of all steps (T, M, K).

    Args:
        history: of a run.
        keep: "last", "all" or "mixture"; see `PMC`.
        weighting: the density in the denominator of the weights.
        memory: bytes that evaluations of the proposals may use for temporaries.
        comm: the processes, each of which holds its own draws.
    """
    if keep == "last":
        return _of_all_processes(history[-1], comm)[1]
    proposals, steps = zip(*(_of_all_processes(info, comm) for info in history), strict=True)
    theta = torch.stack([samples.theta for samples in steps])  # (T, M, K, D)
    log_weight = torch.stack([samples.log_weight for samples in steps])  # (T, M, K)
    if keep == "all":
        return WeightedSamples(theta, log_weight)
    own = [weighting(p, s.theta, memory) for p, s in zip(proposals, steps, strict=True)]
    flat = theta.flatten(0, -2)  # (T * M * K, D)
    common = torch.full(flat.shape[:1], -torch.inf, dtype=torch.float64, device=flat.device)
    for mixture in proposals:
        common = torch.logaddexp(common, mixture.log_mixture(flat, memory))
    common = common.reshape(log_weight.shape) - math.log(len(steps))
    return WeightedSamples(theta, log_weight + torch.stack(own) - common)


def _of_all_processes(info: PMCInfo, comm: Communicator) -> tuple[Proposals, WeightedSamples]:
    """The proposals of a step and the draws of all processes."""
    assert info.proposals is not None
    assert info.samples is not None
    gathered = comm.gather(info.proposals.n_proposals, [info.samples])
    return info.proposals, WeightedSamples(*gathered)
