"""What an annealed run leaves: weighted draws, the evidence, the history, and whether the particles kept up."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Self

import torch
from torch import Tensor

from pmcnet.ais import diagnostics, lineage
from pmcnet.ais.diagnostics import DEGENERATE_ESS, Verdict
from pmcnet.ais.samples import Judged, WeightedSamples

if TYPE_CHECKING:
    from pmcnet.ais.annealing import AnnealedState

MIN_FAMILIES = 5.0
"""Effective families below which the error of log Z cannot be read off them."""
MIN_ACCEPTANCE = 0.2
"""Share of accepted moves below which particles count as stuck."""
MAX_DRIFT = 0.25
"""Standard deviations by which the last moves may shift a mean."""
SIGNIFICANT = 4.0
"""Standard errors from which a shift counts."""


class Drift(NamedTuple):
    """What moves did to the means of S monitored quantities: the change, its standard error, their spread (S,).

    Particles that represent the distribution already are shifted by chance alone.
    """

    change: Tensor
    error: Tensor
    spread: Tensor

    @classmethod
    def between(cls, before: Tensor, after: Tensor, weight: Tensor, parent: Tensor) -> Self:
        """From monitors (P, S) before and after; particles with a common parent vary together."""
        change = after - before
        spread = (weight @ (after - weight @ after).square()).sqrt()
        return cls(weight @ change, lineage.mean_variance(change, weight, parent).sqrt(), spread)

    @property
    def largest(self) -> float:
        """The largest significant change, in standard deviations; 0 where none is significant."""
        significant = (self.change.abs() > SIGNIFICANT * self.error) & (self.spread > 0)
        share = torch.where(significant, self.change.abs() / self.spread, 0.0)
        return float(share.max())


class AnnealedRecord(NamedTuple):
    """One line of a run's history: a temperature.

    `ess` and `n_families` are of the weights before resampling; `n_gradients` counts batches of this temperature, one
    gradient for each particle; `drift` is the largest significant shift of a monitored mean by the moves, in standard
    deviations; `seconds` the time since the run began.
    """

    step: int
    temperature: float
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
    """Weighted draws of the target with their evidence; `state` to continue from, `history` of every temperature."""

    samples: WeightedSamples
    origin: Tensor
    evidence_error: float
    history: tuple[AnnealedRecord, ...]
    state: "AnnealedState"

    @property
    def log_evidence_error(self) -> float:
        """Standard error of log Z from the families of particles."""
        return self.evidence_error

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
        families = lineage.mean_variance(value, weight, self.origin)
        return torch.maximum(families, lineage.mean_variance(value, weight, alone)).sqrt()

    @property
    def verdict(self) -> Verdict:
        """Whether the draws can stand for the target, by their weights and by how the particles got there."""
        own = diagnostics.verdict(self.samples.log_weight)
        return next((v for v in (_path_verdict(self.history), own) if v.status != "trustworthy"), self._trust())

    def _trust(self) -> Verdict:
        last = self.history[-1]
        return Verdict(
            "trustworthy",
            f"{self.samples.ess:.0f} of {self.samples.n_draws} draws are effective, the last moves left a correlation "
            f"of {max(0.0, last.correlation):.2f} and no drift, and log Z is known to {self.log_evidence_error:.2g}.",
        )


def _path_verdict(history: tuple[AnnealedRecord, ...]) -> Verdict:
    """What the way to the target says; the advice is what cures it."""
    if not history or history[-1].temperature < 1:
        reached = history[-1].temperature if history else 0.0
        return Verdict("degenerate", f"the run stopped at temperature {reached:.3g} of 1. Continue it from its state.")
    last, worst = history[-1], min(history, key=lambda record: record.conditional_ess)
    more_moves = "Use more moves (a smaller max_correlation with a larger max_moves), or more particles."
    if worst.conditional_ess < DEGENERATE_ESS:
        jump = f"the step to temperature {worst.temperature:.3g} left {worst.conditional_ess:.1f} effective particles"
        return Verdict("degenerate", f"{jump}, so the draws are copies of a few. Let ess_fraction choose the ladder.")
    if not last.acceptance > MIN_ACCEPTANCE:
        stuck = (
            "no particle was moved" if last.n_moves == 0 else f"only {last.acceptance:.0%} of the last moves were made"
        )
        return Verdict("doubtful", f"{stuck}, so copies of one particle stay copies. {more_moves}")
    if last.drift > MAX_DRIFT:
        shift = f"the last moves shifted a monitored mean by {last.drift:.2f} standard deviations"
        return Verdict("doubtful", f"{shift}, so the particles had not kept up with the temperature. {more_moves}")
    if last.n_families < MIN_FAMILIES:
        few = f"the particles descend from {last.n_families:.1f} effective ancestors, so the error of log Z is unknown"
        return Verdict("doubtful", f"{few} and modes may be missing. {more_moves}")
    return Verdict("trustworthy", "the particles kept up with every temperature.")
