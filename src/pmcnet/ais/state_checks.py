"""What a state from a file must be before a run goes on from it: shapes, types and values."""

import math
from typing import Any

import torch
from torch import Tensor

from pmcnet.ais.annealed.algorithm import AnnealedState
from pmcnet.ais.hmc.adaptation import Tuning
from pmcnet.ais.hmc.chains import ChainState
from pmcnet.ais.path import Arithmetic, Points
from pmcnet.ais.pmc.algorithm import PMCState
from pmcnet.ais.pmc.proposals import Proposals
from pmcnet.ais.scale import Diagonal, Full
from pmcnet.errors import InputError
from pmcnet.rng import check_seed

MOST_STEPS = 1 << 32
MOST_LEAPFROG = 10_000
"""Leapfrog steps of one move; more would keep a run busy for days without a word."""
MOST_ARITHMETIC = 2
"""A network's own, float32 and float64."""
_REAL = (torch.float32, torch.float64)


def check_state(state: Any) -> AnnealedState | PMCState | ChainState:
    """The same state, or an `InputError` that says what is wrong with it."""
    if not isinstance(state, AnnealedState | PMCState | ChainState):
        raise InputError(f"it holds a {type(state).__name__}, not a state.")
    if isinstance(state, AnnealedState):
        _check_annealed(state)
    elif isinstance(state, ChainState):
        _check_chains(state)
    else:
        _check_proposals(state.proposals)
    check_seed(state.seed)
    _check(
        type(state.step) is int and 0 <= state.step < MOST_STEPS,
        "step",
        "a whole number, 0 or more",
    )
    return state


def _check_annealed(state: AnnealedState) -> None:
    _check_points(state.points)
    n = len(state.points.theta)
    _check_tensor(state.log_weight, "log_weight", 1, (n,), (torch.float64,), finite=False)
    total = float(state.log_weight.logsumexp(0))
    _check(abs(total) < 1e-3, "log_weight", f"normalised; the log of their sum is {total:.3g}")
    _check_tensor(state.origin, "origin", 1, (n,), (torch.int64,))
    _check(
        bool(((state.origin >= 0) & (state.origin < n)).all()),
        "origin",
        f"numbers of particles, below {n}",
    )
    _check_number(state.temperature, "temperature", 0, 1)
    _check_number(state.log_evidence, "log_evidence", -math.inf, math.inf)
    _check_number(state.ideal_variance, "ideal_variance", -1e-6, math.inf)
    infinite = state.least_ess == math.inf  # before the first step
    _check(infinite or _within(state.least_ess, 0, math.inf), "least_ess", "a positive number")
    _check_tuning(state.tuning)


def _check_chains(state: ChainState) -> None:
    _check_points(state.points)
    shape, dtype = tuple(state.points.theta.shape), state.points.theta.dtype
    for name in ("sigma", "curvature"):
        _check_tensor(getattr(state, name), name, 1, shape[1:], (dtype,))
    _check(bool((state.sigma > 0).all() and (state.curvature >= 0).all()), "sigma", "positive")
    whole = type(state.n_seen) is int and 0 <= state.n_seen < MOST_STEPS
    _check(whole, "n_seen", "a whole number, 0 or more")
    _check_number(state.log_step, "log_step", -1e3, 1e3)
    _check_number(state.acceptance, "acceptance", 0, 1)
    _check_arithmetic(state.arithmetic)
    kept, values, watched = state.kept, state.log_density, state.monitors
    _check(
        all(isinstance(part, Tensor) for part in (kept, values, watched)),
        "kept and log_density",
        "tensors",
    )
    n_draws, n_chains = len(values), shape[0]
    _check(
        kept.dtype == dtype and tuple(kept.shape[1:]) == shape and kept.ndim == 3,
        "kept",
        "draws of the chains",
    )
    _check(len(kept) in (0, n_draws), "kept", "as many as there are draws, or none")
    double = values.dtype == watched.dtype == torch.float64
    _check(double and values.shape == (n_draws, n_chains), "log_density", "one number per draw")
    _check(
        watched.ndim == 3 and watched.shape[:2] == values.shape, "monitors", "some numbers per draw"
    )
    _check(
        bool(kept.isfinite().all() and watched.isfinite().all() and not values.isnan().any()),
        "kept",
        "finite",
    )
    _check_tuning(state.tuning)


