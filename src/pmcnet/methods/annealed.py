"""Annealed population Monte Carlo as a way to fit a network: from draws of the prior to the posterior."""

from collections.abc import Iterable
from dataclasses import dataclass

from pmcnet import ais
from pmcnet.ais.annealed.algorithm import Observer
from pmcnet.bnn import AnnealedPosterior, BayesianTarget
from pmcnet.methods.base import Fit


@dataclass(frozen=True, kw_only=True)
class AnnealedMethod:
    """The annealed sampler on a network's posterior; it needs no starting networks and no validation rows.

    Args:
        sampler: the algorithm and its settings.
    """

    sampler: ais.AnnealedPMC = ais.AnnealedPMC()

    def fit(
        self,
        target: BayesianTarget,
        *,
        seed: int,
        observers: Iterable[Observer] = (),
        state: ais.AnnealedState | None = None,
        comm: ais.Communicator = ais.SERIAL,
    ) -> Fit[ais.AnnealedRecord]:
        """Run, return the posterior.

        Args:
            target: the posterior to sample.
            seed: decides everything random.
            observers: called with (state, record) after each temperature.
            state: where to go on from; the history then begins there.
            comm: shares the particles between processes.
        """
        result = self.sampler.run(target, seed=seed, observers=observers, state=state, comm=comm)
        return Fit(AnnealedPosterior.of(target, result), result.history)
