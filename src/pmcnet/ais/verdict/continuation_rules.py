"""The verdict on islands that went on from another posterior."""

from typing import TYPE_CHECKING

from pmcnet.ais.verdict.island_rules import islands_verdict
from pmcnet.ais.verdict.limits import MAX_ERROR
from pmcnet.ais.verdict.rules import Rule, Verdict, first_broken

if TYPE_CHECKING:
    from pmcnet.ais.islands.result import IslandsResult


def continuation_verdict(result: "IslandsResult", shift: tuple[float, float]) -> Verdict:
    """That of any islands, and whether they agree on what more data mean.

    Args:
        result: of the islands.
        shift: of predictions at the median and at the upper row, see `agreement.evidence_shift`.
    """
    found, quantity = islands_verdict(result), result.agreement.quantity
    if found.status != "trustworthy":
        return found
    median, upper = MAX_ERROR[quantity]
    unit = "in probability" if quantity == "probabilities" else "of their spread"
    moved = Rule(
        not (shift[0] <= median and shift[1] <= upper),
        "doubtful",
        "islands are in places that the new data favour unequally: weighted by their evidence, "
        f"predictions would change by {shift[0]:.2g} ({shift[1]:.2g} for one row in ten) {unit}, "
        "and modes may have been missed that matter now",
        "Fit again on all rows.",
    )
    return first_broken(iter([moved]), found.reason, found.limits)
