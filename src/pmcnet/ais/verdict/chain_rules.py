"""The verdict on parallel chains: whether they agree, have settled, and have moved."""

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from scipy.special import stdtrit  # type: ignore[import-untyped]

from pmcnet.ais.agreement import Agreement
from pmcnet.ais.verdict.island_rules import error_limits, error_rules, stated
from pmcnet.ais.verdict.limits import (
    DRIFT_LEVEL,
    LEAST_GROUPS,
    MAX_RHAT,
    MIN_ACCEPTANCE,
    MIN_CHAIN_DRAWS,
    MIN_ESS,
    SEPARATE_RHAT,
)
from pmcnet.ais.verdict.rules import Rule, Verdict, first_broken

if TYPE_CHECKING:
    from pmcnet.ais.hmc.result import ChainResult

LONGER_CHAINS = "Run longer: more warm-up, more draws."


def chain_verdict(result: "ChainResult", agreement: Agreement | None = None) -> Verdict:
    """Judge parallel chains by whether they agree, have settled, and have moved.

    Args:
        result: draws of the chains.
        agreement: how far the chains agree in what they predict, each as an island of its own;
            without it, R-hat of the monitored quantities must be near 1.
    """
    n_chains = result.log_density.shape[1]
    limits = {
        "acceptance": MIN_ACCEPTANCE,
        "drift": max_chain_drift(n_chains),
        "rhat": MAX_RHAT,
        "separation": SEPARATE_RHAT,
        "draws": float(MIN_CHAIN_DRAWS),
    }
    if len(result.log_density) < MIN_CHAIN_DRAWS:
        few = f"there are {len(result.log_density)} draws of each chain, too few to judge"
        return Verdict("degenerate", f"{few}. {LONGER_CHAINS}", limits)
    agree = f"R-hat of the predictions is {result.rhat:.3f}, {result.ess:.0f} draws are effective"
    if agreement is None or n_chains < LEAST_GROUPS:
        limits["ess"] = MIN_ESS
        rules = (*_chain_rules(result, limits), *_agreeing_rules(result))
        return first_broken(iter(rules), f"{agree}, and log pi does not drift.", limits)
    limits |= error_limits(agreement)
    rules = (*_chain_rules(result, limits), *error_rules(agreement, "chains", LONGER_CHAINS))
    known = f"{stated(agreement)}, by the disagreement of {n_chains} chains"
    return first_broken(iter(rules), f"{known}, and log pi does not drift.", limits)


def max_chain_drift(n_chains: int) -> float:
    """Standard errors by which log pi of stationary chains may differ: Student's quantile."""
    return float(stdtrit(n_chains - 1, 1 - DRIFT_LEVEL / 2)) if n_chains > 1 else math.inf


def _chain_rules(result: "ChainResult", limits: Mapping[str, float]) -> Iterator[Rule]:
    yield Rule(
        not result.separation < SEPARATE_RHAT,
        "degenerate",
        f"chains are in different places (R-hat {result.separation:.3g}, which should be near 1 "
        f"and is above {SEPARATE_RHAT:g}), so nothing can be said",
        LONGER_CHAINS,
    )
    yield Rule(
        not result.acceptance > MIN_ACCEPTANCE,
        "doubtful",
        f"only {result.acceptance:.0%} of the trajectories were accepted",
        LONGER_CHAINS,
    )
    yield Rule(
        abs(result.drift) > limits["drift"],
        "doubtful",
        f"log pi still drifts, by {result.drift:.1f} standard errors over the draws: the chains "
        "had not reached the posterior when the draws began",
        LONGER_CHAINS,
    )
    yield Rule(
        not result.log_density_rhat < MAX_RHAT,
        "doubtful",
        f"log pi of single chains has not settled (R-hat {result.log_density_rhat:.3f} about "
        f"their means, which should be below {MAX_RHAT}): they still drift, or move too slowly",
        LONGER_CHAINS,
    )


def _agreeing_rules(result: "ChainResult") -> Iterator[Rule]:
    yield Rule(
        not result.rhat < MAX_RHAT,
        "doubtful",
        f"chains differ in what they predict (R-hat {result.rhat:.3f}, which should be below "
        f"{MAX_RHAT}), so each knows a part of the posterior",
        LONGER_CHAINS,
    )
    yield Rule(
        result.ess < MIN_ESS,
        "doubtful",
        f"{result.ess:.0f} draws are effective; {MIN_ESS:.0f} are needed",
        LONGER_CHAINS,
    )