def _check_arithmetic(arithmetic: Any) -> None:
    _check(isinstance(arithmetic, Arithmetic), "arithmetic", "Arithmetic")
    whole = all(type(value) is int and 0 <= value <= MOST_ARITHMETIC for value in arithmetic[:2])
    _check(whole, "leading and deciding", f"whole numbers from 0 to {MOST_ARITHMETIC}")
    _check(
        type(arithmetic.error) is float and arithmetic.error >= 0, "error", "a number, 0 or more"
    )


def _check_points(points: Any) -> None:
    _check(isinstance(points, Points), "points", "Points")
    _check_tensor(points.theta, "theta", 2)
    n, dtype = len(points.theta), points.theta.dtype
    for name in ("prior_score", "likelihood_score"):
        _check_tensor(
            getattr(points, name), name, 2, tuple(points.theta.shape), (dtype,), finite=False
        )
    for name in ("log_prior", "log_likelihood"):
        _check_tensor(getattr(points, name), name, 1, (n,), (torch.float64,), finite=False)
        _check(bool((getattr(points, name) < math.inf).all()), name, "below infinity and not NaN")


def _check_tuning(tuning: Any) -> None:
    _check(isinstance(tuning, Tuning), "tuning", "Tuning")
    _check(
        _within(tuning.step_size, 0, math.inf) and tuning.step_size > 0,
        "step_size",
        "a positive number",
    )
    whole = type(tuning.n_leapfrog) is int and 1 <= tuning.n_leapfrog <= MOST_LEAPFROG
    _check(whole, "n_leapfrog", f"a whole number from 1 to {MOST_LEAPFROG}")


def _check_proposals(proposals: Any) -> None:
    _check(isinstance(proposals, Proposals), "proposals", "Proposals")
    _check_tensor(proposals.loc, "loc", 2)
    shape, dtype, scale = tuple(proposals.loc.shape), (proposals.loc.dtype,), proposals.scale
    if isinstance(scale, Full):
        _check_tensor(scale.factor, "factor", 3, (*shape, shape[1]), dtype)
        _check(
            bool((scale.factor.diagonal(dim1=-2, dim2=-1) > 0).all()),
            "factor",
            "positive on its diagonal",
        )
        _check(not scale.factor.triu(1).any(), "factor", "lower triangular")
    else:
        _check(isinstance(scale, Diagonal), "scale", "Full or Diagonal")
        _check_tensor(scale.sigma, "sigma", 2, shape, dtype)
        _check(bool((scale.sigma > 0).all()), "sigma", "positive")


def _check_tensor(
    tensor: Any,
    name: str,
    n_axes: int,
    shape: tuple[int, ...] | None = None,
    dtypes: tuple[torch.dtype, ...] = _REAL,
    *,
    finite: bool = True,
) -> None:
    """Refuse what is no tensor, has another shape or type, or holds numbers that are not finite."""
    if not isinstance(tensor, Tensor) or tensor.dtype not in dtypes:
        found = tensor.dtype if isinstance(tensor, Tensor) else type(tensor).__name__
        raise InputError(
            f"{name} must be a tensor of {' or '.join(map(str, dtypes))}; got {found}."
        )
    if tensor.ndim != n_axes or 0 in tensor.shape or shape not in (None, tuple(tensor.shape)):
        wanted = f"{shape}" if shape else f"{n_axes} axes"
        raise InputError(f"{name} must be of {wanted}; got {tuple(tensor.shape)}.")
    if finite:
        _check(bool(tensor.isfinite().all()), name, "finite")


def _check_number(value: Any, name: str, least: float, most: float) -> None:
    _check(_within(value, least, most), name, f"a finite number from {least:g} to {most:g}")


def _within(value: Any, least: float, most: float) -> bool:
    return type(value) in (int, float) and math.isfinite(value) and least <= value <= most


def _check(fine: bool, name: str, wanted: str) -> None:
    if not fine:
        raise InputError(f"{name} must be {wanted}.")
