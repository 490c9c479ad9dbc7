"""Metropolis-corrected Hamiltonian moves of a population, one batch of gradients per leapfrog step.

    v = C^(1/2) z, then per step
    v <- v + (e/2) C score(theta);  theta <- theta + e v;  v <- v + (e/2) C score(theta)

with z ~ N(0, I) and C the preconditioner's covariance, is leapfrog integration with mass matrix
C^-1; a trajectory is accepted with probability min(1, exp(H_before - H_after)), H = -log pi +
p^T v / 2 with the momentum p = C^-1 v (Neal, 2011). One step is MALA. The momentum is followed
beside the velocity, p <- p + (e/2) score: then C^-1 is needed at the start alone.
"""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

import torch
from torch import Tensor

from pmcnet.ais.hmc.inverse_mass import InverseMass
from pmcnet.ais.path import Path, Points
from pmcnet.ais.tiling import in_groups
from pmcnet.errors import InputError

DIVERGENT = 1000.0
"""Energy error from which a trajectory counts as divergent."""
MAX_WATCHED = 1024
"""Coordinates whose jumps decide how long trajectories are."""


class Transition(NamedTuple):
    """A population after one move, with probabilities of `acceptance` (P,) and `gain` (P,).

    The gain is the energy before a trajectory less that after it, 0 for exact integration.
    """

    points: Points
    acceptance: Tensor
    gain: Tensor

    @property
    def divergent(self) -> Tensor:
        """Which trajectories were (P,)."""
        return self.gain < -DIVERGENT


class Move(Protocol):
    """A family of trajectories: how long, and how often they are to be accepted."""

    @property
    def target_acceptance(self) -> float:
        """The mean acceptance that the step size is tuned to."""
        ...

    def first_length(self) -> int:
        """Leapfrog steps before anything is known."""
        ...

    def length(self, tuned: int, u: float) -> int:
        """Leapfrog steps of one move, from the tuned number and a uniform number."""
        ...

    @property
    def tunes_length(self) -> bool:
        """Whether the sampler chooses the length."""
        ...


@dataclass(frozen=True)
class HMC:
    """Hamiltonian trajectories of jittered length.

    Args:
        n_leapfrog: steps per trajectory, or "auto": as many as decorrelate at the least cost.
        jitter: lengths vary uniformly by this share, so that no period of the target resonates.
        target_acceptance: mean acceptance at the tuned step size, the largest that moves use.
    """

    n_leapfrog: int | Literal["auto"] = "auto"
    jitter: float = 0.3
    target_acceptance: float = 0.75

    def __post_init__(self) -> None:
        whole = (
            isinstance(self.n_leapfrog, int)
            and not isinstance(self.n_leapfrog, bool)
            and self.n_leapfrog >= 1
        )
        if self.n_leapfrog != "auto" and not whole:
            raise InputError(
                f'n_leapfrog must be a positive whole number or "auto"; got {self.n_leapfrog!r}.'
            )
        if not 0 <= self.jitter < 1:
            raise InputError(f"jitter must lie in [0, 1); got {self.jitter}.")
        _check_acceptance(self.target_acceptance)

    @property
    def tunes_length(self) -> bool:
        """Whether the length is "auto"."""
        return self.n_leapfrog == "auto"

    def first_length(self) -> int:
        """The given number, or 8."""
        return 8 if self.n_leapfrog == "auto" else self.n_leapfrog

    def length(self, tuned: int, u: float) -> int:
        """Uniform within the jitter around the tuned number."""
        return max(1, round(tuned * (1 + self.jitter * (2 * u - 1))))


@dataclass(frozen=True)
class MALA:
    """The Metropolis-adjusted Langevin algorithm: one leapfrog step per move."""

    target_acceptance: float = 0.574
    tunes_length = False

    def __post_init__(self) -> None:
        _check_acceptance(self.target_acceptance)

    def first_length(self) -> int:
        """1."""
        return 1

    def length(self, tuned: int, u: float) -> int:
        """1."""
        return 1


def _check_acceptance(value: float) -> None:
    if not 0 < value < 1:
        raise InputError(f"target_acceptance must lie in (0, 1); got {value}.")


