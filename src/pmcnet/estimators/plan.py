"""Which method a fit uses, with which settings, and why.

The cost of an annealed run is estimated from sizes alone, so that the choice depends on the data's
shape and the kind of device and not on how busy the machine is: one gradient of one network takes N
(units * A + parameters * 6 / F) seconds, with A and F measured on two CPU cores and on one H200
(docs/estimators.md), and a run takes about 4 N gradients, at least 500 and at most 2500 (measured
between 400 and 8000; docs/estimators.md). Where that is too much, Hamiltonian chains from trained
networks need fewer: 8 of them, some 60 gradients to a trajectory. A step of PMCnet-light takes M K
values, a third of a gradient each, and some three gradients of M networks; a step of sghmc one
gradient of a batch for each chain, and two to three times what a leapfrog step takes beside its
gradient.
"""

import math
import re
from collections.abc import Mapping
from typing import NamedTuple

import torch

from pmcnet.bnn import MLP, BayesianTarget
from pmcnet.errors import InputError
from pmcnet.methods.registry import (
    LIGHT,
    TRAINED,
    AnnealedOptions,
    HMCOptions,
    Options,
    Value,
    options,
)

MOST_PARTICLES = 1000
LEAST_PARTICLES = 64
N_SEARCH = 64
"""Particles of each trial of the prior's scale."""
N_TRIALS = 4
N_VALIDATED = 6
"""Fits of a search of the prior's scale on validation rows."""
N_CHAINS = 8
GRADIENTS_PER_TRAJECTORY = 60
LEAST_TRAJECTORIES = 40
MOST_TRAJECTORIES = 400
LEAST_EPOCHS = 40
MOST_EPOCHS = 2000
MOST_STEPS = 20_000
"""On mini-batches, or as many as the epochs have if that is more."""
_SEARCHING = 4.0  # times the cost of a run, where the prior's scale is searched with shorter ones
SEARCH_ROWS = 1000
"""Rows, at most, on which the prior's scale is searched: it depends little on how many there are."""


class _Speed(NamedTuple):
    """Seconds per unit of a layer and row, operations per second, and seconds of a leapfrog step on no rows."""

    per_unit: float
    rate: float
    per_step: float


_SPEEDS = {"cpu": _Speed(3.2e-9, 1.5e11, 5e-4), "cuda": _Speed(3e-11, 1e13, 5e-4)}
_OTHER = _Speed(3.2e-9, 1.5e11, 5e-4)
_PER_STEP_OF_BATCHES = 2.5
_PER_STEP_OF_ADAM = 1.5


class Plan(NamedTuple):
    """The method's name, its settings, and in a sentence why it was chosen."""

    name: str
    options: Options
    reason: str


def seconds_of(budget: float | str) -> float:
    """A budget in seconds, from a number or a text like "90s", "3min" or "1.5h"."""
    units = {"s": 1.0, "min": 60.0, "h": 3600.0}
    if isinstance(budget, int | float) and not isinstance(budget, bool) and 0 < budget < math.inf:
        return float(budget)
    match = (
        re.fullmatch(r"\s*([0-9.]+)\s*(s|min|h)\s*", budget) if isinstance(budget, str) else None
    )
    try:
        seconds = float(match[1]) * units[match[2]] if match else 0.0
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < math.inf:
        raise InputError(
            f'budget must be positive seconds or a text like "90s", "3min" or "2h"; got {budget!r}.'
        )
    return seconds


def _speed(target: BayesianTarget) -> _Speed:
    return _SPEEDS.get(target.device.type, _OTHER)


def gradient_seconds(target: BayesianTarget, n_rows: float) -> float:
    """About how long the gradient of one network on `n_rows` rows takes."""
    speed, network = _speed(target), target.network
    n_units = sum(network.sizes[1:]) if isinstance(network, MLP) else network.numbers_per_input / 4
    return n_rows * (n_units * speed.per_unit + target.dim * 6 / speed.rate)


