"""A target whose data are spread over processes, which add up the terms of their own rows.

    log pi(theta) = sum_r [ (1 / R) log p(theta) + log p(y_r | theta) ]

for the rows y_r of process r of R, which no other process sees. Every process runs the whole
algorithm on the same points and evaluates this target when the others do. Sums are in float64 and
the same for all processes. Their rounding depends on the number of processes, so that results agree
to about 1e-15 of log pi and not in every bit.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import torch
from torch import Tensor

from pmcnet.ais.comm import Communicator
from pmcnet.ais.target import Target, ValueAndScore
from pmcnet.rng import Stream


@dataclass(frozen=True)
class SummedTarget:
    """The posterior of the rows of all processes.

    Args:
        local: the posterior of this process's rows with its share 1 / R of the prior; see `of`.
        comm: the processes.
    """

    local: Any
    comm: Communicator
    bytes_per_point: int = field(init=False)

    def __post_init__(self) -> None:
        # all must have the same chunks, or they would add up terms of different points
        total = self.comm.sum(torch.tensor(self.local.bytes_per_point, dtype=torch.int64))
        object.__setattr__(self, "bytes_per_point", int(total))

    @classmethod
    def of(cls, target: Any, comm: Communicator) -> Self:
        """From a `BayesianTarget` of this process's rows.

        Prior, memory and n_batches must be the same for all processes.
        """
        return cls(replace(target, share=target.share / comm.size), comm)

    @property
    def dim(self) -> int:
        """D."""
        dim: int = self.local.dim
        return dim

    @property
    def memory(self) -> int:
        """Bytes for temporaries."""
        memory: int = self.local.memory
        return memory

    @property
    def device(self) -> torch.device:
        """Where random streams live."""
        device: torch.device = self.local.device
        return device

    def log_density(self, theta: Tensor) -> Tensor:
        """Log pi (n,)."""
        return self.comm.sum(self.local.log_density(theta).double())

    def value_and_score(self, theta: Tensor) -> ValueAndScore:
        """Log pi and its gradient."""
        return self._summed(self.local.value_and_score, theta)

    def hessian(self, theta: Tensor) -> Tensor:
        """Second derivatives of log pi."""
        return self.comm.sum(self.local.hessian(theta))

    def factors(self) -> Sequence[Target]:
        """Batch b of every process together."""
        return [type(self)(factor, self.comm) for factor in self.local.factors()]

    def log_prior(self, theta: Tensor) -> Tensor:
        """The whole prior, which every process knows."""
        value: Tensor = self.local.log_prior(theta)
        return value

    def prior_and_score(self, theta: Tensor) -> ValueAndScore:
        """The prior and its gradient."""
        found: ValueAndScore = self.local.prior_and_score(theta)
        return found

    def log_likelihood(self, theta: Tensor) -> Tensor:
        """sum_r log p(y_r | theta)."""
        return self.comm.sum(self.local.log_likelihood(theta).double())

    def likelihood_and_score(self, theta: Tensor) -> ValueAndScore:
        """The sum and its gradient."""
        return self._summed(self.local.likelihood_and_score, theta)

    def sample_prior(self, sources: Sequence[Stream], n_draws: int) -> Tensor:
        """Draws of the prior."""
        # 1 but for rounding; less in a factor, which has no draws
        share = round(self.local.share * self.comm.size, 9)
        draws: Tensor = replace(self.local, share=share).sample_prior(sources, n_draws)
        return draws

    def monitor(self, theta: Tensor) -> Tensor:
        """The quantities that the first process monitors."""
        return self.comm.agreed(self.local.monitor(theta))

    def _summed(self, function: Callable[[Tensor], ValueAndScore], theta: Tensor) -> ValueAndScore:
        value, score = function(theta)
        own = torch.cat([value.double()[:, None], score.double()], dim=1)  # (n, 1 + D)
        both = self.comm.sum(own)
        return ValueAndScore(both[:, 0], both[:, 1:].to(score.dtype))
