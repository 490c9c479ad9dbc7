"""The paper's algorithm as a way to fit a network: start, T steps, posterior of the last step's draws."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from pmcnet import ais
from pmcnet.ais.sampler import Keep, Observer
from pmcnet.bnn import BayesianTarget, ParticlePosterior
from pmcnet.bnn.overflow import refuse_diverged
from pmcnet.errors import InputError
from pmcnet.methods.base import Fit
from pmcnet.methods.training.loop import Progress, Rows
from pmcnet.methods.training.starts import Restarts, Start

Weights = Literal["exact", "equal"]
REMEDY = "Scale the data, start with a smaller sigma or more epochs, or use the annealed method."


@dataclass(frozen=True, kw_only=True)
class PMCMethod:
    """Population Monte Carlo on a network's posterior.

    Args:
        algorithm: one of `ais.VARIANTS` or any other `ais.PMC`.
        n_proposals: M.
        n_steps: T.
        sigma: standard deviation of the first proposals.
        start: where their means begin.
        keep: whose draws form the posterior; the paper's J = MK draws are those of the "last" step.
        weights: "exact", or "equal" to count every draw once. Where one draw has all the weight, as
            in most deep networks, exact weights make a single network; equal ones a population of
            good modes, which is no posterior either and says so.
    """

    algorithm: ais.PMC = ais.pmcnet
    n_proposals: int = 50
    n_steps: int = 50
    sigma: float = 0.1
    start: Start = Restarts()
    keep: Keep = "last"
    weights: Weights = "exact"

    def __post_init__(self) -> None:
        if self.weights not in get_args(Weights):
            raise InputError(
                f"weights must be one of {', '.join(get_args(Weights))}; got {self.weights!r}."
            )

    def fit(
        self,
        target: BayesianTarget,
        *,
        seed: int,
        validation: Rows | None = None,
        observers: Iterable[Observer] = (),
        progress: Progress | None = None,
        state: ais.PMCState | None = None,
        comm: ais.Communicator = ais.SERIAL,
    ) -> Fit[ais.StepRecord]:
        """Start, run, return the posterior.

        Args:
            target: the posterior to sample.
            seed: decides everything random.
            validation: rows by which starting networks keep their best epoch.
            observers: called with (state, info) after each step.
            progress: told after each epoch of the start.
            state: where to go on from, before the last step; the history then begins there.
            comm: shares the proposals between processes.
        """
        if state is None:
            loc = self.start(
                target,
                self.n_proposals,
                seed=seed,
                validation=validation,
                progress=progress,
                comm=comm,
            )
            state = self.algorithm.init(loc, sigma=self.sigma, seed=seed)
        n_left = self.n_steps - state.step
        result = ais.run(
            self.algorithm,
            target,
            state,
            n_steps=n_left,
            keep=self.keep,
            observers=observers,
            comm=comm,
        )
        posterior = ParticlePosterior(
            target.network, target.likelihood, result.samples, target.memory
        )
        if self.weights == "equal":
            posterior = posterior.equally_weighted()
        refuse_diverged(target, posterior.theta[posterior.samples.weight.flatten() > 0], REMEDY)
        return Fit(posterior, result.history)