class Kernel:
    """Trajectories at one inverse temperature with one preconditioner, both fixed.

    The preconditioner has a covariance for each of `n_groups` equal groups of consecutive
    particles.
    """

    def __init__(self, path: Path, beta: float, mass: InverseMass) -> None:
        self.path, self.beta, self.mass, self.n_groups = path, beta, mass, mass.n_groups

    def move(
        self,
        points: Points,
        step: Tensor,
        n_leapfrog: int,
        noise: Tensor,
        uniforms: Tensor,
        *,
        watched: bool = False,
    ) -> tuple[Transition, Tensor]:
        """Move every particle once.

        Args:
            points: where they are.
            step: step size of each (P, 1).
            n_leapfrog: steps of this trajectory, the same for all.
            noise: standard normal (P, D).
            uniforms: (P,), for the Metropolis test.
            watched: whether squared jumps of coordinates (see `watched_part`) are measured too.

        Returns:
            The population after the move, and the mean squared jump of each coordinate that a move
            of 1, 2, ... steps would have made in each group, particles weighted by their acceptance
            there: (G, L, S), (G, 0, 0) where they are not watched.
        """
        motion = _Motion(*(part.flatten(0, 1) for part in self.mass.launch(self._grouped(noise))))
        before = points.log_density(self.beta) - motion.kinetic_energy  # -H
        half, here, jumps = 0.5 * step, points, []
        first = watched_part(points.theta) if watched else None  # (P, S)
        force = self._force(here)
        kick = half  # those of two steps that meet are one, unless the energy between is wanted
        for last in range(1, n_leapfrog + 1):
            motion = motion.kicked(force, kick)
            here = self.path.at(torch.addcmul(here.theta, step, motion.velocity))
            if last == n_leapfrog:
                here = self.path.decided(here)
            force, kick = self._force(here), step
            if first is None and last < n_leapfrog:
                continue
            motion, kick = motion.kicked(force, half), half
            gain = here.log_density(self.beta) - motion.kinetic_energy - before
            # an infinite density is no density: reject such points like those that are NaN
            gain = torch.where(gain.isnan() | (here.log_likelihood == torch.inf), -torch.inf, gain)
            acceptance = gain.clamp(max=0).exp()
            if first is not None:
                jumps.append(self._jump(first, here.theta, acceptance))
        moved = Transition(here.where(uniforms < acceptance, points), acceptance, gain)
        return moved, torch.stack(jumps, dim=1) if jumps else noise.new_empty(self.n_groups, 0, 0)

    def monitors(self, points: Points) -> Tensor:
        """Log-likelihood, log-prior and the target's monitors (P, 2 + S), float64."""
        values = torch.stack([points.log_likelihood, points.log_prior], dim=1)
        return torch.cat([values, self.path.monitor(points.theta).double()], dim=1)

    def _jump(self, first: Tensor, theta: Tensor, acceptance: Tensor) -> Tensor:
        """Mean squared jump of coordinates from their first values in each group (G, S)."""
        square = (watched_part(theta) - first).square()  # (P, S)
        weight = acceptance[:, None].to(square.dtype)
        return self._grouped(torch.where(weight > 0, weight * square, 0.0)).mean(1)

    def _grouped(self, value: Tensor) -> Tensor:
        return in_groups(value, self.n_groups)

    def _force(self, points: Points) -> "_Motion":
        """What changes a motion per unit of time: C score and the score."""
        score = points.score(self.beta)
        return _Motion(self.mass.multiply(self._grouped(score)).flatten(0, 1), score)


class _Motion(NamedTuple):
    """Velocities v and momenta C^-1 v of P particles, or their derivatives by time: (P, D)."""

    velocity: Tensor
    momentum: Tensor

    def kicked(self, force: "_Motion", step: Tensor) -> "_Motion":
        """After times (P, 1)."""
        return _Motion(
            torch.addcmul(self.velocity, step, force.velocity),
            torch.addcmul(self.momentum, step, force.momentum),
        )

    @property
    def kinetic_energy(self) -> Tensor:
        """p^T v / 2 (P,), summed in float64: of many coordinates float32 is off by nats."""
        return 0.5 * (self.momentum * self.velocity).sum(-1, dtype=torch.float64)


def watched_part(theta: Tensor) -> Tensor:
    """The coordinates by which the length of trajectories is tuned, at most 1024: (P, S)."""
    return theta[:, :: -(-theta.shape[1] // MAX_WATCHED)]


def gaussian_step(dim: int) -> float:
    """A first step size for D whitened coordinates; acceptance then depends little on D."""
    return min(1.0, 1.5 / math.sqrt(math.sqrt(dim)))
