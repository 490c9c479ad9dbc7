"""The verdict on parallel chains: whether they agree, have settled, and have moved."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from scipy.special import stdtrit  # type: ignore[import-untyped]

from pmcnet.ais.agreement import Agreement
from pmcnet.ais.verdict.island_rules import error_limits, error_rules, is_known, stated
from pmcnet.ais.verdict.limits import (
    DRIFT_LEVEL,
    LASTING_RHAT,
    LEAST_GROUPS,
    MAX_GROUP_DRIFT,
    MAX_RHAT,
    MAX_SHIFT,
    MIN_ACCEPTANCE,
    MIN_CHAIN_DRAWS,
    MIN_ESS,
    MIXED_RHAT,
    SEPARATE_RHAT,
    SIGNIFICANT_DRIFT,
    STUCK_RHAT,
)
from pmcnet.ais.verdict.rules import Rule, Verdict, first_broken

if TYPE_CHECKING:
    from pmcnet.ais.hmc.result import ChainResult

LONGER_CHAINS = "Run longer: more warm-up, more draws."
WEIGHED_MODES = "Use method='annealed', whose islands weigh modes, if you can afford its time."


def chain_verdict(result: "ChainResult", agreement: Agreement | None = None) -> Verdict:
    """Judge parallel chains by whether they agree, have settled, and have moved.

    Args:
        result: draws of the chains.
        agreement: how far the chains agree in what they predict, in groups that count as islands;
            without it, R-hat of the monitored quantities must be near 1.
    """
    n_chains = result.log_density.shape[1]
    limits = {
        "acceptance": MIN_ACCEPTANCE,
        "drift": max_chain_drift(n_chains),
        "rhat": MAX_RHAT,
        "separation": SEPARATE_RHAT,
        "stuck": STUCK_RHAT,
        "fit_drift": MAX_GROUP_DRIFT,
        "draws": float(MIN_CHAIN_DRAWS),
    }
    if len(result.log_density) < MIN_CHAIN_DRAWS:
        few = f"there are {len(result.log_density)} draws of each chain, too few to judge"
        return Verdict("degenerate", f"{few}. {LONGER_CHAINS}", limits)
    agree = f"R-hat of the predictions is {result.rhat:.3f}, {result.ess:.0f} draws are effective"
    if agreement is None or n_chains < LEAST_GROUPS:
        limits["ess"] = MIN_ESS
        rules = (
            _apart(result.separation),
            _moved(result.acceptance),
            *_single_drift_rules(result),
            *_agreeing_rules(result),
        )
        return first_broken(iter(rules), f"{agree}, and log pi does not drift.", limits)
    limits |= error_limits(agreement) | {"mixed": MIXED_RHAT}
    known = f"{stated(agreement)}, by the disagreement of {_groups(result, agreement)}"
    rules = (
        *_known_rules(result, agreement),
        _in_modes(result.separation, known),
        *_drift_rules(result, agreement),
    )
    return first_broken(iter(rules), f"{known}, and log pi does not drift.", limits)


def needs_no_more(result: "ChainResult", agreement: Agreement) -> bool:
    """Whether more time would change little: time does not lead chains out of far modes.

    Of too few chains to know the error by their disagreement, more time always helps.
    """
    if result.log_density.shape[1] < LEAST_GROUPS:
        return False
    if agreement.drift > MAX_SHIFT or any(r.broken for r in _known_rules(result, agreement)):
        return False
    drifts = any(rule.broken for rule in _drift_rules(result, agreement))
    settled = is_known(agreement) and not drifts
    return settled or result.separation >= LASTING_RHAT


def _known_rules(result: "ChainResult", agreement: Agreement) -> Iterator[Rule]:
    """Whether chains move, and agree in what they predict."""
    grouped = agreement.n_islands < result.log_density.shape[1]
    yield _apart(agreement.rhat, f"the {_groups(result, agreement)}")
    yield _stuck(result.separation)
    yield _moved(result.acceptance)
    yield from error_rules(agreement, "groups of chains" if grouped else "chains", LONGER_CHAINS)


def _groups(result: "ChainResult", agreement: Agreement) -> str:
    n_groups, n_chains = agreement.n_islands, result.log_density.shape[1]
    size = n_chains // n_groups
    return f"{n_groups} groups of {size} chains" if size > 1 else f"{n_groups} chains"


def max_chain_drift(n_chains: int) -> float:
    """Standard errors by which log pi of stationary chains may differ: Student's quantile."""
    return float(stdtrit(n_chains - 1, 1 - DRIFT_LEVEL / 2)) if n_chains > 1 else math.inf


def _apart(rhat: float, what: str = "chains") -> Rule:
    return Rule(
        not rhat < SEPARATE_RHAT,
        "degenerate",
        f"{what} are in different places (R-hat {rhat:.3g}, which should be near 1 and is above "
        f"{SEPARATE_RHAT:g}), so nothing can be said",
        LONGER_CHAINS,
    )


def _stuck(rhat: float) -> Rule:
    return Rule(
        not rhat < STUCK_RHAT,
        "degenerate",
        f"single chains are where they began (R-hat {rhat:.3g}, above {STUCK_RHAT:g}), so that "
        "their average depends on the start, and nothing can be said",
        LONGER_CHAINS,
    )


def _in_modes(rhat: float, known: str) -> Rule:
    return Rule(
        not rhat < MIXED_RHAT,
        "doubtful",
        f"{known}, but each chain stays near the mode where training left it (R-hat {rhat:.3g} of "
        f"single chains, above {MIXED_RHAT:g}), so how much each mode counts is unknown",
        WEIGHED_MODES,
    )


def _moved(acceptance: float) -> Rule:
    return Rule(
        not acceptance > MIN_ACCEPTANCE,
        "doubtful",
        f"only {acceptance:.0%} of the trajectories were accepted",
        LONGER_CHAINS,
    )


def _drift_rules(result: "ChainResult", agreement: Agreement) -> Iterator[Rule]:
    """Many chains are judged by their average, as islands are."""
    if agreement.n_islands == result.log_density.shape[1]:
        yield from _single_drift_rules(result)
        return
    yield Rule(
        abs(result.drift) > SIGNIFICANT_DRIFT and result.drift_size > MAX_GROUP_DRIFT,
        "doubtful",
        f"all chains still drift alike: log pi changes by {result.drift_size:.2f} of its standard "
        "deviation over the draws",
        LONGER_CHAINS,
    )


def _single_drift_rules(result: "ChainResult") -> Iterator[Rule]:
    most = max_chain_drift(result.log_density.shape[1])
    yield Rule(
        abs(result.drift) > most,
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
