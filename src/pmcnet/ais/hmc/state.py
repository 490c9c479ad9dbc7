"""What a trajectory of every chain needs, and what it reports."""

import math
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor

from pmcnet.ais.agreement import Agreement
from pmcnet.ais.hmc.adaptation import Tuning
from pmcnet.ais.hmc.kernel import Transition
from pmcnet.ais.path import PathPrecision, Points
from pmcnet.io.state_checks import check_number, check_place, check_tensor, check_whole, require


class ChainState(NamedTuple):
    """What the next trajectory needs, so that a run can be stopped and continued after any.

    `points` are the chains, `sigma` (D,) the preconditioner's standard deviations, `curvature` (D,)
    the mean of `n_seen` squared scores, `tuning` step size and length, `log_step` the mean of the
    last log step sizes of the warm-up. `kept` (K, P, D) are the draws so far, `log_density` (K, P)
    is log pi there, and `monitors` (K, P, S) what they predict for a few rows. `acceptance` is the
    mean over the trajectories since the warm-up, `precision` the path's. `agreement` says how far
    the chains agree by the draws so far, `seconds` what the trajectories took, and `ended` whether
    no more are wanted.
    """

    points: Points
    sigma: Tensor
    curvature: Tensor
    n_seen: int
    tuning: Tuning
    log_step: float
    kept: Tensor
    log_density: Tensor
    monitors: Tensor
    acceptance: float
    precision: PathPrecision
    agreement: Agreement
    seconds: float
    ended: bool
    step: int
    seed: int

    @staticmethod
    def stored_types() -> tuple[type[Any], ...]:
        """What a state in a file is made of."""
        return (Points, Tuning, PathPrecision, Agreement)

    def check(self) -> None:
        """Refuse a state that no run has written."""
        check_place(self.step, self.seed)
        kinds = {"points": Points, "tuning": Tuning, "precision": PathPrecision}
        for name, kind in (kinds | {"agreement": Agreement, "ended": bool}).items():
            require(isinstance(getattr(self, name), kind), name, kind.__name__)
        self.points.check()
        self.tuning.check()
        self.precision.check()
        self.agreement.check()
        check_number(self.seconds, "seconds", 0, math.inf)
        shape, dtype = tuple(self.points.theta.shape), self.points.theta.dtype
        for name in ("sigma", "curvature"):
            check_tensor(getattr(self, name), name, 1, shape[1:], (dtype,))
        positive = bool((self.sigma > 0).all() and (self.curvature >= 0).all())
        require(positive, "sigma", "positive")
        check_whole(self.n_seen, "n_seen")
        check_number(self.log_step, "log_step", -1e3, 1e3)
        check_number(self.acceptance, "acceptance", 0, 1)
        self._check_draws(shape, dtype)

    def _check_draws(self, shape: tuple[int, ...], dtype: torch.dtype) -> None:
        kept, values, watched = self.kept, self.log_density, self.monitors
        tensors = all(isinstance(part, Tensor) for part in (kept, values, watched))
        require(tensors, "kept and log_density", "tensors")
        fits = kept.dtype == dtype and kept.ndim == 3 and tuple(kept.shape[1:]) == shape
        require(fits, "kept", "draws of the chains")
        require(len(kept) in (0, len(values)), "kept", "as many as there are draws, or none")
        double = values.dtype == watched.dtype == torch.float64
        require(
            double and values.shape == (len(values), shape[0]), "log_density", "one number per draw"
        )
        fits = watched.ndim == 3 and watched.shape[:2] == values.shape
        require(fits, "monitors", "some numbers per draw")
        finite = kept.isfinite().all() and watched.isfinite().all() and not values.isnan().any()
        require(bool(finite), "kept", "finite")


class ChainInfo(NamedTuple):
    """What a person wants to know about one trajectory of every chain.

    `warming` says whether it belongs to the warm-up; `log_density` and `acceptance` are means over
    the chains. `error` and `error_upper` are the errors of what the draws so far predict, at the
    median row and at the 90th percentile, infinite where they were not measured.
    """

    step: int
    warming: bool
    log_density: float
    acceptance: float
    step_size: float
    n_leapfrog: int
    n_divergences: int
    error: float = math.inf
    error_upper: float = math.inf
    seconds: float = 0.0

    @classmethod
    def of(cls, state: ChainState, moved: Transition, length: int, *, warming: bool) -> Self:
        """What a trajectory of so many leapfrog steps did, from the state before it."""
        return cls(
            step=state.step + 1,
            warming=warming,
            log_density=float(moved.points.log_density(1.0).mean()),
            acceptance=float(moved.acceptance.mean()),
            step_size=state.tuning.step_size,
            n_leapfrog=length,
            n_divergences=int(moved.divergent.sum()),
        )

    def line(self) -> dict[str, Any]:
        """The trajectory as plain data; an error that is unknown is left out."""
        known = self._asdict()
        for name in ("error", "error_upper"):
            if not math.isfinite(known[name]):
                del known[name]
        return known
