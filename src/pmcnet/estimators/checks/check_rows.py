"""Rows to check a model on: as its network sees them, and as they were given."""

from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_consistent_length  # type: ignore[import-untyped]
from torch import Tensor

from pmcnet.bnn.likelihoods.exposed_counts import COUNT_FAMILIES
from pmcnet.bnn.likelihoods.known_noise import KnownGaussian
from pmcnet.bnn.likelihoods.registry import family
from pmcnet.errors import InputError
from pmcnet.estimators.exposure import with_exposure
from pmcnet.estimators.predictions import Array, EncodedRows
from pmcnet.estimators.training_rows import checked_weight
from pmcnet.estimators.two_columns import TIMES, as_numbers
from pmcnet.rng import check_seed, stream

if TYPE_CHECKING:
    from pmcnet.estimators.base import PMCNetEstimator

MOST_ROWS = 1000
_CHOICE_STEP = (1 << 62) + 3  # far from the steps of any sampler with the same seed


class CheckRows(NamedTuple):
    """Some of the rows that were given, n of N.

    `y` is in its own units, a class as its place in `classes_`; where the row is not `observed` its
    event came later. `targets` are y as the likelihood takes it.
    """

    rows: EncodedRows  # n of them
    targets: Tensor  # (n,) or (n, 2)
    y: Array  # (n,)
    observed: NDArray[np.bool_]  # (n,)
    weight: Array  # (n,) how often each counts
    place: NDArray[np.int64]  # (n,) among those given, from 0
    n_given: int

    @classmethod
    def of(
        cls,
        model: "PMCNetEstimator",
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        exposure: ArrayLike | None = None,
    ) -> Self:
        """Rows given as to `fit`; without X and y those that the model has kept.

        Args:
            model: fitted.
            X: rows.
            y: their responses.
            sample_weight: how often each counts (N,).
            exposure: of counts.
        """
        if X is None and y is None:
            return cls._kept(model)
        if X is None or y is None:
            raise InputError("X and y go together. Give both, or none for the rows that were kept.")
        rows = model.encoded(X) if exposure is None else model.encoded(X, exposure)  # type: ignore[call-arg]
        check_consistent_length(rows.inputs, y)
        if model._task == "classification":
            response, weight = model._more_of(y, sample_weight)
        else:
            response = as_numbers(y)
            weight = checked_weight(sample_weight, response)
        found = cls._made(model, rows, response, weight)
        return found.at(np.flatnonzero(weight > 0))

    @classmethod
    def _made(cls, model: "PMCNetEstimator", rows: EncodedRows, y: Array, weight: Array) -> Self:
        """All rows of a response in its own units (N,) or (N, 2)."""
        likelihood = model.posterior_.likelihood
        if isinstance(likelihood, KnownGaussian) and y.ndim == 1:
            raise InputError(
                "this model was fitted with the noise of each row, which its checks need too. Give "
                "y as two columns, the values and their noise."
            )
        targets = family(model.likelihood_, model._task).targets(y, model._units())
        return cls._with_targets(model, rows, torch.as_tensor(targets), y, weight)

    @classmethod
    def _kept(cls, model: "PMCNetEstimator") -> Self:
        """The training rows that the model has kept, equal ones merged."""
        if model.training_rows_ is None:
            raise InputError(
                "this model has not kept its training rows. Give X and y, or give the rows back "
                "with restore_rows(X, y)."
            )
        inputs, targets, weight = model.training_rows_
        rows, targets = EncodedRows(inputs.to(model.posterior_.theta)), targets.double()
        if model.likelihood_ in COUNT_FAMILIES and targets.ndim == 2:
            exposure = targets[:, 1].numpy()
            rows, targets = with_exposure(rows, exposure, model.likelihood_), targets[:, 0]
        members = family(model.likelihood_, model._task)
        y = members.responses(targets.numpy(), model._units())
        return cls._with_targets(model, rows, targets, y, weight.double().numpy())

    @classmethod
    def _with_targets(
        cls, model: "PMCNetEstimator", rows: EncodedRows, targets: Tensor, y: Array, weight: Array
    ) -> Self:
        """All rows, from both forms of the response."""
        value, observed = y, np.ones(len(y), dtype=bool)
        if y.ndim == 2:
            value = y[:, 0]
            observed = y[:, 1] > 0 if model.likelihood_.startswith(TIMES) else observed
        place = np.arange(len(y))
        targets = targets.to(rows.inputs.device)
        return cls(rows, targets, value, observed, weight, place, len(y))

    def at(self, rows: NDArray[np.int64]) -> Self:
        """Some of them, by their positions here."""
        chosen = torch.as_tensor(rows, device=self.targets.device)
        log_exposure = self.rows.log_exposure
        return type(self)(
            EncodedRows(
                self.rows.inputs[chosen], None if log_exposure is None else log_exposure[chosen]
            ),
            self.targets[chosen],
            self.y[rows],
            self.observed[rows],
            self.weight[rows],
            self.place[rows],
            self.n_given,
        )

    def sampled(self, n_rows: int, seed: int) -> Self:
        """At most `n_rows` of them, drawn at random, in their order."""
        if n_rows < 1:
            raise InputError(f"n_rows must be at least 1; got {n_rows}.")
        if len(self.y) <= n_rows:
            return self
        source = stream(check_seed(seed), _CHOICE_STEP, 0).host
        return self.at(np.sort(source.choice(len(self.y), n_rows, replace=False)))
