"""What an annealed run leaves: weighted draws, the evidence and the history."""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from pmcnet.ais.annealed import genealogy
from pmcnet.ais.annealed.state import AnnealedInfo, AnnealedState
from pmcnet.ais.samples import SampleDiagnostics, WeightedSamples
from pmcnet.ais.verdict import Verdict, annealed_verdict


@dataclass(frozen=True)
class AnnealedResult(SampleDiagnostics):
    """Weighted draws of the target with their evidence: the last state and the history.

    The history of a run that was continued begins where it was continued.
    """

    state: AnnealedState
    history: tuple[AnnealedInfo, ...]

    @cached_property
    def samples(self) -> WeightedSamples:  # type: ignore[override]
        """The particles as weighted draws."""
        return self.state.samples

    @property
    def log_evidence_error(self) -> float:
        """Standard error of log Z from the genealogy of the particles."""
        return self.state.log_evidence_error

    @property
    def n_gradients(self) -> int:
        """Batches of gradients in all, one gradient for each particle."""
        return sum(info.n_gradients for info in self.history)

    def mean_error(self, value: Tensor | None = None) -> Tensor:
        """Standard errors of the weighted means of values (P, S), or of theta: (S,).

        Particles of one ancestor vary together, and no mean is better known than from independent
        draws.
        """
        value = (self.samples.theta if value is None else value).double()
        weight = self.samples.weight
        alone = torch.arange(len(weight), device=weight.device)
        by_ancestors = genealogy.mean_variance(value, weight, self.state.origin)
        independent = genealogy.mean_variance(value, weight, alone)
        return torch.maximum(by_ancestors, independent).sqrt()

    @property
    def verdict(self) -> Verdict:
        """Whether the draws can stand for the target, by their weights and their genealogy."""
        return annealed_verdict(self)
