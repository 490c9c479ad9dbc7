"""The precision that the energies of trajectories need.

Limited precision affects two things. The energies that a Metropolis test compares decide what is
accepted, so their error must be small. Gradients only propose: imprecise ones are still a function
of the point, so trajectories stay reversible, but with 10 bits they leave the energy's contour, the
farther the more dimensions there are, and are rejected.
"""

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from pmcnet import ais, rng
from pmcnet.ais.hmc.adaptation import BEST_TIME
from pmcnet.ais.hmc.kernel import Kernel, gaussian_step
from pmcnet.bnn import BayesianTarget, ModuleNetwork
from pmcnet.errors import InputError

MOST_ERROR = 0.1
"""Nats by which limited precision may change the energy difference of a trajectory."""
_N_JUDGED = 4  # networks whose energies float64 judges
_N_LED, _N_STEPS = 2, 6  # networks and leapfrog steps by whose energies gradients are judged


def decisive(
    target: BayesianTarget,
    theta: Tensor,
    sigma: Tensor | None = None,
    comm: ais.Communicator = ais.SERIAL,
) -> ais.Path:
    """A path that is precise enough.

    Energies and gradients each have the cheapest precision that is accurate enough: the network's
    own, float32 and, for energies, float64. The path's `precision` says which, and what error is
    left.

    Args:
        target: the posterior.
        theta: networks (P, D) at which errors are measured.
        sigma: standard deviations (D,) that steps are scaled by; without them gradients are not
            measured but in float32.
        comm: whose first process chooses.
    """
    candidates = _cheapest_first(target)
    theta = theta.detach()
    deciding, error = _energies(candidates, theta)
    leading, lead = len(candidates) - 1, 0.0
    if sigma is not None:
        for leading in range(len(candidates)):
            path = _path(candidates, ais.PathPrecision(leading, deciding))
            lead = _leading(target, path, theta, sigma)
            if lead <= MOST_ERROR:
                break
    precision = ais.PathPrecision(leading, deciding, max(error, lead))
    return _path(candidates, precision.agreed(comm))


def as_before(target: BayesianTarget, precision: ais.PathPrecision) -> ais.Path:
    """The path that `decisive` had chosen when a run began."""
    return _path(_cheapest_first(target), precision)


def _path(candidates: list[BayesianTarget], precision: ais.PathPrecision) -> ais.Path:
    leading, deciding = precision.leading, precision.deciding
    if leading >= len(candidates) or deciding > len(candidates):
        raise InputError(
            "these chains were begun with a network of another precision. Go on with that one."
        )
    exact: BayesianTarget | _Doubled | None = None
    if deciding != leading:
        exact = (
            candidates[deciding]
            if deciding < len(candidates)
            else _Doubled(_doubled(candidates[0]))
        )
    captured = not isinstance(candidates[0].network, ModuleNetwork)
    return ais.Path(candidates[leading], exact=exact, captured=captured, precision=precision)


def _energies(candidates: list[BayesianTarget], theta: Tensor) -> tuple[int, float]:
    """Whose log-likelihood is accurate enough, and the largest difference of two errors."""
    truth = _doubled(candidates[0]).log_likelihood(theta[:_N_JUDGED].double())
    for index, candidate in enumerate(candidates):
        wrong = (
            candidate.log_likelihood(theta)[:_N_JUDGED] - truth
        )  # of all, as sampling will ask for it
        error = float(wrong.max() - wrong.min())
        if error <= MOST_ERROR:
            return index, error
    return len(candidates), 0.0


def _cheapest_first(target: BayesianTarget) -> list[BayesianTarget]:
    """The target in its own precision and, where that is another, in float32."""
    network = target.network.in_full_precision()
    return [target] if network is target.network else [target, replace(target, network=network)]


def _leading(target: BayesianTarget, path: ais.Path, theta: Tensor, sigma: Tensor) -> float:
    """How far gradients of the path change the energy of a usual trajectory from float64's.

    Each step adds an error of its own, so that a few steps predict many.
    """
    step = 0.5 * gaussian_step(path.dim)
    noise = rng.standard_normal(
        [rng.stream(0, 0, 0, theta.device)], tuple(theta.shape), like=theta
    )[0]
    gains = []
    for each, few in (
        (path, theta),
        (ais.Path(_doubled(target), captured=False), theta[:_N_LED].double()),
    ):
        points = each.decided(each.start(few))
        kernel = Kernel(each, 1.0, ais.Diagonal(sigma.to(few)[None]))
        steps, none = torch.full_like(few[:, :1], step), theta.new_zeros(len(few))
        moved, _ = kernel.move(
            points, steps, _N_STEPS, noise[: len(few)].to(few.dtype, copy=True), none
        )
        gains.append(moved.gain[:_N_LED])
    error = float((gains[0] - gains[1]).abs().max()) * math.sqrt(BEST_TIME / step / _N_STEPS)
    return error if error == error else math.inf


def _doubled(target: BayesianTarget) -> BayesianTarget:
    weight = None if target.weight is None else target.weight.double()
    network = target.network.in_full_precision()
    return replace(target, x=target.x.double(), y=target.y.double(), weight=weight, network=network)


@dataclass(frozen=True)
class _Doubled:
    """A target in float64 for points that are not."""

    target: BayesianTarget

    @property
    def dim(self) -> int:
        return self.target.dim

    def log_prior(self, theta: Tensor) -> Tensor:
        return self.target.log_prior(theta.double())

    def log_likelihood(self, theta: Tensor) -> Tensor:
        return self.target.log_likelihood(theta.double())

    def sample_prior(self, sources: object, n_draws: int) -> torch.Tensor:
        raise NotImplementedError
