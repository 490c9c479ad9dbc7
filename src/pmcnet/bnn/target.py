"""A network, a likelihood, a prior and data, as a target for the samplers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from pmcnet.ais.agreement import Predictions, Quantity
from pmcnet.ais.target import DEFAULT_MEMORY, FunctionTarget, ValueAndScore
from pmcnet.ais.tiling import even_size
from pmcnet.bnn.augmentation import Augmentation
from pmcnet.bnn.batch import Batch, check_rows, spread_over
from pmcnet.bnn.compiled_rows import CompiledRows
from pmcnet.bnn.island_predictions import predicted
from pmcnet.bnn.kernels import fused_mlp
from pmcnet.bnn.likelihoods.base import Likelihood
from pmcnet.bnn.networks.base import Network
from pmcnet.bnn.networks.mlp import MLP
from pmcnet.bnn.priors.base import Prior
from pmcnet.bnn.priors.independent import GaussianPrior
from pmcnet.bnn.waypoints import waypoints_of
from pmcnet.errors import InputError
from pmcnet.rng import Stream, standard_normal

_MIN_NETWORKS = 32  # for so many a chunk of rows leaves room
_N_MONITORED = 16  # rows whose predictions samplers watch
_N_PREDICTED = 128  # training rows by whose predictions islands are compared


@dataclass(frozen=True, eq=False)
class BayesianTarget:
    """log pi(theta) = share * log p(theta) + sum_n w_n log p(y_n | Phi(theta, x_n)), Eq. (target).

    The flat vector holds the network's parameters and after them the likelihood's own.

    Args:
        network: Phi, for populations of parameter vectors.
        likelihood: p(y | output).
        x: inputs (N, ...).
        y: one number per row (N,): the value, or the class from 0; (N, 2) for likelihoods that know
            more of each row; several targets (N, T).
        prior: on the network's parameters.
        n_batches: B, how many mini-batches `factors()` makes of the rows, in their order.
        memory: bytes that evaluations may use for temporaries.
        where: the device of networks and results, if the rows are kept elsewhere: rows in host
            memory, pinned or mapped from a file, go to the device a chunk at a time.
        augmentation: of inputs, for methods that train on mini-batches; the density has none.
        share: power of the prior: 1, and 1 / B in a factor, so that factors sum to log pi.
        weight: how often each row counts (N,): w_n = 2 is the row twice; absent, each counts once.
    """

    network: Network
    likelihood: Likelihood
    x: Tensor
    y: Tensor
    prior: Prior = GaussianPrior()
    n_batches: int = 1
    memory: int = DEFAULT_MEMORY
    share: float = 1.0
    weight: Tensor | None = None
    where: torch.device | None = None
    augmentation: Augmentation | None = None

    def __post_init__(self) -> None:
        check_rows(self.x, self.y, self.weight)
        if isinstance(self.network, MLP) and self.network.sizes[-1] != self.likelihood.n_outputs:
            raise InputError(
                f"{self.likelihood} needs a network with {self.likelihood.n_outputs} outputs; "
                f"got sizes {self.network.sizes}."
            )
        if not 1 <= self.n_batches <= len(self.x):
            raise InputError(
                f"n_batches must lie between 1 and the {len(self.x)} rows; got {self.n_batches}."
            )

    @property
    def n_parameters(self) -> int:
        """Parameters of the network."""
        return self.network.layout.dim

    @property
    def dim(self) -> int:
        """Parameters of network and likelihood together."""
        return self.n_parameters + self.likelihood.n_extra

    @property
    def bytes_per_point(self) -> int:
        """Temporaries of one network on a chunk of rows."""
        if self._layers:
            return CompiledRows.bytes_per_point(self.likelihood, len(self.x), self.dim)
        return self._bytes_per_row * min(len(self.x), self._n_rows) + 8 * self.dim

    @property
    def _bytes_per_row(self) -> int:
        return self.x.element_size() * max(1, self.network.numbers_per_input)

    @property
    def _n_rows(self) -> int:
        n_networks = self.network.n_together or _MIN_NETWORKS
        return even_size(len(self.x), max(1, self.memory // (self._bytes_per_row * n_networks)))

    def parts(self, theta: Tensor) -> tuple[Tensor, Tensor]:
        """The network's parameters (..., n_parameters) and the likelihood's (..., n_extra)."""
        return theta[..., : self.n_parameters], theta[..., self.n_parameters :]

    def log_prior(self, theta: Tensor) -> Tensor:
        """Log p(theta), with its constant: (n, D) -> (n,)."""
        weights, extra = self.parts(theta)
        return self.prior.log_prob(weights, self.network.layout) + self.likelihood.log_prior(extra)

    def log_likelihood(self, theta: Tensor) -> Tensor:
        """sum_n log p(y_n | Phi(theta, x_n)), with its constants: (n, D) -> (n,), float64."""
        if self.fused(theta):
            return self._compiled.log_likelihood(theta)
        return torch.stack(
            [self._rows_log_likelihood(theta, batch) for batch in self._chunks()]
        ).sum(0)

    def log_density(self, theta: Tensor) -> Tensor:
        """Log pi: (n, D) -> (n,), float64."""
        return self.share * self.log_prior(theta).double() + self.log_likelihood(theta)

    def prior_and_score(self, theta: Tensor) -> ValueAndScore:
        """Log p(theta) and its gradient."""
        with torch.no_grad():
            weights, extra = self.parts(theta.detach())
            score = self.prior.score(weights, self.network.layout)
            if self.likelihood.n_extra:
                score = torch.cat([score, self.likelihood.prior_gradient(extra)], dim=-1)
            return ValueAndScore(self.log_prior(theta.detach()).double(), score)

    def likelihood_and_score(self, theta: Tensor) -> ValueAndScore:
        """The log-likelihood and its gradient, one chunk of rows after the other."""
        if self.fused(theta):
            return self._compiled.value_and_score(theta)
        chunks = self._chunks()
        value, score = self.batch_likelihood_and_score(theta, next(chunks))
        for batch in chunks:
            more = self.batch_likelihood_and_score(theta, batch)
            value, score = value + more.value, score + more.score
        return ValueAndScore(value, score)

    def batch(self, positions: Tensor, source: Stream | None = None) -> Batch:
        """The rows at these positions, on the device, for `batch_likelihood_and_score`.

        Args:
            positions: of the rows (n,).
            source: randomness of the target's augmentation, if it has one; without it, none.
        """
        batch = self._moved(positions, positions)
        if source is None or self.augmentation is None:
            return batch
        return batch._replace(x=self.augmentation(batch.x, source))

    def batch_likelihood_and_score(self, theta: Tensor, batch: Batch) -> ValueAndScore:
        """The log-likelihood of some rows and its gradient, `n_together` networks at a time."""
        if self.fused(theta):
            return self._compiled_rows(batch).value_and_score(theta)
        pieces = torch.split(theta, self.network.n_together or len(theta))
        found = [self._batch_value_and_score(piece, batch) for piece in pieces]
        if len(found) == 1:
            return found[0]
        return ValueAndScore(
            torch.cat([f.value for f in found]), torch.cat([f.score for f in found])
        )

    def value_and_score(self, theta: Tensor) -> ValueAndScore:
        """Log pi and its gradient."""
        prior, likelihood = self.prior_and_score(theta), self.likelihood_and_score(theta)
        value = self.share * prior.value + likelihood.value
        return ValueAndScore(value, torch.add(likelihood.score, prior.score, alpha=self.share))

    def monitor(self, theta: Tensor) -> Tensor:
        """Predictions of a few training rows (n, S), whose mixing samplers watch."""
        weights, extra = self.parts(theta)
        with torch.no_grad():
            output = self.network(
                weights, self.x[spread_over(self.x, _N_MONITORED)].to(self.device)
            )
            return self.likelihood.mean(output, extra).flatten(1)

    def predictions(self, theta: Tensor) -> Predictions:
        """What networks predict for training rows, with the noise: islands are compared by it."""
        x = self.x[spread_over(self.x, _N_PREDICTED)].to(self.device)
        return predicted(self.network, self.likelihood, theta, x)

    @property
    def predicted_quantity(self) -> Quantity:
        """Class probabilities, or numbers."""
        return "probabilities" if self.likelihood.n_classes else "values"

    @property
    def n_terms(self) -> int:
        """Rows."""
        return len(self.x)

    @property
    def waypoints(self) -> list["BayesianTarget"]:
        """Targets that annealing reaches first."""
        return waypoints_of(self)

    def monitored(self) -> "BayesianTarget":
        """The same target with the few rows that `monitor` predicts."""
        return self.at(spread_over(self.x, _N_MONITORED))

    @property
    def device(self) -> torch.device:
        """Where networks are evaluated."""
        return self.where or self.x.device

    @property
    def like(self) -> Tensor:
        """Nothing, of the type and on the device of parameter vectors."""
        return torch.empty(0, dtype=self.x.dtype, device=self.device)

    def hessian(self, theta: Tensor) -> Tensor:
        """Second derivatives of log pi: (n, D, D)."""
        return FunctionTarget(self.log_density, self.dim).hessian(theta)

    def factors(self) -> Sequence["BayesianTarget"]:
        """B mini-batches of the rows, in full precision, each with its share of the prior."""
        share, network = self.share / self.n_batches, self.network.in_full_precision()
        batches = torch.arange(len(self.x)).tensor_split(self.n_batches)
        return [
            replace(self.at(slice(int(b[0]), int(b[-1]) + 1)), share=share, network=network)
            for b in batches
        ]

    def at(self, rows: Tensor | slice) -> "BayesianTarget":
        """The same target with some of the rows, given by their positions or as a slice."""
        weight = None if self.weight is None else self.weight[rows]
        return replace(self, x=self.x[rows], y=self.y[rows], weight=weight, n_batches=1)

    def sample_prior(self, sources: Sequence[Stream], n_draws: int) -> Tensor:
        """`n_draws` points from the prior from each stream: (len(sources), n_draws, D)."""
        if self.share != 1:
            raise InputError(
                "a factor holds a share of the prior only, so it has no draws. Use the whole "
                "target."
            )
        weights = self.prior.sample(sources, n_draws, self.network.layout, like=self.like)
        noise = standard_normal(sources, (n_draws, self.likelihood.n_extra), like=self.like)
        return torch.cat([weights, self.likelihood.from_normal(noise)], dim=-1)

    def fused(self, theta: Tensor) -> fused_mlp.Layers | None:
        """The layers, if a compiled pass over the rows evaluates such parameters."""
        return self._layers if self._layers and fused_mlp.wanted(theta, self.x) else None

    @cached_property
    def _layers(self) -> fused_mlp.Layers | None:
        """Those of a network that a compiled pass evaluates faster than torch."""
        if not isinstance(self.network, MLP) or self.where is not None:
            return None
        layers = self.network.fused
        return layers if fused_mlp.applies(layers, self.like, self.x) else None

    @cached_property
    def _compiled(self) -> CompiledRows:
        return self._compiled_rows(Batch(self.x, self.y, self.weight))

    def _compiled_rows(self, batch: Batch) -> CompiledRows:
        assert isinstance(self.network, MLP)
        return CompiledRows(self.network, self.likelihood, batch)

    @property
    def least_piece(self) -> int | None:
        """Networks that are worth a thread; None where torch evaluates them, with its threads."""
        return fused_mlp.least_networks(self._layers, len(self.x)) if self._layers else None

    def _chunks(self) -> Iterator[Batch]:
        if self._n_rows == len(self.x) and self.where is None:
            yield Batch(self.x, self.y, self.weight)
            return
        for start in range(0, len(self.x), self._n_rows):
            yield self._moved(slice(start, start + self._n_rows))

    def _moved(self, rows: Tensor | slice, positions: Tensor | None = None) -> Batch:
        weight = None if self.weight is None else self._sent(self.weight[rows])
        return Batch(self._sent(self.x[rows]), self._sent(self.y[rows]), weight, positions)

    def _sent(self, rows: Tensor) -> Tensor:
        return rows.to(self.device, non_blocking=True)

    def _rows_log_likelihood(self, theta: Tensor, batch: Batch) -> Tensor:
        weights, extra = self.parts(theta)
        return batch.total(self.likelihood.log_prob(self.network(weights, batch.x), batch.y, extra))

    def _batch_value_and_score(self, theta: Tensor, batch: Batch) -> ValueAndScore:
        """By the network's and the likelihood's own derivatives."""
        weights, extra = (part.detach() for part in self.parts(theta))
        with torch.no_grad():
            output, vjp = self.network.differentiable(weights, batch.x)
            log_prob, by_output, by_extra = self.likelihood.gradients(output, batch.y, extra)
            by_output, by_extra = batch.counted(by_output), batch.counted(by_extra)
            score = torch.cat(
                [vjp(by_output.to(theta.dtype)), by_extra.sum(1).to(theta.dtype)], dim=-1
            )
            return ValueAndScore(batch.total(log_prob), score)