def n_gradients(n_rows: int) -> int:
    """About how many batches of gradients an annealed run takes."""
    return min(max(500, 4 * n_rows), 2500)


def plan(
    target: BayesianTarget,
    method: str,
    given: Mapping[str, Value],
    *,
    budget: float | str,
    searching: bool,
) -> Plan:
    """Choose.

    Args:
        target: of the training rows.
        method: a name, or "auto" for annealed where its estimated cost fits the budget or settings
            of it are given, else hmc where that does, and pmcnet-light elsewhere.
        given: settings of the method; those of annealed for "auto".
        budget: what may be spent, in estimated time: "auto" chooses by it, and the sizes of
            annealed, hmc, sghmc and pmcnet-light follow from it where they are not given.
        searching: whether the prior's scale is to be searched as well.
    """
    limit = seconds_of(budget)
    n_rows = len(target.x)
    if method == "hmc":
        return _chains(target, given, limit, "hmc was asked for", searching=searching)
    if method not in ("auto", "annealed"):
        sizes = _sizes(target, method, given, limit / (_SEARCHING if searching else 1.0))
        return Plan(method, options(method, {**sizes, **given}, n_rows), f"{method} was asked for.")
    per_particle = gradient_seconds(target, n_rows) * n_gradients(n_rows)
    small = min(n_rows, SEARCH_ROWS)
    search = (
        N_TRIALS * N_SEARCH * gradient_seconds(target, small) * n_gradients(small)
        if searching
        else 0.0
    )
    affordable = (limit - search) / per_particle  # particles
    n_particles = min(max(int(affordable) // 8 * 8, LEAST_PARTICLES), MOST_PARTICLES)
    chosen = options("annealed", {"n_particles": n_particles, **given}, n_rows)
    assert isinstance(chosen, AnnealedOptions)
    if method == "annealed":
        return Plan("annealed", chosen, "annealed was asked for.")
    run = f"an annealed run of {target.dim} parameters on {n_rows} rows with {chosen.n_particles} particles"
    cost = _span(search + chosen.n_particles * per_particle)
    if chosen.n_particles <= affordable:
        return Plan(
            "annealed",
            chosen,
            f"{run} should take about {cost}, within the budget of {_span(limit)}.",
        )
    if given:
        why = f"{run} should take about {cost}, more than the budget of {_span(limit)}; its settings were given."
        return Plan("annealed", chosen, why)
    why = f"{run} would take about {cost}, more than the budget of {_span(limit)}, so"
    times, few = _SEARCHING if searching else 1.0, {"n_chains": N_CHAINS}
    if limit / times / _per_trajectory(target, _hmc_options(few, n_rows)) >= LEAST_TRAJECTORIES:
        chains = _chains(
            target, few, limit, f"{why} {N_CHAINS} chains of hmc were used", searching=searching
        )
        return chains._replace(
            reason=f"{chains.reason.removesuffix('.')}; raise the budget for annealed."
        )
    limit /= times
    reason = f"{why} pmcnet-light was used; raise the budget for a posterior: hmc, or annealed."
    return Plan(
        "pmcnet-light",
        options("pmcnet-light", _sizes(target, "pmcnet-light", {}, limit), n_rows),
        reason,
    )


def _chains(
    target: BayesianTarget, given: Mapping[str, Value], limit: float, why: str, *, searching: bool
) -> Plan:
    """Chains of hmc, of as many trajectories as fit so many seconds, their networks to start from included."""
    chosen = _hmc_options(given, len(target.x))
    times, n_fits = (_SEARCHING, 1 + N_VALIDATED) if searching else (1.0, 1)
    before, per_trajectory = (
        n_fits * _before_chains(target, chosen),
        times * _per_trajectory(target, chosen),
    )
    n = int(max(0.0, limit - before) / per_trajectory / (1 + chosen.thin))
    n = min(max(n, LEAST_TRAJECTORIES // 2), MOST_TRAJECTORIES // 2)
    chosen = _hmc_options({"n_warmup": n, "n_draws": n, **given}, len(target.x))
    n_trajectories = chosen.n_warmup + chosen.thin * chosen.n_draws
    seconds = before + per_trajectory * n_trajectories
    if seconds > 1.1 * limit:
        cost = f"{n_trajectories} trajectories and what comes before them should take about {_span(seconds)}"
        why = f"{why}; {cost}, more than the budget of {_span(limit)}"
    return Plan("hmc", chosen, f"{why}.")


def _hmc_options(given: Mapping[str, Value], n_rows: int) -> HMCOptions:
    chosen = options("hmc", given, n_rows)
    assert isinstance(chosen, HMCOptions)
    return chosen


def _per_trajectory(target: BayesianTarget, chosen: HMCOptions) -> float:
    """Seconds of one trajectory of all chains."""
    per_step = _speed(target).per_step + chosen.n_chains * gradient_seconds(target, len(target.x))
    return min(GRADIENTS_PER_TRAJECTORY, chosen.max_leapfrog) * per_step


def _before_chains(target: BayesianTarget, chosen: HMCOptions) -> float:
    """Seconds of the networks that chains of hmc start from, and of their walk."""

    def seconds(n_epochs: int, n_rows: int, per_step: float) -> float:
        step = per_step * _speed(target).per_step + chosen.n_chains * gradient_seconds(
            target, n_rows
        )
        return n_epochs * math.ceil(len(target.x) / n_rows) * step

    start = seconds(chosen.n_epochs, chosen.batch_size, _PER_STEP_OF_ADAM)
    return start + seconds(chosen.walk_epochs, 10 * chosen.batch_size, _PER_STEP_OF_BATCHES)


def _sizes(
    target: BayesianTarget, method: str, given: Mapping[str, Value], limit: float
) -> dict[str, Value]:
    """The sizes that fit so many seconds: epochs of sghmc, steps of pmcnet-light."""
    if method == "sghmc":
        n_chains, n_rows = (
            _number(given.get(name), getattr(TRAINED["sghmc"], name))
            for name in ("n_chains", "batch_size")
        )
        n_rows, n_batches = min(n_rows, len(target.x)), math.ceil(len(target.x) / n_rows)
        step = _PER_STEP_OF_BATCHES * _speed(target).per_step + n_chains * gradient_seconds(
            target, n_rows
        )
        most = max(MOST_EPOCHS, MOST_STEPS // n_batches)
        return {"n_epochs": min(max(int(limit / (step * n_batches)), LEAST_EPOCHS), most)}
    if method == "pmcnet-light":
        n_proposals, n_draws = (
            _number(given.get(name), getattr(LIGHT, name)) for name in ("n_proposals", "n_draws")
        )
        step = n_proposals * (n_draws / 3 + 3) * gradient_seconds(target, len(target.x))
        return {"n_steps": min(max(1, int(limit / step)), LIGHT.n_steps)}
    return {}


def _number(value: Value | None, default: int) -> float:
    """The value where it is a positive number; what else is given is refused with the other settings."""
    usable = isinstance(value, int | float) and not isinstance(value, bool) and value > 0
    return float(value) if usable else float(default)  # type: ignore[arg-type]


def resolve_device(name: str) -> torch.device:
    """The device of that name; "auto" is the GPU where torch finds one, else the CPU."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        float(torch.zeros(1, device=device))
    except (RuntimeError, AssertionError, TypeError, NotImplementedError) as error:
        raise InputError(
            f"device {name!r} cannot be used here; use auto, cpu, or cuda with a GPU."
        ) from error
    return device


def _span(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s" if seconds >= 1 else f"{seconds:.1g} s"
    return f"{seconds / 60:.0f} min"
