"""Which method a fit uses, with which settings, and why.

"auto" takes annealed where the estimated cost (`methods.cost`) of one batch of islands of the usual
size fits half the budget: a machine may be slower, and islands that are not done say nothing.
Where that is too much, Hamiltonian chains from trained networks need fewer gradients: 8 of them at
least, some 60 gradients to a trajectory. Where that is too much as well, pmcnet-light is left.
Where the rows say much of the network, and most of all where noise differs by row, annealing is
slow, and chains find the posterior in a small part of the time: "auto" goes over to them once the
evidence has shown how much the rows say.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

import torch

from pmcnet.bnn import BayesianTarget
from pmcnet.bnn.likelihoods.response import Noise
from pmcnet.errors import InputError
from pmcnet.methods.base import Method
from pmcnet.methods.cost import Cost
from pmcnet.methods.hmc_options import LEAST_CHAINS, LEAST_TRAJECTORIES, HMCOptions
from pmcnet.methods.registry import options
from pmcnet.methods.settings import Settings, Value

MUCH_INFORMATION: Mapping[str, float] = MappingProxyType({"by-row": 200.0, "learn": 2500.0})
"""Nats that rows say of a network, from which annealing is too slow, by the noise. Islands are done
in the default budget where there are 100 with noise by row (353 rows of diabetes), and not where
there are 270 (1152 rows of wine-red); with one noise level where there are 2000 (691 rows of
energy), and not where there are 9400 (7373 rows of kin8nm)."""
_SURE = 0.5  # of a budget, that one batch of islands of the usual size should take at most
_TOLERANCE = 1.1  # of a budget, up to which nothing is said


class Plan(NamedTuple):
    """The method's name, its settings, in a sentence why it was chosen, and the budget.

    `chains` is the plan that takes its place where rows say much of the network.
    """

    name: str
    options: Settings
    reason: str
    seconds: float
    chains: "Plan | None" = None

    @property
    def method(self) -> Method:
        """The method with these settings."""
        return self.options.method(self.name)

    def for_noise(self, noise: Noise, information: float) -> "Plan":
        """The plan for such noise, and rows that say so much of the network, in nats."""
        much = MUCH_INFORMATION.get(noise, math.inf) if isinstance(noise, str) else math.inf
        return self.chains if self.chains is not None and information > much else self


def seconds_of(budget: float | str, name: str = "budget") -> float:
    """A budget in seconds, from a number or a string like "90s", "3min" or "1.5h".

    Args:
        budget: what was given.
        name: of the setting, for errors.
    """
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
            f'{name} must be positive seconds or a string like "90s", "3min" or "2h"; got '
            f"{budget!r}."
        )
    return seconds


def plan(
    target: BayesianTarget,
    method: str,
    given: Mapping[str, Value],
    *,
    budget: float | str,
    searching: bool,
    compared: bool = False,
) -> Plan:
    """Choose.

    Args:
        target: of the training rows.
        method: a name, or "auto" for annealed where its estimated cost fits half the budget or
            settings of it are given, else hmc where that fits, and pmcnet-light elsewhere.
        given: settings of the method; those of annealed for "auto".
        budget: what may be spent: "auto" chooses by estimated times, and the sizes of
            annealed, hmc, sghmc and pmcnet-light follow from it where they are not given.
        searching: whether the prior's scale is to be searched as well.
        compared: whether methods that can compare priors by small islands do so instead.
    """
    limit = seconds_of(budget)
    cost = Cost.of(target, searching=searching, compared=compared)
    if method != "auto":
        chosen = _within(method, given, cost, limit)
        return Plan(
            method, chosen, f"Method: {method} (requested){_excess(chosen, cost, limit)}.", limit
        )
    annealed = _within("annealed", given, cost, limit)
    seconds = options("annealed", {}, cost.n_rows).seconds(cost.by_comparison)
    assert seconds is not None
    problem = f"{target.dim} parameters on {cost.n_rows} rows"
    run = f"one batch of islands with {problem}"
    if given:
        why = f"its settings were given{_excess(annealed, cost, limit)}"
        return Plan("annealed", annealed, f"Method: annealed; {why}.", limit)
    if seconds <= _SURE * limit:
        why = (
            f"{run} should take about {span(seconds)}; more follow within the budget of "
            f"{span(limit)} until predictions are known"
        )
        chains = _chains(cost, limit)
        return Plan("annealed", annealed, f"Method: annealed; {why}.", limit, chains)
    spent = f"take about {span(seconds)}, more than half the budget of {span(limit)}"
    each = replace(HMCOptions(), n_chains=LEAST_CHAINS).trajectory_seconds(cost)
    if limit / cost.by_comparison.times / each >= LEAST_TRAJECTORIES:
        hmc = _within("hmc", {}, cost, limit)
        why = f"chains, since {run} would {spent}{_excess(hmc, cost, limit)}"
        return Plan("hmc", hmc, f"Method: hmc; {why}; raise the budget for annealed.", limit)
    light = _within("pmcnet-light", {}, cost, limit)
    why = f"{run} would {spent}; raise the budget for a posterior: hmc, or annealed"
    return Plan("pmcnet-light", light, f"Method: pmcnet-light; {why}.", limit)


def _chains(cost: Cost, limit: float) -> Plan:
    """For rows that say much."""
    chains = _within("hmc", {}, cost, limit)
    why = "the rows are so informative that chains take less time than annealing"
    return Plan("hmc", chains, f"Method: hmc, not annealed; {why}.", limit)


def _within(name: str, given: Mapping[str, Value], cost: Cost, seconds: float) -> Settings:
    """The settings of a method, with the sizes that are not given from the budget."""
    chosen = options(name, given, cost.n_rows)
    sizes = {key: size for key, size in chosen.within(cost, seconds).items() if key not in given}
    return replace(chosen, **sizes)


def _excess(chosen: Settings, cost: Cost, limit: float) -> str:
    """What to say where a fit should take more than the budget."""
    seconds = chosen.seconds(cost)
    if seconds is None or seconds <= _TOLERANCE * limit:
        return ""
    spent = f"about {span(seconds)}, more than the budget of {span(limit)}"
    sizes = _sizes(chosen)
    return f"; {f'with {sizes} ' * bool(sizes)}it should take {spent}"


def _sizes(chosen: Settings) -> str:
    return " and ".join(f"{name} {vars(chosen)[name]}" for name in chosen.largest)


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


def span(seconds: float) -> str:
    """A time for people to read."""
    if seconds < 100:
        return f"{seconds:.0f} s" if seconds >= 1 else f"{seconds:.1g} s"
    return f"{seconds / 60:.0f} min"
