"""Whether draws can stand for their target: every status, threshold, rule and remedy."""

from pmcnet.ais.verdict.annealed_rules import annealed_verdict
from pmcnet.ais.verdict.chain_rules import chain_verdict, max_chain_drift, needs_no_more
from pmcnet.ais.verdict.continuation_rules import continuation_verdict
from pmcnet.ais.verdict.island_rules import (
    evidence_note,
    has_forgotten,
    is_known,
    islands_verdict,
    may_drift,
    needed_islands,
    stated,
)
from pmcnet.ais.verdict.limits import DRIFT_ERRORS, SIGNIFICANT_DRIFT
from pmcnet.ais.verdict.rules import STATUSES, Rule, Status, Verdict, unmeasured
from pmcnet.ais.verdict.weight_rules import khat_limit, verdict

__all__ = [
    "DRIFT_ERRORS",
    "SIGNIFICANT_DRIFT",
    "STATUSES",
    "Rule",
    "Status",
    "Verdict",
    "annealed_verdict",
    "chain_verdict",
    "continuation_verdict",
    "evidence_note",
    "has_forgotten",
    "is_known",
    "islands_verdict",
    "khat_limit",
    "max_chain_drift",
    "may_drift",
    "needed_islands",
    "needs_no_more",
    "stated",
    "unmeasured",
    "verdict",
]
