"""The verdict on islands: by how far they disagree in what they predict."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pmcnet.ais.agreement import Agreement
from pmcnet.ais.verdict.limits import (
    KNOWN_EVIDENCE,
    MAX_ERROR,
    MAX_FIT_CORRELATION,
    MAX_FIT_DRIFT,
    MAX_POLISH_CORRELATION,
    MAX_SHIFT,
    MIN_ACCEPTANCE,
    MIN_ISLANDS,
    SEPARATE_RHAT,
    SETTLED_DRIFT,
    STOPPING_SHARE,
)
from pmcnet.ais.verdict.rules import Rule, Verdict, first_broken

if TYPE_CHECKING:
    from pmcnet.ais.islands.result import IslandsResult
    from pmcnet.ais.islands.state import IslandsState

LARGER_ISLANDS = "Use larger islands (n_particles), or a smaller network."
LONGER_POLISH = "Give it more time: a larger budget, or a larger polish."


def islands_verdict(result: "IslandsResult") -> Verdict:
    """Judge islands by how far they disagree in what they predict."""
    agreement, state = result.agreement, result.state
    limits = error_limits(agreement) | {
        "rhat": SEPARATE_RHAT,
        "acceptance": MIN_ACCEPTANCE,
        "shift": MAX_SHIFT,
        "correlation": MAX_POLISH_CORRELATION[agreement.quantity],
        "fit_drift": MAX_FIT_DRIFT,
    }
    if result.n_islands < MIN_ISLANDS:
        stopped = f"the run stopped at inverse temperature {state.batch.beta:.3g} of 1"
        if state.annealed:
            stopped = "the run stopped before any draw at the posterior"
        return Verdict("degenerate", f"{stopped}. Continue it, or give it more time.", limits)
    known = f"{stated(agreement)}, by the disagreement of {agreement.n_islands} islands."
    return first_broken(_islands_rules(result), known, limits)


def is_known(agreement: Agreement) -> bool:
    """Whether islands agree so far that a run can end: well within the limits."""
    median, upper = MAX_ERROR[agreement.quantity]
    return (
        agreement.median <= STOPPING_SHARE * median
        and agreement.upper <= STOPPING_SHARE * upper
        and agreement.drift <= MAX_SHIFT
    )


def has_forgotten(state: "IslandsState") -> bool:
    """Whether polishing has moved particles well away from where annealing left them."""
    most, found = MAX_POLISH_CORRELATION[state.agreement.quantity], state.polish.settling
    return (
        found.correlation <= STOPPING_SHARE * most
        and found.fit_correlation <= MAX_FIT_CORRELATION
        and not still_drifts(state)
    )


def still_drifts(state: "IslandsState") -> bool:
    """Whether the log-likelihood of the islands at work changes while they are polished."""
    return state.polish.settling.fit_drift > MAX_FIT_DRIFT


def may_drift(state: "IslandsState") -> bool:
    """Whether it is not yet known that they do not: more polishing will tell."""
    return state.polish.settling.most_fit_drift > SETTLED_DRIFT


def needed_islands(agreement: Agreement) -> int:
    """How many islands would bring the error to where a run ends: it falls as 1 / sqrt(G)."""
    median, upper = MAX_ERROR[agreement.quantity]
    excess = max(agreement.median / median, agreement.upper / upper) / STOPPING_SHARE
    if not math.isfinite(excess):
        return agreement.n_islands
    return max(agreement.n_islands, math.ceil(agreement.n_islands * excess**2))


def evidence_note(log_evidence_error: float) -> str:
    """What is known of log Z, which a posterior can predict well without."""
    if log_evidence_error <= KNOWN_EVIDENCE:
        return f"log Z is known to {log_evidence_error:.2g}"
    if not math.isfinite(log_evidence_error):
        return "log Z is unknown"
    return (
        f"log Z is known to {log_evidence_error:.2g} only, so it cannot choose between models that "
        "are close"
    )


def stated(agreement: Agreement) -> str:
    """The error of predictions in words."""
    if agreement.quantity == "probabilities":
        return (
            f"probabilities may be off by {agreement.median:.2g} ({agreement.upper:.2g} for one "
            "row in ten)"
        )
    if agreement.quantity == "values":
        return (
            f"predictions may be off by {agreement.median:.1%} of their stated spread "
            f"({agreement.upper:.1%} for one row in ten)"
        )
    return (
        f"means may be off by {agreement.median:.1%} of their standard deviations "
        f"({agreement.upper:.1%} at worst)"
    )


def _islands_rules(result: "IslandsResult") -> Iterator[Rule]:
    agreement, state, n = result.agreement, result.state, result.n_islands
    yield Rule(
        not agreement.rhat < SEPARATE_RHAT,
        "degenerate",
        f"the {n} islands are in different places (nested R-hat {agreement.rhat:.3g}, which should "
        f"be near 1 and is above {SEPARATE_RHAT:g}), so nothing can be said",
        LARGER_ISLANDS,
    )
    yield Rule(
        not state.acceptance > MIN_ACCEPTANCE,
        "doubtful",
        f"only {state.acceptance:.0%} of the trajectories at the posterior were accepted",
        LONGER_POLISH,
    )
    yield Rule(
        state.settling.correlation > MAX_POLISH_CORRELATION[agreement.quantity],
        "doubtful",
        "particles are still where annealing left them (correlation "
        f"{state.settling.correlation:.2f}), so that islands agree may be due to their common path",
        LONGER_POLISH,
    )
    yield Rule(
        state.settling.fit_drift > MAX_FIT_DRIFT,
        "doubtful",
        "all islands still drift alike: the longer they are moved, the more their log-likelihood "
        f"changes (by at least {state.settling.fit_drift:.2f} of its spread)",
        LONGER_POLISH,
    )
    yield Rule(
        agreement.drift > MAX_SHIFT,
        "doubtful",
        f"predictions still shift, by {agreement.drift:.2f} of their spread over the draws: the "
        "posterior was not reached when the draws began",
        LONGER_POLISH,
    )
    needed = needed_islands(agreement)
    seconds = math.ceil(result.state.seconds * needed / n)
    budget = f"{seconds} s" if seconds < 60 else f"{math.ceil(seconds / 60)} min"
    more = f"About {needed} islands would bring that below the limits, a budget of about {budget}."
    yield from error_rules(agreement, "islands", more)


def error_limits(agreement: Agreement) -> dict[str, float]:
    """The limits that the error of predictions is judged by."""
    median, upper = MAX_ERROR[agreement.quantity]
    return {"error": median, "error_upper": upper}


def error_rules(agreement: Agreement, what: str, remedy: str) -> Iterator[Rule]:
    """Whether the error of predictions is small enough; `what` are those that disagree."""
    median, upper = MAX_ERROR[agreement.quantity]
    yield Rule(
        not (agreement.median <= median and agreement.upper <= upper),
        "doubtful",
        f"{stated(agreement)}: the {agreement.n_islands} {what} disagree",
        remedy,
    )
