"""What annealing needs of a target."""

from collections.abc import Sequence
from typing import Protocol

from torch import Tensor

from pmcnet.ais.target import ValueAndScore
from pmcnet.errors import InputError
from pmcnet.rng import Stream


class Tempered(Protocol):
    """What annealing needs: a normalised prior that can be sampled, and a likelihood.

    A target may also have `prior_and_score` and `likelihood_and_score` (n, D) -> ValueAndScore,
    otherwise made by automatic differentiation; `monitor` (n, D) -> (n, S), the quantities whose
    mixing matters, otherwise the coordinates; `predictions` (n, D) -> Predictions and
    `predicted_quantity`, what islands are compared by, otherwise the monitored; `memory` and
    `bytes_per_point` as any `Target`; `device`, where its random streams should live, otherwise the
    host; `least_piece`, see `Path.least_piece`; `waypoints`, see `annealed.staged_path`; and
    `n_terms`, such as rows, by which costs of a target and of its waypoints compare.
    """

    @property
    def dim(self) -> int:
        """D."""
        ...

    def log_prior(self, theta: Tensor) -> Tensor:
        """Log-density of the prior, with its constant: (n, D) -> (n,)."""
        ...

    def log_likelihood(self, theta: Tensor) -> Tensor:
        """Log-likelihood, with its constants: (n, D) -> (n,)."""
        ...

    def sample_prior(self, sources: Sequence[Stream], n_draws: int) -> Tensor:
        """`n_draws` points of the prior from each stream: (len(sources), n_draws, D)."""
        ...


class DifferentiableTempered(Tempered, Protocol):
    """A target that writes out all that `Tempered` may have."""

    @property
    def memory(self) -> int:
        """Bytes that evaluations may use for temporaries."""
        ...

    @property
    def bytes_per_point(self) -> int:
        """Temporaries of one point."""
        ...

    @property
    def least_piece(self) -> int | None:
        """See `Path.least_piece`."""
        ...

    def prior_and_score(self, theta: Tensor) -> ValueAndScore:
        """`log_prior` and its gradient."""
        ...

    def likelihood_and_score(self, theta: Tensor) -> ValueAndScore:
        """`log_likelihood` and its gradient."""
        ...

    def monitor(self, theta: Tensor) -> Tensor:
        """The quantities whose mixing matters (n, S)."""
        ...


def check_tempered(target: object) -> None:
    """Refuse targets that cannot be annealed, saying what they lack."""
    missing = [
        name
        for name in ("log_prior", "log_likelihood", "sample_prior")
        if not hasattr(target, name)
    ]
    if missing:
        raise InputError(
            f"{type(target).__name__} has no {', '.join(missing)}, so there is no path from its "
            "prior. Use "
            "ais.Bridge(target, proposals) to anneal from a mixture of Gaussians to any "
            "log-density."
        )
