"""What a run of islands leaves: draws, how far the islands agree, and the evidence."""

import math
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from pmcnet.ais.agreement import Agreement, standard_error
from pmcnet.ais.annealed.state import islands_evidence_error
from pmcnet.ais.diagnostics import log_evidence
from pmcnet.ais.islands.draws import islands_of
from pmcnet.ais.islands.state import IslandsInfo, IslandsState
from pmcnet.ais.samples import SampleDiagnostics, WeightedSamples
from pmcnet.ais.tiling import in_groups
from pmcnet.ais.verdict import Verdict, islands_verdict


@dataclass(frozen=True)
class IslandsResult(SampleDiagnostics):
    """Draws of all islands that were polished, as many of each: the last state and the history.

    Where none was, the draws are the particles where they are. The history of a run that was
    continued begins where it was continued.
    """

    state: IslandsState
    history: tuple[IslandsInfo, ...]
    n_draws: int

    @cached_property
    def islands(self) -> Tensor:
        """Draws by island (G, k, D); none before any was polished."""
        return islands_of(self.state, self.n_draws)

    @cached_property
    def samples(self) -> WeightedSamples:  # type: ignore[override]
        """The draws, equally weighted, with a mean weight of Z."""
        if not self.n_islands:
            return self.state.batch.samples
        theta = self.islands.flatten(0, 1)
        log_z = float(log_evidence(self.state.log_evidences))
        return WeightedSamples(theta, torch.full_like(theta[:, 0], log_z, dtype=torch.float64))

    @property
    def n_islands(self) -> int:
        """G, those whose draws count."""
        return self.state.n_islands

    @property
    def agreement(self) -> Agreement:
        """How far they agree."""
        return self.state.agreement

    @property
    def ess(self) -> float:
        """Effective number of draws, by how far islands agree on the median prediction."""
        if not self.n_islands:
            return self.samples.ess
        return min(float(self.samples.n_draws), self.agreement.ess)

    @property
    def log_evidence_error(self) -> float:
        """Standard error of log Z, from the islands."""
        found = self.state.log_evidences
        return islands_evidence_error(found) if len(found) > 1 else math.inf

    @property
    def n_gradients(self) -> int:
        """Batches of gradients in all, one gradient for each particle of a batch."""
        return sum(info.n_gradients for info in self.history)

    def mean_error(self, value: Tensor) -> Tensor:
        """Standard errors of the means of values (n_draws, S), from the islands: (S,)."""
        return standard_error(in_groups(value.double(), self.n_islands).mean(1))

    @property
    def verdict(self) -> Verdict:
        """Whether predictions are known well enough, and how well."""
        return islands_verdict(self)
