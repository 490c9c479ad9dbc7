"""Population Monte Carlo: Algorithm 1 of the paper, each of its choices an interchangeable part."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, get_args

import torch
from torch import Tensor

from pmcnet import rng
from pmcnet.ais.comm import SERIAL, Communicator
from pmcnet.ais.evaluation import Evaluation
from pmcnet.ais.pmc.mean_steps import Langevin, MeanStep
from pmcnet.ais.pmc.proposals import Proposals
from pmcnet.ais.pmc.resampling import Local, Resampling
from pmcnet.ais.pmc.result import Keep, Result, kept_draws
from pmcnet.ais.pmc.scale_steps import RobustCovariance, ScaleStep
from pmcnet.ais.pmc.state import Estimate, PMCInfo, PMCState
from pmcnet.ais.pmc.weighting import DeterministicMixture, Weighting
from pmcnet.ais.samples import WeightedSamples
from pmcnet.ais.target import Target
from pmcnet.ais.timing import Phases, Stopwatch
from pmcnet.errors import DegenerateWeightsError, InputError
from pmcnet.threads import even_slices, mapped, n_threads


@dataclass(frozen=True, kw_only=True)
class PMC:
    """Algorithm 1: draw, weight, resample, adapt.

    Args:
        n_draws: K, draws from each proposal in each step.
        weighting: the density in the weights' denominator.
        resampling: which draws survive as means.
        scale_step: how covariances adapt.
        mean_step: how survivors move.
        keep: which draws a run returns. "last": the M*K of the last step. "all": those of every
            step, each weighted by the proposals of its own step; the evidence is unbiased.
            "mixture": those of every step, all weighted by the mixture of the proposals of all
            steps. It has the lower variance and costs T times the densities, but later proposals
            sit where earlier draws were, which biases the evidence downwards by an amount that its
            standard error does not show: small in few dimensions, visible from about 20.
        min_ess: a run is done when the draws it would return have this many effective ones; None
            to make all steps.
    """

    default_steps: ClassVar[int] = 20

    n_draws: int = 100
    weighting: Weighting = DeterministicMixture()
    resampling: Resampling = Local()
    scale_step: ScaleStep = RobustCovariance()
    mean_step: MeanStep = Langevin()
    keep: Keep = "last"
    min_ess: float | None = None

    def __post_init__(self) -> None:
        least = self.scale_step.min_draws
        if (
            isinstance(self.n_draws, bool)
            or not isinstance(self.n_draws, int)
            or self.n_draws < least
        ):
            raise InputError(
                f"n_draws must be a whole number, at least {least} for "
                f"{type(self.scale_step).__name__}; "
                f"got {self.n_draws!r}. With a single draw use scale_step=FixedScale()."
            )
        if self.keep not in get_args(Keep):
            raise InputError(f"keep must be one of {', '.join(get_args(Keep))}; got {self.keep!r}.")
        if self.min_ess is not None and not self.min_ess > 0:
            raise InputError(f"min_ess must be positive, or None for no limit; got {self.min_ess}.")

    def init(self, loc: Tensor, *, sigma: float = 1.0, seed: int) -> PMCState:
        """The state before the first step: means `loc` (M, D), covariances sigma^2 I.

        Args:
            loc: starting means; its dtype (float32 or float64) and device are those of the run.
            sigma: standard deviation of every proposal.
            seed: whole number; the same seed gives the same run.
        """
        if not isinstance(loc, Tensor) or loc.ndim != 2 or 0 in loc.shape:
            given, remedy = type(loc).__name__, "torch.as_tensor(loc)"
            if isinstance(loc, Tensor):
                given, remedy = str(tuple(loc.shape)), "loc[None] for one proposal"
            raise InputError(f"loc must be a tensor (n_proposals, dim); got {given}. Use {remedy}.")
        if loc.dtype not in (torch.float32, torch.float64):
            raise InputError(f"loc must be float32 or float64; got {loc.dtype}. Use loc.double().")
        if not loc.isfinite().all():
            raise InputError(
                "loc holds NaN or infinite numbers. Start every proposal at a finite point."
            )
        least, most = torch.finfo(loc.dtype).tiny, torch.finfo(loc.dtype).max
        if not least <= sigma <= most:
            raise InputError(
                f"sigma must be a positive finite standard deviation, in {loc.dtype} from "
                f"{least:.3g} to {most:.3g}; "
                f"got {sigma}."
            )
        scale = self.scale_step.structure.isotropic(sigma, loc)
        return PMCState(Proposals(loc.detach().clone(), scale), step=0, seed=rng.check_seed(seed))

    def step(
        self, state: PMCState, target: Target, comm: Communicator = SERIAL
    ) -> tuple[PMCState, PMCInfo]:
        """One step of Algorithm 1 with the streams of (seed, step, proposal)."""
        loc = state.proposals.loc
        sources = rng.streams(state.seed, state.step, len(loc), loc.device)
        return self.step_with(state, target, sources, comm)

    def step_with(
        self,
        state: PMCState,
        target: Target,
        sources: Sequence[rng.Stream],
        comm: Communicator = SERIAL,
    ) -> tuple[PMCState, PMCInfo]:
        """One step of Algorithm 1 with the given streams, one for each proposal."""
        evaluation, step, proposals, n = (
            Evaluation(target),
            state.step + 1,
            state.proposals,
            len(sources),
        )
        watch, own = Stopwatch(proposals.loc.device), comm.blocks(n)
        in_threads = getattr(target, "least_piece", None) is not None
        if in_threads and len(own) == 1:
            own = even_slices(own[0], n_threads())

        def draw(block: slice) -> WeightedSamples:
            """Draws (m, K, D) of a block with the log-densities of their proposals."""
            theta = proposals.take(block).draw(sources[block], self.n_draws)
            log_q = self.weighting(proposals, theta, evaluation.memory, block)
            return WeightedSamples(theta, log_q)

        def weigh(draws: WeightedSamples) -> WeightedSamples:
            log_density = evaluation.log_density(draws.theta)
            return WeightedSamples(draws.theta, log_density - draws.log_weight)

        proposed = mapped(draw, own, parallel=in_threads)
        on_proposals = watch.lap()
        drawn = mapped(weigh, proposed, parallel=in_threads)
        on_target = watch.lap()
        weights = [
            [s.log_weight, rng.uniform(sources[b], 1, like=s.theta)]
            for s, b in zip(drawn, own, strict=True)
        ]
        log_weight, uniforms = comm.gather(n, weights)  # (M, K), (M, 1)
        ancestors = comm.agreed(
            self.resampling(_some_weight(log_weight), uniforms[:, 0], step)
        )  # (M,)
        survivors = _survivors(proposals.loc, ancestors, drawn, own, comm)  # (M, D)
        parts = mapped(
            lambda pair: self._adapted(proposals, survivors, *pair, evaluation, step),
            list(zip(drawn, own, strict=True)),
            parallel=in_threads,
        )
        loc, step_size, rejected, *scale = comm.gather(n, parts)  # (M, D), (M,), (M,), ...
        phases = Phases(on_proposals, on_target, watch.lap(), watch.memory())
        last = Estimate.of(log_weight)
        pooled = last.pooled(state.pooled, state.step, log_weight.numel())
        info = PMCInfo(
            step,
            proposals,
            _joined(drawn),
            log_weight,
            ancestors,
            step_size,
            rejected,
            phases,
            last,
            pooled,
        )
        adapted = Proposals(loc, type(proposals.scale)(*scale))
        return PMCState(adapted, step, state.seed, last, pooled), info

    def prepared(self, target: Target) -> Target:
        """The target itself."""
        return target

    def done(self, state: PMCState) -> bool:
        """Whether enough draws are effective."""
        estimate = state.last if self.keep == "last" else state.pooled
        return self.min_ess is not None and state.step > 0 and estimate.ess >= self.min_ess

    def compact(self, info: PMCInfo) -> PMCInfo:
        """Without proposals and draws, unless they are to be kept."""
        return info._replace(proposals=None, samples=None) if self.keep == "last" else info

    def result(
        self,
        state: PMCState,
        history: Sequence[PMCInfo],
        target: Target,
        comm: Communicator = SERIAL,
    ) -> Result:
        """The weighted draws that `keep` asks for."""
        if not history:
            raise InputError(
                "no step was made: the state has the effective draws asked for already."
            )
        samples = kept_draws(history, self.keep, self.weighting, target.memory, comm)
        return Result(samples, state, tuple(history))

    def _adapted(
        self,
        proposals: Proposals,
        survivors: Tensor,
        samples: WeightedSamples,
        block: slice,
        target: Evaluation,
        step: int,
    ) -> list[Tensor]:
        """Step 2(d) for a block: means, step sizes, rejected covariances, tensors of the scale."""
        before = proposals.scale.take(block)
        scale, rejected = self.scale_step(before, samples, survivors[block], target, step)
        loc, step_size = self.mean_step(survivors[block], scale, target)
        return [loc, step_size, rejected, *scale]


def _survivors(
    loc: Tensor,
    ancestors: Tensor,
    drawn: Sequence[WeightedSamples],
    own: Sequence[slice],
    comm: Communicator,
) -> Tensor:
    """The draws that were chosen (M, D); a proposal without one stays.

    Of a process's own blocks, or of all where resampling crosses blocks.
    """
    n_draws, survivors = drawn[0].log_weight.shape[1], torch.zeros_like(loc)
    parent = torch.div(
        ancestors, n_draws, rounding_mode="floor"
    )  # (M,), the proposal that a survivor was drawn from
    for samples, block in zip(drawn, own, strict=True):
        here = (parent >= block.start) & (parent < block.stop)
        survivors[here] = samples.theta.flatten(0, 1)[ancestors[here] - block.start * n_draws]
    if comm.size > 1 and bool(
        ((parent >= 0) & (parent != torch.arange(len(loc), device=loc.device))).any()
    ):
        survivors = comm.sum(survivors)  # of one process each, the others have zeros
    return torch.where(ancestors[:, None] < 0, loc, survivors)


def _joined(drawn: Sequence[WeightedSamples]) -> WeightedSamples:
    if len(drawn) == 1:
        return drawn[0]
    return WeightedSamples(
        torch.cat([s.theta for s in drawn]), torch.cat([s.log_weight for s in drawn])
    )


def _some_weight(log_weight: Tensor) -> Tensor:
    if (log_weight == -torch.inf).all():
        raise DegenerateWeightsError(
            f"log_density is -inf at all {log_weight.numel()} draws, so no draw has weight. "
            "Start the proposals where the target has mass, or widen sigma."
        )
    return log_weight
