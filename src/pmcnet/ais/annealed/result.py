"""What an annealed run leaves: weighted draws, the evidence, the history, and whether the particles kept up."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from pmcnet.ais import diagnostics
from pmcnet.ais.annealed import genealogy
from pmcnet.ais.diagnostics import DEGENERATE_ESS, Verdict
from pmcnet.ais.samples import Judged, WeightedSamples

if TYPE_CHECKING:
    from pmcnet.ais.annealed.algorithm import AnnealedState

SEVERITY = ("trustworthy", "doubtful", "degenerate")
MIN_FAMILIES = 5.0
"""Effective families below which the error of log Z cannot be read off them."""
MIN_ACCEPTANCE = 0.2
"""Share of accepted moves below which particles count as stuck."""
MAX_DRIFT = 0.25
"""Standard deviations by which the last moves may shift a mean."""

MORE_MOVES = "Use more moves (a smaller max_correlation, a larger max_moves) or more particles."


class AnnealedRecord(NamedTuple):
    """One line of a run's history: a temperature.

    `rise` is how far the temperature rose; `ess` and `n_families` are of the weights before
    resampling; `n_gradients` counts batches of this temperature, one gradient for each particle;
    `drift` is the largest significant shift of a monitored mean by the moves, in standard
    deviations; `seconds` the time since the run began.
    """

    step: int
    temperature: float
    rise: float
    ess: float
    conditional_ess: float
    n_families: float
    log_evidence: float
    log_evidence_error: float
    acceptance: float
    step_size: float
    n_leapfrog: int
    n_moves: int
    n_gradients: int
    correlation: float
    jump: float
    drift: float
    n_divergences: int
    seconds: float


@dataclass(frozen=True)
class AnnealedResult(Judged):
    """Weighted draws of the target with their evidence: the last `state`, and the `history` of every temperature.

    The history of a run that was continued begins where it was continued.
    """

    state: "AnnealedState"
    history: tuple[AnnealedRecord, ...]

    @cached_property
    def samples(self) -> WeightedSamples:  # type: ignore[override]
        """The particles as weighted draws."""
        return self.state.samples

    @property
    def log_evidence_error(self) -> float:
        """Standard error of log Z from the families of particles."""
        return self.state.log_evidence_error

    @property
    def n_gradients(self) -> int:
        """Batches of gradients in all, one gradient for each particle."""
        return sum(record.n_gradients for record in self.history)

    def mean_error(self, value: Tensor | None = None) -> Tensor:
        """Standard errors of the weighted means of values (P, S), or of theta: (S,).

        Families vary together, and no mean is better known than from independent draws.
        """
        value = (self.samples.theta if value is None else value).double()
        weight = self.samples.weight
        alone = torch.arange(len(weight), device=weight.device)
        families = genealogy.mean_variance(value, weight, self.state.origin)
        return torch.maximum(families, genealogy.mean_variance(value, weight, alone)).sqrt()

    @property
    def verdict(self) -> Verdict:
        """Whether the draws can stand for the target, by their weights and by how the particles got there."""
        remedy = "Use more particles, or a larger ess_fraction."
        verdicts = [
            _path_verdict(self),
            diagnostics.verdict(self.samples.log_weight, remedy=remedy),
        ]
        worst = max(verdicts, key=lambda verdict: SEVERITY.index(verdict.status))
        if worst.status != "trustworthy":
            return worst
        known = f"log Z is known to {self.log_evidence_error:.2g}"
        moved = f"the last moves shifted no monitored mean by {MAX_DRIFT} standard deviations"
        drawn = f"{self.samples.ess:.0f} of {self.samples.n_draws} draws are effective"
        return Verdict("trustworthy", f"{drawn}, {moved}, and {known}.")


def _path_verdict(result: AnnealedResult) -> Verdict:
    """What the way to the target says; the advice is what cures it."""
    state = result.state
    if state.temperature < 1:
        stopped = f"the run stopped at temperature {state.temperature:.3g} of 1"
        return Verdict("degenerate", f"{stopped}. Continue it from its state.")
    if state.least_ess < DEGENERATE_ESS:
        jump = f"a temperature step left {state.least_ess:.1f} effective particles"
        return Verdict(
            "degenerate",
            f"{jump}, so the draws are copies of a few. Let ess_fraction choose the ladder.",
        )
    last = result.history[-1] if result.history else None
    if last and not last.acceptance > MIN_ACCEPTANCE:
        share = f"only {last.acceptance:.0%} of the last moves were accepted"
        stuck = "no particle was moved" if last.n_moves == 0 else share
        return Verdict("doubtful", f"{stuck}, so copies of one particle stay copies. {MORE_MOVES}")
    if last and last.drift > MAX_DRIFT:
        shift = f"the last moves shifted a monitored mean by {last.drift:.2f} standard deviations"
        return Verdict(
            "doubtful",
            f"{shift}, so the particles had not kept up with the temperature. {MORE_MOVES}",
        )
    n_families = genealogy.n_families(state.weight, state.origin)
    if n_families < MIN_FAMILIES:
        few = f"the particles descend from {n_families:.1f} effective ancestors, so the error of log Z is unknown"
        return Verdict("doubtful", f"{few} and modes may be missing. {MORE_MOVES}")
    return Verdict("trustworthy", "the particles kept up with every temperature.")
