"""Population Monte Carlo: Algorithm 1 of the paper, with each of its choices an interchangeable part."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from pmcnet import rng
from pmcnet.ais.evaluation import Evaluation
from pmcnet.ais.mean_steps import Langevin, MeanStep
from pmcnet.ais.phases import Phases, Stopwatch
from pmcnet.ais.proposals import Proposals
from pmcnet.ais.resampling import Local, Resampling
from pmcnet.ais.samples import WeightedSamples
from pmcnet.ais.scale_steps import RobustCovariance, ScaleStep
from pmcnet.ais.target import Target
from pmcnet.ais.weighting import DeterministicMixture, Weighting
from pmcnet.errors import DegenerateWeightsError, InputError


class PMCState(NamedTuple):
    """What the next step needs: the proposals, the number of steps done, the seed."""

    proposals: Proposals
    step: int
    seed: int


class PMCInfo(NamedTuple):
    """What a person wants to know about one step.

    `samples` are its draws (M, K, D) with weights (M, K); `ancestors` (M,) the flat index of the draw that each new
    mean came from, -1 for a proposal that had none; `step_size` (M,), or (M, B) for incremental steps, the accepted
    gamma, 0 for none; `rejected_scale` (M,) whether the previous covariance had to be kept; `phases` where the time
    went.
    """

    samples: WeightedSamples
    ancestors: Tensor
    step_size: Tensor
    rejected_scale: Tensor
    phases: Phases


@dataclass(frozen=True, kw_only=True)
class PMC:
    """Algorithm 1: draw, weight, resample, adapt.

    Args:
        n_draws: K, draws from each proposal in each step.
        weighting: the density in the weights' denominator.
        resampling: which draws survive as means.
        scale_step: how covariances adapt.
        mean_step: how survivors move.
    """

    n_draws: int = 100
    weighting: Weighting = DeterministicMixture()
    resampling: Resampling = Local()
    scale_step: ScaleStep = RobustCovariance()
    mean_step: MeanStep = Langevin()

    def __post_init__(self) -> None:
        least = self.scale_step.min_draws
        if isinstance(self.n_draws, bool) or not isinstance(self.n_draws, int) or self.n_draws < least:
            raise InputError(
                f"n_draws must be a whole number, at least {least} for {type(self.scale_step).__name__}; "
                f"got {self.n_draws!r}. With a single draw use scale_step=FixedScale()."
            )

    def init(self, loc: Tensor, *, sigma: float = 1.0, seed: int) -> PMCState:
        """The state before the first step: means `loc` (M, D), covariances sigma^2 I.

        Args:
            loc: starting means; its dtype (float32 or float64) and device are those of the run.
            sigma: standard deviation of every proposal.
            seed: whole number; the same seed gives the same run.
        """
        if not isinstance(loc, Tensor) or loc.ndim != 2 or 0 in loc.shape:
            given = tuple(loc.shape) if isinstance(loc, Tensor) else type(loc).__name__
            raise InputError(f"loc must be a tensor (n_proposals, dim); got {given}. Use loc[None] for one proposal.")
        if loc.dtype not in (torch.float32, torch.float64):
            raise InputError(f"loc must be float32 or float64; got {loc.dtype}. Use loc.double().")
        if not loc.isfinite().all():
            raise InputError("loc holds NaN or infinite numbers. Start every proposal at a finite point.")
        least, most = torch.finfo(loc.dtype).tiny, torch.finfo(loc.dtype).max
        if not least <= sigma <= most:
            raise InputError(
                f"sigma must be a positive finite standard deviation, in {loc.dtype} from {least:.3g} to {most:.3g}; "
                f"got {sigma}."
            )
        scale = self.scale_step.structure.isotropic(sigma, loc)
        return PMCState(Proposals(loc.detach().clone(), scale), step=0, seed=rng.check_seed(seed))

    def step(self, state: PMCState, target: Target) -> tuple[PMCState, PMCInfo]:
        """One step of Algorithm 1 with the streams of (seed, step, proposal)."""
        loc = state.proposals.loc
        sources = rng.streams(state.seed, state.step, len(loc), loc.device)
        return self.step_with(state, target, sources)

    def step_with(self, state: PMCState, target: Target, sources: Sequence[rng.Stream]) -> tuple[PMCState, PMCInfo]:
        """One step of Algorithm 1 with the given streams, one for each proposal."""
        evaluation, step, proposals = Evaluation(target), state.step + 1, state.proposals
        watch = Stopwatch(proposals.loc.device)
        theta = proposals.draw(sources, self.n_draws)  # (M, K, D)
        log_proposal = self.weighting(proposals, theta, evaluation.memory)  # (M, K)
        on_proposals = watch.lap()
        samples = WeightedSamples(theta, evaluation.log_density(theta) - log_proposal)
        on_target = watch.lap()
        ancestors = self.resampling(_some_weight(samples.log_weight), sources, step)  # (M,)
        survivors = torch.where(ancestors[:, None] < 0, proposals.loc, theta.flatten(0, 1)[ancestors])  # (M, D)
        scale, rejected = self.scale_step(proposals.scale, samples, survivors, evaluation, step)
        loc, step_size = self.mean_step(survivors, scale, evaluation)  # (M, D)
        phases = Phases(on_proposals, on_target, watch.lap(), watch.memory())
        info = PMCInfo(samples, ancestors, step_size, rejected, phases)
        return PMCState(Proposals(loc, scale), step, state.seed), info


def _some_weight(log_weight: Tensor) -> Tensor:
    if (log_weight == -torch.inf).all():
        raise DegenerateWeightsError(
            f"log_density is -inf at all {log_weight.numel()} draws, so no draw has weight. "
            "Start the proposals where the target has mass, or widen sigma."
        )
    return log_weight
