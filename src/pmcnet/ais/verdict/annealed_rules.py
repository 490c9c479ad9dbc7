"""The verdict on one annealed population: by the path, the genealogy and the weights."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pmcnet.ais.verdict.limits import DEGENERATE_ESS, MAX_DRIFT, MIN_ACCEPTANCE, MIN_ANCESTORS
from pmcnet.ais.verdict.rules import STATUSES, Rule, Verdict, first_broken
from pmcnet.ais.verdict.weight_rules import verdict

if TYPE_CHECKING:
    from pmcnet.ais.annealed.result import AnnealedResult

MORE_PARTICLES = "Use more particles, or a larger ess_fraction."
MORE_MOVES = "Use more moves (a smaller max_correlation, a larger max_moves) or more particles."


def annealed_verdict(result: "AnnealedResult") -> Verdict:
    """Judge particles by how they reached the target, and by their weights."""
    by_weights = verdict(result.samples.log_weight, remedy=MORE_PARTICLES)
    limits = {
        **by_weights.limits,
        "ancestors": MIN_ANCESTORS,
        "acceptance": MIN_ACCEPTANCE,
        "drift": MAX_DRIFT,
    }
    effective = f"{result.samples.ess:.0f} of {result.samples.n_draws} draws are effective"
    moved = f"the last moves shifted no monitored mean by {MAX_DRIFT} standard deviations"
    known = f"log Z is known to {result.log_evidence_error:.2g}"
    by_path = first_broken(_annealed_rules(result), f"{effective}, {moved}, and {known}.", limits)
    worst = max(by_path, by_weights, key=lambda found: STATUSES.index(found.status))
    return worst._replace(limits=limits)


def _annealed_rules(result: "AnnealedResult") -> Iterator[Rule]:
    state = result.state
    yield Rule(
        state.beta < 1,
        "degenerate",
        f"the run stopped at inverse temperature {state.beta:.3g} of 1",
        "Continue it from its state.",
    )
    yield Rule(
        state.least_ess < DEGENERATE_ESS,
        "degenerate",
        f"one tempering step left {state.least_ess:.1f} effective particles, so the draws are "
        "copies of a few",
        "Let ess_fraction choose the ladder.",
    )
    if result.history:
        last = result.history[-1]
        stuck = "no particle was moved"
        if last.n_moves:
            stuck = f"only {last.acceptance:.0%} of the last moves were accepted"
        yield Rule(
            not last.acceptance > MIN_ACCEPTANCE,
            "doubtful",
            f"{stuck}, so copies of one particle stay copies",
            MORE_MOVES,
        )
        yield Rule(
            last.drift > MAX_DRIFT,
            "doubtful",
            f"the last moves shifted a monitored mean by {last.drift:.2f} standard deviations, so "
            "the particles had not kept up with the tempering",
            MORE_MOVES,
        )
    n_ancestors = state.n_ancestors
    yield Rule(
        n_ancestors < MIN_ANCESTORS,
        "doubtful",
        f"the particles descend from {n_ancestors:.1f} effective ancestors, so the error of log Z "
        "is unknown and modes may be missing",
        MORE_MOVES,
    )
