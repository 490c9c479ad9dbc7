"""Laplace's approximation (MacKay, 1992; Daxberger et al., 2021): a Gaussian at a mode of log pi.

theta ~ N(mode, P^-1), P = sum_n J_n^T L_n J_n + prior precision, the Gauss-Newton curvature, either
of the last layer with the others fixed at the mode, or of all. A network is linear in its last
layer, so that draws of the last layer predict what the linearised network predicts; draws of all
layers of a nonlinear network can be far worse than their mode.

A noise scale that is learned is not taken at the mode, where a network that fits every row has none
left: networks and noise are found in turn, the noise at the maximum of the approximation's own
evidence times its prior (MacKay, 1992).
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from scipy.optimize import minimize_scalar  # type: ignore[import-untyped]
from torch import Tensor

from pmcnet.ais.comm import SERIAL, Communicator
from pmcnet.bnn import (
    BayesianTarget,
    Bernoulli,
    Categorical,
    Gaussian,
    GaussianPrior,
    LayerGaussianPrior,
    LearnedGaussian,
    Parameter,
    Population,
)
from pmcnet.errors import InputError
from pmcnet.methods.base import Fit, Observer, Rows
from pmcnet.methods.extras.laplace_precision import gaussian_at
from pmcnet.methods.settings import Choice, choices
from pmcnet.methods.training.adam import default_start
from pmcnet.methods.training.loop import TrainedMethod, Watch
from pmcnet.methods.training.state import EpochInfo, TrainingState, refuse_state
from pmcnet.requirements import Library
from pmcnet.rng import stream

REASON = (
    "Laplace's approximation is a Gaussian at one mode: nothing measures how far it is from the "
    "posterior, which has "
    "other modes and is no Gaussian. Use the annealed method for one that is."
)
MOST_FULL = 2000
"""Coordinates up to which "by-size" takes the whole precision matrix."""
_PER_ROUND = 20  # iterations between two records
_FLAT = 1e-8  # score per row at which a mode is reached
_REACH = 3.0  # how far log sigma may go in one turn


@dataclass(frozen=True, kw_only=True)
class LaplaceMethod(TrainedMethod):
    """Finds a mode by L-BFGS, then draws networks from the Gaussian there.

    Args:
        subset: "last-layer" or "all": whose parameters are uncertain.
        structure: of P: "full", Kronecker-factored by layer ("kron"), "diag", or "by-size": full up
            to 2000 coordinates, else kron.
        n_iterations: of L-BFGS on all rows, at most.
        n_turns: how often network and noise are found in turn, where the noise is learned.
        n_kept: networks drawn.
    """

    subset: Literal["last-layer", "all"] = "last-layer"
    structure: Literal["by-size", "full", "kron", "diag"] = "by-size"
    n_iterations: int = 1000
    n_turns: int = 10
    n_kept: int = 100

    needs_validation = False
    state_types = ()
    library = Library("laplace-torch", "laplace", "laplace")

    @property
    def grid(self) -> tuple[Choice, ...]:
        """Whose parameters are uncertain, and the prior."""
        return choices(subset=("last-layer", "all"), prior_std=(0.3, 1.0, 3.0))

    def summary(self, name: str) -> str:
        """What it is called in full."""
        return "Laplace's approximation at one mode, by laplace-torch"

    def __post_init__(self) -> None:
        if min(self.n_iterations, self.n_turns, self.n_kept) < 1:
            raise InputError("n_iterations, n_turns and n_kept must be at least 1.")

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
        """Find the mode, draw; validation rows are only for the history."""
        self.library.require("laplace")
        refuse_state("laplace", state)
        if not isinstance(target.prior, GaussianPrior | LayerGaussianPrior):
            raise InputError(
                f"laplace needs a Gaussian prior; got {target.prior}. Use --prior gaussian or "
                "layer."
            )
        learned = isinstance(target.likelihood, LearnedGaussian)
        exact = _in_double(target)
        held_out = None if validation is None else (validation[0].double(), validation[1].double())
        n_rounds = -(-self.n_iterations // _PER_ROUND) * (self.n_turns if learned else 1)
        watch = Watch(exact, held_out, n_rounds, observers=observers)
        start = default_start(exact, [stream(seed, 0, 0)])
        mode = (
            self._in_turn(exact, start, watch) if learned else self._mode(exact, start, watch)
        )  # (1, D)
        watch.complete()
        uncertain = self._uncertain(exact)
        source = torch.Generator(exact.device).manual_seed(
            int(stream(seed, 1, 0).host.integers(1 << 62))
        )
        theta = mode.repeat(self.n_kept, 1)
        drawn = self._gaussian(exact, mode, uncertain).sample(self.n_kept, generator=source)
        theta[:, torch.cat([torch.arange(p.start, p.stop) for p in uncertain])] = drawn
        return Fit(
            Population.of(target, theta.to(target.device, target.x.dtype), REASON),
            tuple(watch.history),
        )

    def _mode(self, target: BayesianTarget, start: Tensor, watch: Watch) -> Tensor:
        """A maximum of log pi over the network's parameters, not the likelihood's: (1, D)."""
        theta = start.clone().requires_grad_()
        optimiser = torch.optim.LBFGS(
            [theta],
            max_iter=_PER_ROUND,
            history_size=50,
            tolerance_change=0.0,
            line_search_fn="strong_wolfe",
        )

        def closure() -> Tensor:
            found = target.value_and_score(theta.detach())
            theta.grad = -found.score
            theta.grad[:, target.n_parameters :] = 0.0
            return -found.value[0]

        for _ in range(-(-self.n_iterations // _PER_ROUND)):
            optimiser.step(closure)  # type: ignore[no-untyped-call]
            if watch.validation is not None:
                watch.judge(theta)
            watch.done()
            closure()
            if theta.grad is not None and float(theta.grad.abs().max()) < _FLAT * len(target.x):
                break
        return theta.detach()

    def _in_turn(self, target: BayesianTarget, start: Tensor, watch: Watch) -> Tensor:
        """Network and learned noise in turn, from y's spread, until the noise stays: (1, D)."""
        theta, everything = start.clone(), list(target.network.layout)
        theta[:, -1] = target.y.std().clamp(min=1e-3).log()
        for _ in range(self.n_turns):
            theta = self._mode(target, theta, watch)
            before, theta = float(theta[0, -1]), theta.clone()
            theta[:, -1] = self._log_noise(target, theta, everything)
            if abs(float(theta[0, -1]) - before) < 1e-3:
                break
        return theta

    def _log_noise(
        self, target: BayesianTarget, theta: Tensor, everything: list[Parameter]
    ) -> float:
        """Log sigma at the maximum of evidence and prior, for this network and its curvature."""
        gaussian, now = self._gaussian(target, theta, everything), float(theta[0, -1])

        def loss(log_sigma: float) -> float:
            given = theta.new_tensor([[log_sigma]])
            evidence = gaussian.log_marginal_likelihood(sigma_noise=given[0].exp())
            return -float(evidence + target.likelihood.log_prior(given))

        with torch.no_grad():
            return float(
                minimize_scalar(loss, bounds=(now - _REACH, now + _REACH), method="bounded").x
            )

    def _uncertain(self, target: BayesianTarget) -> list[Parameter]:
        """The parameters that are drawn; the last layer is that of the last weight tensor."""
        layout = list(target.network.layout)
        if self.subset == "all":
            return layout
        layer = [p.name for p in layout if not p.is_bias][-1].rpartition(".")[0]
        return [p for p in layout if p.name.rpartition(".")[0] == layer]

    def _gaussian(self, target: BayesianTarget, theta: Tensor, uncertain: list[Parameter]) -> Any:
        dim = sum(p.stop - p.start for p in uncertain)
        structure = (
            self.structure
            if self.structure != "by-size"
            else "full"
            if dim <= MOST_FULL
            else "kron"
        )
        return gaussian_at(target, theta[0], uncertain, structure, _noise(target, theta[0]))


def _in_double(target: BayesianTarget) -> BayesianTarget:
    """The same target in double precision; a row that counts twice is there twice."""
    x, y = (rows.to(target.device, torch.float64) for rows in (target.x, target.y))
    if target.weight is None:
        return replace(target, x=x, y=y, n_batches=1)
    weight = target.weight.to(target.device)
    count = weight.round().long()
    if not torch.equal(count.to(weight), weight):
        raise InputError(
            "laplace counts rows whole; got fractions as weights. Give whole numbers, or no "
            "weights."
        )
    return replace(
        target,
        x=x.repeat_interleave(count, 0),
        y=y.repeat_interleave(count),
        weight=None,
        n_batches=1,
    )


def _noise(target: BayesianTarget, mode: Tensor) -> float | None:
    """The noise's standard deviation; classes have none."""
    if isinstance(target.likelihood, Bernoulli | Categorical):
        return None
    if isinstance(target.likelihood, Gaussian):
        return target.likelihood.sigma
    if isinstance(target.likelihood, LearnedGaussian):
        return math.exp(float(mode[-1]))
    raise InputError(
        f"laplace knows Bernoulli, categorical and Gaussian likelihoods; got {target.likelihood}. "
        "Use another method."
    )
